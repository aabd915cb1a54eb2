"""Who is at work on a run: runs that see each other do not both go on.

That spares work and surprises, no more: what keeps a table right is that a manifest can be put once.
"""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from pyspark_acklog.export.directory import OWNER_FILE, ExportDirectory
from pyspark_acklog.export.failures import RunUnderWayError, StorageError
from pyspark_acklog.export.manifest import NUMBER_DIGITS

BEAT_S = 15.0
SILENT_AFTER_MS = 60_000


class Owner(msgspec.Struct, frozen=True, rename="camel"):
    """A process with a run. Of two that begin at once the one that is first by (time, token) goes on."""

    token: str
    host: str
    process: int
    started_at_ms: int

    @classmethod
    def of_this_process(cls, *, token: str, now_ms: int) -> "Owner":
        return cls(token, socket.gethostname(), os.getpid(), now_ms)

    @property
    def is_surely_gone(self) -> bool:
        """A process of this machine that does not run any more."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False
        return False

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"


class Claim:
    """This run's owner file, which is written again and again while the run goes on."""

    def __init__(self, directory: ExportDirectory, owner: Owner, number: int) -> None:
        self._storage = directory.storage
        self._directory = directory
        self._owner = owner
        self._number = number
        self.path = directory.attempt_path(number, owner.token)

    def make(self) -> None:
        """Raises RunUnderWayError where another run was there before and gives signs of life."""
        self.beat()
        own_path = f"{self.path}/{OWNER_FILE}"
        files = self._storage.list_files(self._directory.staging)
        now_ms = max((file.modified_ms for file in files if file.path == own_path), default=0)
        prefix = f"{self._directory.staging}/{self._number:0{NUMBER_DIGITS}d}-"
        for file in files:
            is_claim = file.path.startswith(prefix) and file.path.endswith("/" + OWNER_FILE)
            if not is_claim or file.path == own_path or now_ms - file.modified_ms > SILENT_AFTER_MS:
                continue
            other = self._owner_in(file.path)
            if other is None or other.is_surely_gone or _order(self._owner) < _order(other):
                continue
            silent_s = max(0, now_ms - file.modified_ms) // 1000
            self._storage.delete_tree(self.path)
            raise RunUnderWayError(
                f"another run exports {self._directory.topic} to {self._storage.root}: {other}, which gave a sign of"
                f" life {silent_s} s ago; wait for it, or end it and try again after {SILENT_AFTER_MS // 1000} s"
            )

    def beat(self) -> None:
        self._storage.write(f"{self.path}/{OWNER_FILE}", msgspec.json.encode(self._owner))

    def _owner_in(self, path: str) -> Owner | None:
        content = self._storage.read(path)
        if content is None:
            return None
        try:
            return msgspec.json.decode(content, type=Owner)
        except msgspec.DecodeError:
            return None


@contextmanager
def beating(claim: Claim, *, every_s: float = BEAT_S) -> Iterator[None]:
    """Signs of life while the block runs. One that cannot be given is left out: the next may succeed."""
    is_over = threading.Event()

    def beat() -> None:
        while not is_over.wait(every_s):
            try:
                claim.beat()
            except StorageError:
                continue

    thread = threading.Thread(target=beat, name="acklog-export-beat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _order(owner: Owner) -> tuple[int, str]:
    return owner.started_at_ms, owner.token
