"""The sources of earlier versions, as they were committed."""

import io
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PROTOCOL_VERSIONS = {"34c9f43": "1", "e54cfd7": "2"}
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
    """The commands that it adds to `acklog`, as an installation would tell: else those of the present one are found."""
    project = tomllib.loads((directory / "pyproject.toml").read_text())["project"]
    described = directory / f"acklog_server-{project['version']}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    entries = project["entry-points"]["acklog.commands"].items()
    lines = ["[acklog.commands]", *(f"{name} = {target}" for name, target in entries)]
    (described / "entry_points.txt").write_text("\n".join(lines) + "\n")
