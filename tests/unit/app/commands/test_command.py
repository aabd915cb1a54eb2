from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from app.commands.main import register


@pytest.mark.parametrize("directory", ["file/data", "/proc/no-such/data"])
def test_a_data_directory_that_cannot_be_made_is_told_without_a_stack_trace(directory: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    command = typer.Typer()
    register(command)
    result = CliRunner().invoke(command, ["serve", "--port", "0", "--data-dir", str(tmp_path / directory)])
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.startswith(f"acklog: The data directory {tmp_path / directory} cannot be served: ")


def test_a_damaged_coordination_file_is_told_without_a_stack_trace(tmp_path: Path) -> None:
    (tmp_path / "coordination.sqlite").write_text("this is no database, but it is long enough to be looked at")
    command = typer.Typer()
    register(command)
    result = CliRunner().invoke(command, ["serve", "--port", "0", "--data-dir", str(tmp_path)])
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "coordination.sqlite" in result.stderr
