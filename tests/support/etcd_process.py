"""Real etcd servers on free ports, one or several in a cluster. Data lies in memory where the machine offers that."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.lasting_ports import lasting_ports
from tests.support.waiting import wait_until

START_SECONDS = 60
START_TRIES = 3
HEARTBEAT_MS = 50
ELECTION_TIMEOUT_MS = 500
_IN_MEMORY = Path("/dev") / "shm"


@dataclass(frozen=True)
class EtcdTlsFiles:
    """PEM files of an etcd that lets in only who shows a certificate of `authority`."""

    authority: Path
    certificate: Path
    private_key: Path


class EtcdProcess:
    """One member. It keeps its ports and its data over restarts; `kill` is SIGKILL."""

    def __init__(self, binary: Path, directory: Path, name: str, *, tls: EtcdTlsFiles | None = None) -> None:
        self.name = name
        self.client_port, self.peer_port = lasting_ports(2)
        self._binary = binary
        self._directory = directory
        self._tls = tls
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self.client_port}"

    @property
    def peer(self) -> str:
        """As `--initial-cluster` wants it."""
        return f"{self.name}=http://127.0.0.1:{self.peer_port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        return (self._directory / "log").read_text(errors="replace")

    def launch(self, initial_cluster: str, *options: str) -> None:
        """Start the process, without waiting for anything."""
        assert not self.is_running, "etcd runs already"
        self._directory.mkdir(parents=True, exist_ok=True)
        scheme = "https" if self._tls else "http"
        client_url = f"{scheme}://{self.endpoint}"
        peer_url = f"http://127.0.0.1:{self.peer_port}"
        arguments = {
            "name": self.name,
            "data-dir": str(self._directory / "data"),
            "listen-client-urls": client_url,
            "advertise-client-urls": client_url,
            "listen-peer-urls": peer_url,
            "initial-advertise-peer-urls": peer_url,
            "initial-cluster": initial_cluster,
            "heartbeat-interval": str(HEARTBEAT_MS),
            "election-timeout": str(ELECTION_TIMEOUT_MS),
            "logger": "zap",
            "log-outputs": "stderr",
        }
        if self._tls is not None:
            arguments["cert-file"] = str(self._tls.certificate)
            arguments["key-file"] = str(self._tls.private_key)
            arguments["trusted-ca-file"] = str(self._tls.authority)
            arguments["client-cert-auth"] = "true"
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._binary), *(f"--{name}={value}" for name, value in arguments.items()), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def start(self, *options: str) -> None:
        """As the only member; returns once it serves. A restart goes on with the data of before."""
        self.launch(self.peer, *options)
        self.wait_until_serving()

    def wait_until_serving(self) -> None:
        wait_until(self._serves, seconds=START_SECONDS, what=f"{self.name} serves")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        """SIGSTOP: connections stay, nothing answers. Returns once it stands still: until then it may answer."""
        self._signal(signal.SIGSTOP)
        assert self._process is not None
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def ask(self, path: str, document: dict[str, object] | None = None, *, token: str = "") -> dict[str, Any]:
        """One call of etcd's JSON API, with which tests do what the client under test has no call for."""
        connection = http.client.HTTPConnection("127.0.0.1", self.client_port, timeout=10)
        with contextlib.closing(connection):
            headers = {"Authorization": token} if token else {}
            connection.request("POST", path, body=json.dumps(document or {}), headers=headers)
            answer = connection.getresponse()
            content = answer.read()
        assert answer.status == 200, (path, answer.status, content)
        result: dict[str, Any] = json.loads(content)
        return result

    def wipe(self) -> None:
        """Delete every key; a lease without keys leaves no trace when it ends."""
        self.ask("/v3/kv/deleterange", {"key": "AA==", "range_end": "AA=="})  # a zero byte: all there is

    def _serves(self) -> bool:
        assert self.is_running, f"etcd has ended:\n{self.log[-2000:]}"
        if self._tls is not None:
            return "ready to serve client requests" in self.log or "serving client traffic" in self.log
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.client_port, timeout=1)
            with contextlib.closing(connection):
                connection.request("GET", "/health")
                return connection.getresponse().status == 200
        except OSError:
            return False

    def _signal(self, number: int) -> None:
        assert self._process is not None, "etcd has not been started"
        self._process.send_signal(number)


class EtcdCluster:
    """Several members that know each other."""

    def __init__(self, members: Sequence[EtcdProcess]) -> None:
        self.members = list(members)

    @property
    def endpoints(self) -> tuple[str, ...]:
        return tuple(member.endpoint for member in self.members)

    def start(self) -> None:
        for member in self.members:
            self.launch(member)
        for member in self.members:
            member.wait_until_serving()

    def launch(self, member: EtcdProcess) -> None:
        member.launch(",".join(each.peer for each in self.members))

    def leader(self) -> EtcdProcess:
        """Who leads now; waits for an election."""

        def led_by() -> EtcdProcess | None:
            for member in self.members:
                if member.is_running:
                    status = member.ask("/v3/maintenance/status")
                    if status.get("leader", "0") == status["header"]["member_id"]:
                        return member
            return None

        return wait_until(led_by, seconds=START_SECONDS, what="a leader")


@contextmanager
def running_etcd(binary: Path, *options: str, tls: EtcdTlsFiles | None = None) -> Iterator[EtcdProcess]:
    """A single member that serves, on an empty directory; gone at the end."""
    with ExitStack() as stack:
        etcd = _started(lambda directory: [EtcdProcess(binary, directory, "single", tls=tls)], stack, options)[0]
        yield etcd


@contextmanager
def running_cluster(binary: Path, size: int) -> Iterator[EtcdCluster]:
    with ExitStack() as stack:

        def make(directory: Path) -> list[EtcdProcess]:
            names = [f"member{number}" for number in range(size)]
            return [EtcdProcess(binary, directory / name, name) for name in names]

        yield EtcdCluster(_started(make, stack, ()))


def _started(make: Any, stack: ExitStack, options: Sequence[str]) -> list[EtcdProcess]:
    """Somebody may take a port between the choice and the start: then others are chosen."""
    for attempt in range(1, START_TRIES + 1):
        directory = Path(tempfile.mkdtemp(prefix="acklog-etcd-", dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        members: list[EtcdProcess] = make(directory)
        for member in members:
            stack.callback(member.kill)
        initial_cluster = ",".join(member.peer for member in members)
        for member in members:
            member.launch(initial_cluster, *options)
        try:
            for member in members:
                member.wait_until_serving()
        except AssertionError:
            if attempt == START_TRIES or not any("address already in use" in member.log for member in members):
                raise
            for member in members:
                member.kill()
        else:
            return members
    raise AssertionError("unreachable")
