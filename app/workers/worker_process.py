"""A process of a server, as its supervisor sees it, and as it sees itself."""

import os
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from app.workers.supervision import Ending
from app.workers.supervisor_channel import RELOAD, STOP, Served, SupervisorChannel

HEEDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LINE_BYTES_MAX = 64 * 1024


class WorkerProcess:
    """Made by `fork`."""

    def __init__(self, name: str, pid: int, channel: socket.socket) -> None:
        self.name = name
        self.pid = pid
        self.channel = channel
        self.has_hung_up = False
        self._heard = b""

    def stop(self) -> None:
        self._tell(STOP)

    def reload(self) -> None:
        self._tell(RELOAD)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def heard(self) -> Served | None:
        """What the worker has said, once that is whole. None: nothing yet, or it is gone."""
        try:
            told = self.channel.recv(_LINE_BYTES_MAX)
        except OSError:
            told = b""
        self.has_hung_up = not told
        self._heard += told
        line, separator, self._heard = self._heard.partition(b"\n")
        if not separator:
            self._heard = line
            return None
        return msgspec.json.decode(line, type=Served)

    def ending(self) -> Ending | None:
        """How it ended; None while it has not. Asked once more behind that it raises ChildProcessError."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return Ending(os.waitstatus_to_exitcode(status)) if pid else None

    def _tell(self, text: bytes) -> None:
        with suppress(OSError):  # it is gone, which the system tells in its own time
            self.channel.send(text)


@dataclass(slots=True, kw_only=True)
class OwnWorker:
    """What a new process is to be. `listener` is a gateway's; `storage_failure` what the storage process has said of
    itself."""

    name: str
    channel: SupervisorChannel
    listener: socket.socket | None = None
    storage_failure: str | None = None


def fork(name: str) -> WorkerProcess | SupervisorChannel:
    """Its supervisor gets the process, and the new process its channel. There must be no other thread. Signals that
    come meanwhile wait, so that none is taken for the other's."""
    ours, theirs = socket.socketpair()
    signal.pthread_sigmask(signal.SIG_BLOCK, HEEDED)
    try:
        pid = os.fork()
        if pid == 0:
            _become_a_worker()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HEEDED)
    if pid == 0:
        ours.close()
        return SupervisorChannel(theirs)
    theirs.close()
    ours.setblocking(False)
    return WorkerProcess(name, pid, ours)


def _become_a_worker() -> None:
    """Out of the reach of signals: the terminal's go to its foreground, in which this process is no more, and others
    have handlers that do nothing. (What is ignored outright would stay so in programs that it starts.)"""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in HEEDED:
        signal.signal(number, _nothing)
    os.setpgid(0, 0)


def _nothing(_number: int, _frame: object) -> None:
    """See `_become_a_worker`."""
