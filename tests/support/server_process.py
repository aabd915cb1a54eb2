"""A real server in a process of its own, on a free port."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.waiting import wait_until

START_SECONDS = 60
STOP_SECONDS = 30
REPOSITORY = Path(__file__).resolve().parents[2]
_ADDRESS = re.compile(r"listens on https?://([0-9.]+|\[[0-9a-f:]+\]):([0-9]+)")


@dataclass(frozen=True)
class Answer:
    """An HTTP answer. Header names are in lower case."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.content)

    @property
    def code(self) -> str:
        """The problem's code; "" for an answer that is none."""
        if not self.headers.get("content-type", "").startswith("application/problem+json"):
            return ""
        return str(self.document["code"])


class ServerProcess:
    """`acklog serve` on a data directory. What it prints goes to `log_path`, over all its starts.

    Use it as a context manager: the process is gone at the end, whatever happened.
    """

    def __init__(
        self,
        data_directory: Path,
        log_path: Path,
        *,
        options: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
        host: str = "127.0.0.1",
        descriptors: tuple[int, int] | None = None,
        program: str = "acklog.command",
        source: Path = REPOSITORY,
        installed: Path | None = None,
        authority: Path | None = None,
    ) -> None:
        """`descriptors`: the process's limits on open files, soft and hard; None: those of this process. `program`: the
        module that takes the place of the `acklog` command. `source`: the checkout that it is run from. `installed`:
        the command of an environment of its own, which takes the place of the module. `authority`: who has signed the
        certificate that `options` give it; it is called by https then."""
        self.data_directory = data_directory
        self.log_path = log_path
        self.host = host
        self.port = 0
        self._options = options
        self._environment = dict(environment or {})
        self._descriptors = descriptors
        self._source = source
        self._command = [sys.executable, "-m", program] if installed is None else [str(installed)]
        self._tls = None if authority is None else ssl.create_default_context(cafile=str(authority))
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server has not been started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def base_url(self) -> str:
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{self.host}:{self.port}"

    def launch(self) -> None:
        """Start the process, without waiting for anything."""
        assert not self.is_running, "the server runs already"
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("ACKLOG_")}
        arguments = ["--host", self.host, "--port", "0", "--data-dir", str(self.data_directory), *self._options]
        with self.log_path.open("ab") as log:
            self._log_start = log.tell()
            self._process = subprocess.Popen(
                [*self._limiter(), *self._command, "serve", *arguments],
                cwd=self._source,
                env={**inherited, "PYTHONUNBUFFERED": "1", **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _limiter(self) -> list[str]:
        """What is put before the command to give it its limits."""
        if self._descriptors is None:
            return []
        soft, hard = self._descriptors
        return ["prlimit", f"--nofile={soft}:{hard}", "--"]

    def start(self) -> Self:
        """Start the process and wait until it is ready to serve."""
        self.launch()
        self.wait_until_listening()
        wait_until(self._answers_ready, seconds=START_SECONDS, what="/readyz")
        return self

    def wait_until_listening(self) -> None:
        """Wait for the line that says the address, and learn the port from it."""

        def printed_address() -> re.Match[str] | None:
            match = _ADDRESS.search(self.output())
            assert match is not None or self.is_running, f"the server did not start:\n{self.output()}"
            return match

        match = wait_until(printed_address, seconds=START_SECONDS, what="the address in the server's output")
        self.port = int(match[2])

    def kill(self) -> None:
        """SIGKILL, and wait for the end. Nothing happens when it is not running."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def terminate(self) -> None:
        """SIGTERM, without waiting."""
        self.signal(signal.SIGTERM)

    def signal(self, number: int) -> None:
        assert self._process is not None, "the server has not been started"
        self._process.send_signal(number)

    def wait(self, *, seconds: float = STOP_SECONDS) -> int:
        """The exit code, once the process has ended by itself."""
        assert self._process is not None, "the server has not been started"
        return self._process.wait(timeout=seconds)

    def stop(self) -> None:
        """SIGTERM, and wait for a clean end."""
        self.terminate()
        code = self.wait()
        assert code == 0, f"exit code {code}:\n{self.output()}"

    def restart(self) -> None:
        self.stop()
        self.start()

    def output(self) -> str:
        """What this start has printed so far."""
        with self.log_path.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def resident_bytes(self) -> int:
        """The process's resident memory now."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        match = re.search(r"^VmRSS:\s+([0-9]+) kB$", status, re.MULTILINE)
        assert match is not None
        return int(match[1]) * 1024

    def request(
        self,
        method: str,
        target: str,
        document: object = None,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        seconds: float = 30,
    ) -> Answer:
        """One request on a connection of its own; `document` is sent as JSON, `content` as it is."""
        sent_headers = dict(headers or {})
        body = content
        if document is not None:
            body = json.dumps(document).encode()
            sent_headers.setdefault("Content-Type", "application/json")
        connection = self._connection(seconds)
        with contextlib.closing(connection):
            connection.request(method, target, body=body, headers=sent_headers)
            answer = connection.getresponse()
            received = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, received, answer.read())

    def _connection(self, seconds: float) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self.host, self.port, timeout=seconds)
        return http.client.HTTPSConnection(self.host, self.port, timeout=seconds, context=self._tls)

    def open_connection(self, *, seconds: float = 30) -> socket.socket:
        """A bare TCP connection, for clients that do not behave."""
        return socket.create_connection((self.host, self.port), timeout=seconds)

    def send(self, queue: str, body: object, **fields: object) -> dict[str, Any]:
        """Send one message; returns its messageId, partition and offset."""
        answer = self.request("POST", "/messages", {"queue": queue, "body": body, **fields})
        assert answer.status == 201, answer
        document: dict[str, Any] = answer.document
        return document

    def receive(self, queue: str, group: str = "workers", **parameters: object) -> list[dict[str, Any]]:
        """Receive messages as consumer of a group."""
        query = "".join(f"&{name}={value}" for name, value in parameters.items())
        answer = self.request("GET", f"/messages?queue={queue}&group={group}{query}")
        assert answer.status == 200, answer
        messages: list[dict[str, Any]] = answer.document["messages"]
        return messages

    def ack(self, *receipts: str) -> Answer:
        return self.request("POST", "/ack", {"receipts": list(receipts)})

    def _answers_ready(self) -> bool:
        assert self.is_running, f"the server ended before it was ready:\n{self.output()}"
        try:
            return self.request("GET", "/readyz").status == 200
        except OSError:
            return False
