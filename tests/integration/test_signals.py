"""What signals do to the processes that are run: an end before they serve, and a reload while they do."""

import contextlib
import http.client
import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import ServerMaker
from tests.support.lasting_ports import lasting_ports
from tests.support.server_process import REPOSITORY, ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

SECONDS = 60
END_SECONDS = 5
OLD, NEW, OTHER = "an-old-token-0123456", "a-new-token-01234567", "another-token-012345"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def write_tokens(path: Path, **tokens: str) -> None:
    entries = [{"name": name, "token": token, "scopes": ["read", "write", "admin"]} for name, token in tokens.items()]
    path.write_text(json.dumps({"tokens": entries}))


def events(text: str, name: str) -> list[dict[str, Any]]:
    """The log's lines with this event."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [line for line in lines if line["event"] == name]


def reload(server: ServerProcess, event: str = "reloaded") -> dict[str, Any]:
    """SIGHUP, and the line that says what came of it."""
    before = len(events(server.output(), event))
    server.signal(signal.SIGHUP)

    def line() -> dict[str, Any] | None:
        assert server.is_running, server.output()
        found = events(server.output(), event)[before:]
        return found[0] if found else None

    return wait_until(line, seconds=SECONDS, what=f"the event {event}")


class OneConnection:
    """Requests one after the other on one connection, which must not be closed between them."""

    def __init__(self, server: ServerProcess) -> None:
        self._connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
        self._connection.connect()
        self._socket = self._connection.sock

    def status(self, method: str, target: str, document: object = None, *, token: str) -> int:
        body = None if document is None else json.dumps(document)
        self._connection.request(method, target, body, {"Content-Type": "application/json", **bearer(token)})
        answer = self._connection.getresponse()
        answer.read()
        assert self._connection.sock is self._socket, "the connection was closed"
        return answer.status

    def statuses(self, token: str) -> list[int]:
        """Of each way by which a request comes in: the short one of single sends, a direct call, the framework."""
        return [
            self.status("POST", "/messages", {"queue": "orders", "body": 1}, token=token),
            self.status("GET", "/messages?queue=orders&group=g&max=1", token=token),
            self.status("GET", "/topics", token=token),
        ]


class TestReload:
    def test_tokens_count_from_the_next_request_on_also_where_the_connection_stays(
        self, make_server: ServerMaker, tmp_path: Path
    ) -> None:
        tokens = tmp_path / "tokens.json"
        write_tokens(tokens, old=OLD, other=OTHER)
        server = make_server("--tokens-file", str(tokens)).start()
        connection = OneConnection(server)
        assert connection.statuses(OLD) == [201, 200, 200]
        assert connection.statuses(NEW) == [401, 401, 401]
        write_tokens(tokens, new=NEW, other=OTHER)
        line = reload(server)
        assert (line["tokens"], line["names_added"], line["names_removed"]) == (2, ["new"], ["old"])
        assert connection.statuses(NEW) == [201, 200, 200]
        assert connection.statuses(OLD) == [401, 401, 401]
        assert connection.statuses(OTHER) == [201, 200, 200]
        assert not [token for token in (OLD, NEW, OTHER) if token in server.output()]

    def test_a_file_that_cannot_be_used_is_refused_as_a_whole(self, make_server: ServerMaker, tmp_path: Path) -> None:
        tokens, file = tmp_path / "tokens.json", tmp_path / "acklog.toml"
        write_tokens(tokens, old=OLD)
        settings = f"[serve]\ntokens_file = '{tokens}'\n"
        file.write_text(settings)
        server = make_server("--config", str(file)).start()
        connection = OneConnection(server)
        write_tokens(tokens, new=NEW)
        file.write_text(settings + "partitions_default = 3\nbody_timeout_ms = 1\n")
        assert "body_timeout_ms is 1, it may be 10" in reload(server, "reload_refused")["reason"]
        file.write_text(settings + "partitions_default = 3\n")
        tokens.write_text('{"tokens": [')
        assert "tokens file is not valid" in reload(server, "reload_refused")["reason"]
        file.write_text("")
        assert "takes a restart" in reload(server, "reload_refused")["reason"]
        file.unlink()
        assert "cannot be read" in reload(server, "reload_refused")["reason"]
        assert connection.statuses(OLD) == [201, 200, 200]
        topic = server.request("GET", "/topics/orders", headers=bearer(OLD)).document
        assert topic["partitions"] == 8, "the new number was taken over, and the rest was not"

    def test_what_else_can_change_does_and_what_cannot_is_named(self, make_server: ServerMaker, tmp_path: Path) -> None:
        file = tmp_path / "acklog.toml"
        file.write_text("")
        server = make_server("--config", str(file)).start()
        file.write_text(
            'log_level = "debug"\n[serve]\nport = 7\npartitions_default = 3\nauto_create_groups = false\n'
            "url_bytes_max = 256\nrequest_timeout_ms = 5000\n[storage]\nread_ahead_bytes = 4096\n"
        )
        line = reload(server)
        assert line["changed"] == {
            "auto_create_groups": [True, False],
            "log_level": ["info", "debug"],
            "partitions_default": [8, 3],
            "url_bytes_max": [16384, 256],
        }
        [waiting] = events(server.output(), "reload_needs_restart")
        # The option --port wins over the file, so nothing waits for that one.
        assert waiting["settings"] == ["serve.request_timeout_ms", "storage.read_ahead_bytes"]
        server.send("orders", 1)
        assert server.request("GET", "/topics/orders").document["partitions"] == 3
        assert server.request("GET", "/messages?queue=orders&group=new").code == "GROUP_NOT_FOUND"
        assert server.request("GET", "/messages?queue=orders&group=" + "g" * 250).status == 414
        file.write_text('log_level = "error"\n')
        server.signal(signal.SIGHUP)  # a reload that no line tells of
        long = "/messages?queue=orders&group=" + "g" * 249
        wait_until(lambda: server.request("GET", long).status != 414, seconds=SECONDS, what="the limit of before")
        file.write_text("log_level = 7\n")
        reload(server, "reload_refused")
        assert server.request("GET", long).status != 414
        server.stop()

    def test_a_terminal_that_is_gone_ends_the_server_that_was_started_in_it(self, tmp_path: Path) -> None:
        controller, terminal = pty.openpty()
        command = [sys.executable, "-m", "acklog.command", "serve", "--port", "0", "--data-dir", str(tmp_path / "data")]
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=REPOSITORY, stdin=terminal, stdout=log, stderr=log)
        try:
            os.close(terminal)
            wait_until(lambda: "listens on" in (tmp_path / "log").read_text(), seconds=SECONDS, what="a server")
            process.send_signal(signal.SIGHUP)
            text = tmp_path / "log"
            wait_until(lambda: events(text.read_text(), "reloaded"), seconds=SECONDS, what="a reload")
            os.close(controller)
            process.send_signal(signal.SIGHUP)
            assert process.wait(timeout=SECONDS) == 0
        finally:
            process.kill()
            process.wait()


class Supervisor:
    """The end of a NOTIFY_SOCKET that systemd would have."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.settimeout(SECONDS)

    def heard(self) -> str:
        """The next thing that is said."""
        return self._socket.recv(4096).decode()

    def has_heard(self) -> bool:
        self._socket.setblocking(False)
        try:
            self._socket.recv(4096, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        finally:
            self._socket.settimeout(SECONDS)
        return True

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[Supervisor]:
    with contextlib.closing(Supervisor(tmp_path / "notify")) as found:
        yield found


class TestSupervisor:
    def test_it_is_told_once_the_server_serves_and_when_it_stops(
        self, make_server: ServerMaker, supervisor: Supervisor
    ) -> None:
        server = make_server(environment={"NOTIFY_SOCKET": str(supervisor.path)})
        server.launch()
        assert supervisor.heard() == "READY=1"
        server.wait_until_listening()
        assert server.request("GET", "/readyz").status == 200, "it was said to be ready and is not"
        server.stop()
        assert supervisor.heard() == "STOPPING=1"
        assert not supervisor.has_heard()

    def test_a_start_that_fails_is_never_ready(self, make_server: ServerMaker, supervisor: Supervisor) -> None:
        first = make_server().start()
        second = make_server(environment={"NOTIFY_SOCKET": str(supervisor.path)})
        second.launch()
        assert second.wait() != 0
        assert not supervisor.has_heard()
        assert first.is_running


def first_of_its_namespace() -> list[str]:
    """What makes a command the first process of a PID namespace, as a container does; nothing where we may not."""
    command = ["unshare", "--pid", "--fork", "--kill-child"]
    try:
        done = subprocess.run([*command, "true"], capture_output=True, timeout=30, check=False)
    except FileNotFoundError:
        return []
    return command if done.returncode == 0 else []


@pytest.mark.parametrize("name", ["node", "gateway"])
@pytest.mark.parametrize("as_first_process", [False, True], ids=["as any process", "as the first one"])
def test_who_waits_for_etcd_ends_at_once(name: str, as_first_process: bool, tmp_path: Path) -> None:
    """The kernel spares the first process of a container the signals that it does not handle."""
    prefix = first_of_its_namespace() if as_first_process else []
    if as_first_process and not prefix:
        pytest.skip("needs the right to make a PID namespace")
    [refusing] = lasting_ports(1)
    options = {"node": ["--id", "1", "--http", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--data-dir", "data"]}
    command = [sys.executable, "-m", "acklog.command", name, "--etcd", f"http://127.0.0.1:{refusing}"]
    command += ["--etcd-wait-ms", "600000", *options.get(name, ["--port", "0"])]
    log = tmp_path / "log"
    with log.open("wb") as output:
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        process = subprocess.Popen([*prefix, *command], cwd=tmp_path, env=environment, stdout=output, stderr=output)
    try:
        wait_until(lambda: "etcd_not_reached" in log.read_text(), seconds=SECONDS, what="a process that waits for etcd")
        os.kill(_pid_of_the_command(process.pid) if prefix else process.pid, signal.SIGTERM)
        assert process.wait(timeout=END_SECONDS) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()
    assert log.read_text().splitlines()[-1] == "acklog: SIGTERM came before it served: it has ended."
    assert "Traceback" not in log.read_text()


def _pid_of_the_command(parent: int) -> int:
    [child] = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return int(child)


def test_a_signal_before_anything_is_loaded(tmp_path: Path) -> None:
    """From the command's first line on; what comes before is Python's own start."""
    program = (
        "import os, signal, sys\n"
        "from app.commands import command_end\n"
        "from app.commands.serve import _run\n"
        "with command_end.ending_well_at_signals():\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    print('it went on')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert done.stderr == "acklog: SIGTERM came before it served: it has ended.\n"
