"""How a server of the demo and the benchmark is started."""

from pathlib import Path

import pytest

from app.local_cluster.server_process import (
    ServerFailedError,
    ServerProcess,
    acklog_command,
    free_port,
    server_environment,
)

NO_FILE = {"ACKLOG_CONFIG": ""}
"""A demo is not the server that a file in the working directory is for."""


def test_the_environment_of_a_server_has_no_settings_of_ours() -> None:
    given = {"PATH": "/bin", "ACKLOG_FLIGHTS": "x", "ACKLOG_PORT": "1"}
    assert server_environment(given, Path("cache")) == {"PATH": "/bin", **NO_FILE}


def test_compiled_modules_that_must_not_be_kept_go_elsewhere() -> None:
    given = {"PYTHONDONTWRITEBYTECODE": "1"}
    assert server_environment(given, Path("cache")) == {"PYTHONPYCACHEPREFIX": "cache", **NO_FILE}
    assert server_environment({**given, "PYTHONPYCACHEPREFIX": "mine"}, Path("cache")) == {
        "PYTHONPYCACHEPREFIX": "mine",
        **NO_FILE,
    }


def test_the_command_names_host_port_and_directory() -> None:
    command = acklog_command(port=1234, data_dir=Path("data"))
    assert command[1:5] == ["-P", "-m", "acklog.command", "serve"]
    assert command[command.index("--port") + 1] == "1234"
    assert command[command.index("--data-dir") + 1] == "data"


def test_a_server_that_does_not_run_has_no_process_id(tmp_path: Path) -> None:
    server = ServerProcess(["true"], free_port(), tmp_path / "log")
    with pytest.raises(ServerFailedError, match="does not run"):
        _ = server.pid
    assert server.log_tail() == ""
