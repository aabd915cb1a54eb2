"""A node and a gateway of a cluster: told anew at SIGHUP, and telling whoever supervises them."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.etcd_process import running_etcd
from tests.support.server_process import REPOSITORY
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("cluster")]

SECONDS = 60
FILE = """
etcd = "http://{etcd}"
[node]
id = 1
listen = "127.0.0.1:0"
http = "127.0.0.1:0"
[gateway]
port = 0
"""


class Process:
    """`acklog NAME`, told by an acklog.toml in its working directory, with a supervisor that listens."""

    def __init__(self, name: str, directory: Path) -> None:
        self._log = directory / f"{name}.log"
        self._supervisor = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._supervisor.bind(str(directory / f"{name}.notify"))
        self._supervisor.settimeout(SECONDS)
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("ACKLOG_")}
        environment = {"PYTHONPATH": str(REPOSITORY), "NOTIFY_SOCKET": str(directory / f"{name}.notify")}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "acklog.command", name],
                cwd=directory,
                env={**inherited, **environment},
                stdout=log,
                stderr=log,
            )

    def heard(self) -> str:
        return self._supervisor.recv(4096).decode()

    def hang_up(self, event: str) -> dict[str, Any]:
        """SIGHUP, and the first line with that event."""
        self._process.send_signal(signal.SIGHUP)

        def line() -> dict[str, Any] | None:
            assert self._process.poll() is None, self._log.read_text()
            lines = [json.loads(each) for each in self._log.read_text().splitlines() if each.startswith("{")]
            return next((each for each in lines if each["event"] == event), None)

        return wait_until(line, seconds=SECONDS, what=event)

    def stop(self) -> int:
        self._process.terminate()
        return self._process.wait(timeout=SECONDS)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._supervisor.close()


@contextlib.contextmanager
def running(name: str, directory: Path) -> Iterator[Process]:
    with contextlib.closing(Process(name, directory)) as process:
        assert process.heard() == "READY=1"
        yield process


def test_a_node_and_a_gateway_are_told_anew_and_tell_their_supervisor(tmp_path: Path, etcd_program: Path) -> None:
    with running_etcd(etcd_program) as etcd:
        file, text = tmp_path / "acklog.toml", FILE.format(etcd=etcd.endpoint)
        file.write_text(text)
        with running("node", tmp_path) as node, running("gateway", tmp_path) as gateway:
            file.write_text(text + "no_such_setting = 1\n")
            for process in (node, gateway):
                assert "no_such_setting is no setting" in process.hang_up("reload_refused")["reason"]
            file.write_text('log_level = "debug"\n' + text + 'partitions_default = 3\nrack = "b7"\n')
            assert node.hang_up("reloaded")["changed"] == {"log_level": ["info", "debug"]}
            changed = gateway.hang_up("reloaded")["changed"]
            assert changed == {"log_level": ["info", "debug"], "partitions_default": [8, 3]}
            assert gateway.hang_up("reload_needs_restart")["settings"] == ["gateway.rack"]
            for process in (gateway, node):
                assert process.stop() == 0
                assert process.heard() == "STOPPING=1"
