"""Who supervises a process is told in datagrams, and where nobody listens the process goes on."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.processes.service_manager import ServiceManager


@pytest.fixture(params=["path", "abstract"])
def supervisor(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """Its end of the channel, and the address as it stands in the environment."""
    name = f"acklog-test-{os.getpid()}" if request.param == "abstract" else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(f"\0{name}" if request.param == "abstract" else name)
        channel.setblocking(False)
        yield channel, f"@{name}" if request.param == "abstract" else name


def test_it_hears_what_happens_in_order(supervisor: tuple[socket.socket, str]) -> None:
    channel, address = supervisor
    manager = ServiceManager({"NOTIFY_SOCKET": address})
    manager.ready()
    manager.stopping()
    assert [channel.recv(100), channel.recv(100)] == [b"READY=1", b"STOPPING=1"]


@pytest.mark.parametrize("environment", [{}, {"NOTIFY_SOCKET": ""}])
def test_without_an_address_nothing_is_said(environment: dict[str, str]) -> None:
    with capture_logs() as lines:
        ServiceManager(environment).ready()
    assert lines == []


def test_where_nobody_listens_it_is_a_line_in_the_log(tmp_path: Path) -> None:
    with capture_logs() as lines:
        ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "nobody")}).ready()
    assert [line["event"] for line in lines] == ["service_manager_not_told"]
