"""The sources of earlier versions, as they were committed."""

import io
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PROTOCOL_VERSIONS = {"34c9f43": "1", "e54cfd7": "2", "384aee9": "3", "e6273e14": "6"}
"""The last commits whose processes speak that version of the nodes' protocol and no newer one."""


def check_out(commit: str, directory: Path) -> Path:
    """`directory`, with the version in it. Skips the test in a clone without its history."""
    archive = subprocess.run(["git", "-C", str(REPOSITORY), "archive", commit], capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"{commit} is not here, as in a clone without its history")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(directory, filter="data")
    _describe(directory)
    return directory


def _describe(directory: Path) -> None:
    """The commands that it adds to `acklog`, as an installation would tell: else those of the present one are found,
    and those for Spark, which it does not need."""
    project = tomllib.loads((directory / "pyproject.toml").read_text())["project"]
    commands = project["entry-points"]["acklog.commands"].items()
    _write_description(directory, project["name"], [f"{name} = {target}" for name, target in commands])
    _write_description(directory, "acklog-spark", [])


def _write_description(directory: Path, distribution: str, commands: list[str]) -> None:
    described = directory / f"{distribution.replace('-', '_')}-0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Name: {distribution}\nVersion: 0\n")
    (described / "entry_points.txt").write_text("\n".join(["[acklog.commands]", *commands]) + "\n")
