"""docs/releasing.md: what has to be of one version is, and the files that it names are there."""

import re
import tomllib

import pytest
import yaml

from acklog import __version__
from tests.unit.docs.documents import REPOSITORY, read_document

PROJECTS = ("pyproject.toml", "packaging/acklog/pyproject.toml", "packaging/acklog-spark/pyproject.toml")


@pytest.mark.parametrize("path", PROJECTS)
def test_distributions_are_of_one_version_and_ask_for_each_other_by_it(path: str) -> None:
    project = tomllib.loads((REPOSITORY / path).read_text())["project"]
    assert project["version"] == __version__
    optional = [each for extra in project.get("optional-dependencies", {}).values() for each in extra]
    asked = [each.partition(";")[0] for each in (*project["dependencies"], *optional)]
    pins = [each.partition("==")[2] for each in asked if "==" in each]
    assert all(pin == __version__ for pin in pins)


def test_the_image_and_the_chart_are_of_that_version() -> None:
    assert f"\nARG VERSION={__version__}\n" in (REPOSITORY / "Dockerfile").read_text()
    assert yaml.safe_load((REPOSITORY / "helm/acklog/Chart.yaml").read_text())["appVersion"] == __version__


def test_the_files_that_the_page_names_are_there() -> None:
    text = read_document("releasing.md")
    assert "docs/releasing.md" in (REPOSITORY / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"`((?:tests|storage|helm|packaging|acklog|cluster)/[^` *]+|[a-z]+\.(?:toml|txt))`", text)
    assert len(paths) > 8
    assert [path for path in paths if not (REPOSITORY / path).exists()] == []
