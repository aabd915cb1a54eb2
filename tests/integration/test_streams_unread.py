"""Streams whose client does not read: they cost a bounded amount of memory, are cut, and keep nobody waiting."""

import json
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

MIB = 1024 * 1024
WRITE_TIMEOUT_S = 2
OPTIONS = (f"--write-timeout-ms={WRITE_TIMEOUT_S * 1000}", "--events-interval-ms=100")
STREAMS = 20
BACKLOG_MIB = 40
HELD_BYTES_MAX = 8 * MIB
"""What a tail may cost here: a batch of a mebibyte, as it was read, as a message, as text, and on its way. All that
there is to say to it is five times as much."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path / "data", tmp_path / "log", options=OPTIONS) as found:
        yield found
        assert "Traceback" not in found.output()


def ask(server: ServerProcess, target: str, token: str = "") -> socket.socket:
    """A stream, of which nothing is read: little room is on the way to whoever asked."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((server.host, server.port))
    shown = f"Authorization: Bearer {token}\r\n" if token else ""
    connection.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{shown}\r\n".encode())
    return connection


def figure(server: ServerProcess, name: str, stream: str, token: str = "") -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    text = server.request("GET", "/metrics", headers=headers).content.decode()
    return int(float(text.partition(f'\n{name}{{stream="{stream}"}} ')[2].partition("\n")[0]))


def fill(server: ServerProcess, *, mebibytes: int) -> None:
    assert server.request("PUT", "/topics/large", {"partitions": 1}).status == 201
    for _ in range(mebibytes):
        server.send("large", "x" * (MIB - 100))


def test_tails_that_nobody_reads_hold_little_and_are_cut(server: ServerProcess) -> None:
    fill(server, mebibytes=BACKLOG_MIB)
    target = "/topics/large/tail?from=earliest&maxBodyBytes=1048576&maxPerSecond=10000"
    with ExitStack() as streams:
        before = server.resident_bytes()
        for _ in range(STREAMS):
            streams.enter_context(ask(server, target))
        began = time.monotonic()
        wait_until(lambda: figure(server, "acklog_streams", "tail") == STREAMS, seconds=30, what="all are served")
        most = 0

        def are_gone() -> bool:
            nonlocal most
            most = max(most, server.resident_bytes())
            return figure(server, "acklog_streams", "tail") == 0

        wait_until(are_gone, seconds=60, what="all are cut")
        assert time.monotonic() - began >= WRITE_TIMEOUT_S / 2
        assert most - before < STREAMS * HELD_BYTES_MAX
    server.send("others", "hello")
    assert [each["body"] for each in server.receive("others")] == ["hello"]


def test_watchers_that_nobody_reads_hold_next_to_nothing_and_are_cut(server: ServerProcess) -> None:
    """What changes goes on to be told, and each of them is further and further behind."""
    for number in range(60):
        assert server.request("PUT", f"/topics/{'t' * 180}{number:03}", {"partitions": 1}).status == 201

    def change_all() -> None:
        for number in range(60):
            server.send(f"{'t' * 180}{number:03}", number)

    for _ in range(20):
        change_all()  # what the messages themselves cost is not the streams'
    with ExitStack() as streams:
        for _ in range(STREAMS):
            streams.enter_context(ask(server, "/events"))
        wait_until(lambda: figure(server, "acklog_streams", "events") == STREAMS, seconds=30, what="all are served")
        before = server.resident_bytes()

        def are_gone() -> bool:
            change_all()
            return figure(server, "acklog_streams", "events") == 0

        wait_until(are_gone, seconds=120, what="all are cut")
        assert server.resident_bytes() - before < STREAMS * MIB


def test_a_stop_waits_for_no_stream_that_is_not_read(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", tmp_path / "log", options=("--events-interval-ms=100",)) as server:
        fill(server, mebibytes=16)
        target = "/topics/large/tail?from=earliest&maxBodyBytes=1048576&maxPerSecond=10000"
        with ask(server, target), ask(server, "/events"), server.open_connection() as reader:
            reader.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reader.recv(1)
            wait_until(lambda: figure(server, "acklog_streams", "tail") == 1, seconds=30, what="it is served")
            wait_until(lambda: figure(server, "acklog_streams", "events") == 2, seconds=30, what="they are served")
            began = time.monotonic()
            server.signal(signal.SIGTERM)
            heard = b"".join(iter(lambda: reader.recv(65536), b""))
            assert b'event: end\ndata: {"reason":"shutdown"}\n\n' in heard
            assert server.wait(seconds=30) == 0
        assert time.monotonic() - began < 10
        assert "Traceback" not in server.output()


def test_one_token_leaves_a_fifth_of_the_places_to_others(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    names = {"ada": "ada-token-0123456789", "bob": "bob-token-0123456789"}
    entries = [{"name": name, "token": token, "roles": ["admin"]} for name, token in names.items()]
    tokens.write_text(json.dumps({"tokens": entries}))
    tokens.chmod(0o600)
    options = ("--tokens-file", str(tokens), "--events-watchers-max=5", "--tails-max=5")
    with ServerProcess(tmp_path / "data", tmp_path / "log", options=options) as server, ExitStack() as streams:
        ada, bob = ({"Authorization": f"Bearer {token}"} for token in names.values())
        assert server.request("PUT", "/topics/orders", headers=ada).status == 201
        for stream, target in (("events", "/events"), ("tail", "/topics/orders/tail")):

            def served(stream: str = stream) -> int:
                return figure(server, "acklog_streams", stream, names["ada"])

            for count in range(1, 5):
                streams.enter_context(ask(server, target, names["ada"]))
                wait_until(lambda: served() == count, seconds=30, what="it has its place")  # noqa: B023
            refused = server.request("GET", target, headers=ada)
            assert (refused.status, refused.code) == (429, "TOO_MANY_WATCHERS")
            assert refused.document["detail"].startswith("4 streams of this token are served already, 80 % of all")
            others = streams.enter_context(ask(server, target, names["bob"]))
            wait_until(lambda: served() == 5, seconds=30, what="there is a place for others")
            full = server.request("GET", target, headers=bob)
            assert full.document["detail"].startswith("5 streams are served already")
            assert figure(server, "acklog_streams_refused_total", stream, names["ada"]) == 2
            others.close()
            wait_until(lambda: served() == 4, seconds=30, what="its place is there again")
            assert server.request("GET", target, headers=ada).code == "TOO_MANY_WATCHERS"
