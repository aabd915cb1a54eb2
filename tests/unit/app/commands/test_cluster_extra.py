"""A server without the extra `cluster`, as `make run` sets one up."""

import sys

import pytest

from acklog.command.exit_codes import ExitCode
from tests.support.command_run import run_command


@pytest.mark.parametrize("command", ["up", "demo"])
@pytest.mark.parametrize("missing", [["grpc"], ["google.protobuf"], ["grpc", "google.protobuf"]])
def test_who_wants_a_cluster_hears_what_to_install_before_anything_is_started(
    command: str, missing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    result = run_command("cluster", command, "--etcd-program", "no-such-program")
    assert result.exit_code == ExitCode.FAILED
    assert result.stderr == (
        f"acklog: a cluster needs an extra of the server that is not installed ({', '.join(missing)})\n"
        f'  Install it: {sys.executable} -m pip install "acklog-server[cluster]"\n'
    )
