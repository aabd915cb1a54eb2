"""A server as a process of its own: started, waited for, killed, started again on the same directory and port."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

HOST = "127.0.0.1"
SETTINGS_PREFIX = "ACKLOG_"
CONFIGURATION_VARIABLE = "ACKLOG_CONFIG"
READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
READY_POLL_S = 0.005
LOG_TAIL_BYTES = 4000


class ServerFailedError(RuntimeError):
    """The server ended, or did not get ready, when it should have. The text holds the end of its log, too."""

    def __init__(self, what: str, log_tail: str = "") -> None:
        super().__init__(f"{what}:\n{log_tail}" if log_tail else what)
        self.what = what
        self.log_tail = log_tail


def free_port(host: str = HOST) -> int:
    """A port that nothing listens on at this moment."""
    return free_ports(1, host)[0]


def free_ports(count: int, host: str = HOST) -> list[int]:
    """Different ports that nothing listens on at this moment."""
    with ExitStack() as probes:
        ports = []
        for _ in range(count):
            probe = probes.enter_context(socket.socket())
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, 0))
            ports.append(int(probe.getsockname()[1]))
        return ports


def server_command(name: str, **options: object) -> list[str]:
    """The command line of `acklog NAME`, run by the interpreter that runs this. (-P: a folder called `app` where the
    user happens to stand is not the server's.)"""
    texts = [text for option, value in options.items() for text in ("--" + option.replace("_", "-"), str(value))]
    return [sys.executable, "-P", "-m", "acklog.command", name, *texts]


def acklog_command(*, port: int, data_dir: Path, host: str = HOST) -> list[str]:
    """The command line of `acklog serve`."""
    return server_command("serve", host=host, port=port, data_dir=data_dir, log_level="warning")


def server_environment(environment: Mapping[str, str], bytecode_dir: Path) -> dict[str, str]:
    """What a server gets of `environment`: no settings of Acklog, which the command line gives, and no file of them
    that happens to be in the working directory. Where compiled modules are not to be kept, they go to `bytecode_dir`,
    so that a restart measures recovery and not the compiler."""
    kept = {name: value for name, value in environment.items() if not name.startswith(SETTINGS_PREFIX)}
    kept[CONFIGURATION_VARIABLE] = ""
    if kept.pop("PYTHONDONTWRITEBYTECODE", None):
        kept.setdefault("PYTHONPYCACHEPREFIX", str(bytecode_dir))
    return kept


@dataclass(slots=True)
class ServerProcess:
    """`command` must listen on `port`. Its output goes to `log_path`. `cpus` pins it and all its threads."""

    command: Sequence[str]
    port: int
    log_path: Path
    host: str = HOST
    ready_path: str = "/readyz"
    cpus: frozenset[int] | None = None
    ready_timeout_s: float = READY_TIMEOUT_S
    _process: asyncio.subprocess.Process | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """Raises ServerFailedError when it does not run."""
        pid = self.running_pid
        if pid is None:
            raise ServerFailedError("the server does not run")
        return pid

    @property
    def running_pid(self) -> int | None:
        """None when it does not run."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Of a process that has ended by itself, negative for a signal; None while it runs, or was not started."""
        return None if self._process is None else self._process.returncode

    async def start(self) -> float:
        """Start it and wait until it is ready. Returns the seconds that took; raises ServerFailedError."""
        if self._process is not None:
            raise RuntimeError("the server runs already")
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        started_s = _now_s()
        log = self._open_log()
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=server_environment(os.environ, self.log_path.parent / "bytecode"),
                start_new_session=True,  # Ctrl-C is for whoever runs it, who then stops it in order
            )
        finally:
            os.close(log)
        if self.cpus is not None:
            os.sched_setaffinity(self._process.pid, self.cpus)
        await self._wait_until_ready(started_s + self.ready_timeout_s)
        return _now_s() - started_s

    async def ended(self) -> int:
        """Wait until it ends, whoever ends it; returns the exit code. Raises ServerFailedError when it does not run."""
        if self._process is None:
            raise ServerFailedError("the server does not run")
        return await self._process.wait()

    async def kill(self) -> None:
        """SIGKILL: nothing is flushed, nothing is closed. What has ended already is forgotten: it may start again."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL if that does not end it in time. Does nothing when it does not run."""
        if self._process is not None:
            await self._end(signal.SIGTERM)

    async def _end(self, number: signal.Signals) -> None:
        process = self._process
        if process is None:
            raise RuntimeError("the server does not run")
        self._process = None
        if process.returncode is None:
            process.send_signal(number)
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise ServerFailedError(f"the server did not end within {STOP_TIMEOUT_S:.0f} s of {number.name}") from None

    async def _wait_until_ready(self, deadline_s: float) -> None:
        assert self._process is not None
        while True:
            if self._process.returncode is not None:
                raise ServerFailedError(f"the server ended with {self._process.returncode}", self.log_tail())
            if await self._is_ready():
                return
            if _now_s() > deadline_s:
                raise ServerFailedError(
                    f"the server was not ready within {self.ready_timeout_s:.0f} s", self.log_tail()
                )
            await asyncio.sleep(READY_POLL_S)

    async def _is_ready(self) -> bool:
        try:
            async with asyncio.timeout(2):
                reader, writer = await asyncio.open_connection(self.host, self.port)
                try:
                    request = f"GET {self.ready_path} HTTP/1.1\r\nHost: {self.host}\r\nConnection: close\r\n\r\n"
                    writer.write(request.encode())
                    status_line = await reader.readline()
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return False
        return status_line.startswith(b"HTTP/1.1 2")

    def _open_log(self) -> int:
        return os.open(self.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def log_tail(self) -> str:
        """The end of what the server printed."""
        if not self.log_path.exists():
            return ""
        return self.log_path.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace")


def _now_s() -> float:
    return asyncio.get_running_loop().time()
