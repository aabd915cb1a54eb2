"""Imports go one way, and the cores know nothing of I/O: the contracts of import-linter, run as a test."""

import tomllib
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

from tests.architecture.source_tree import PRODUCT_PACKAGES, REPOSITORY, SPARK_PACKAGES

PYPROJECT = REPOSITORY / "pyproject.toml"

UPSIDE_DOWN = """
[importlinter]
root_packages =
    acklog
    cluster
    storage
    app

[importlinter:contract:upside-down]
name = The product upside down
type = layers
layers =
    acklog
    cluster
    storage
    app
"""


def test_the_contracts_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    code = lint_imports(config_filename=str(PYPROJECT), no_cache=True)
    assert code == 0, capsys.readouterr().out


def test_the_contracts_cover_every_package() -> None:
    settings = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]
    assert sorted(settings["root_packages"]) == sorted((*PRODUCT_PACKAGES, *SPARK_PACKAGES))
    layers = [contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers"]
    assert ["acklog_server", "app", "storage", "cluster", "acklog"] in layers


def test_a_broken_contract_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "upside-down.ini"
    config.write_text(UPSIDE_DOWN)
    assert lint_imports(config_filename=str(config), no_cache=True) != 0
    assert "cluster" in capsys.readouterr().out
