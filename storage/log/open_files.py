"""A bounded set of open files. With thousands of segments, one descriptor each would run the process out of them."""

import contextlib
import itertools
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from storage.disk.port import Buffer, Disk, File
from storage.log.write_behind import WriteBehindBudget, WriteBehindFile


class _Entry:
    __slots__ = ("file", "is_forgotten", "users")

    def __init__(self, file: WriteBehindFile) -> None:
        self.file = file
        self.users = 0
        self.is_forgotten = False


class OpenFiles:
    """Files by path; the least recently used one is closed when there are more than `limit`, unless it is in use.

    The lock is where I/O threads and the event loop meet: both use files, and neither waits for a disk while holding
    it. Small writes gather in memory, `write_behind_bytes_max` over all files (`storage.log.write_behind`).
    """

    def __init__(self, disk: Disk, *, limit: int, write_behind_bytes_max: int) -> None:
        self._disk = disk
        self._limit = limit
        self._budget = WriteBehindBudget(write_behind_bytes_max)
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def gathered_bytes(self) -> int:
        """Bytes of writes that have not reached their files yet."""
        return self._budget.held_bytes

    @contextmanager
    def use(self, path: str) -> Iterator[WriteBehindFile]:
        """In an I/O thread: the file at `path`, opened if need be; raises FileNotFoundError."""
        entry = self._acquire(path)
        try:
            yield entry.file
        finally:
            self._release(entry)
            self._evict()

    def read_cached(self, path: str, position: int, length: int) -> bytes | None:
        """What `File.read_cached` says, if the file is open; otherwise None. Never waits for a device."""
        with self._lock:
            entry = self._entries.get(path)
            if entry is None:
                return None
            entry.users += 1
        try:
            return entry.file.read_cached(position, length)
        finally:
            self._release(entry)

    def write_to_memory(self, path: str, position: int, size_bytes: int, buffers: Sequence[Buffer]) -> bool:
        """What `WriteBehindFile.write_to_memory` says, if the file is open; else False. Never waits for a device."""
        with self._lock:
            entry = self._entries.get(path)
            if entry is None:
                return False
            self._entries.move_to_end(path)
            entry.users += 1
        try:
            return entry.file.write_to_memory(position, size_bytes, buffers)
        finally:
            self._release(entry)

    def create(self, path: str) -> None:
        """A new empty file. One that a crash or a refused append left there is emptied."""
        try:
            file = self._disk.create(path)
        except FileExistsError:
            with self.use(path) as existing:
                existing.truncate(0)
            return
        with self._lock:
            self._entries[path] = self._entry(file)
        self._evict()

    def forget(self, path: str) -> None:
        """Close the file as soon as nobody uses it: it is about to be removed."""
        with self._lock:
            entry = self._entries.pop(path, None)
            if entry is None:
                return
            entry.is_forgotten = True
            idle = entry.users == 0
        if idle:
            entry.file.close()

    def close(self) -> None:
        for path in list(self._entries):
            self.forget(path)

    def _acquire(self, path: str) -> _Entry:
        with self._lock:
            entry = self._entries.get(path)
            if entry is not None:
                self._entries.move_to_end(path)
                entry.users += 1
                return entry
        file = self._disk.open(path)
        surplus = None
        with self._lock:
            entry = self._entries.get(path)
            if entry is None:
                entry = self._entries[path] = self._entry(file)
            else:  # another thread was faster
                surplus = file
            entry.users += 1
        if surplus is not None:
            surplus.close()
        return entry

    def _release(self, entry: _Entry) -> None:
        with self._lock:
            entry.users -= 1
            close = entry.is_forgotten and entry.users == 0
        if close:
            entry.file.close()

    def _entry(self, file: File) -> _Entry:
        return _Entry(WriteBehindFile(file, self._budget))

    def _evict(self) -> None:
        """In an I/O thread. A file whose gathered writes fail to reach it stays open, with them: the next sync meets
        the failure, and says so."""
        if len(self._entries) <= self._limit:
            return
        closing: list[tuple[str, _Entry]] = []
        with self._lock:
            surplus = len(self._entries) - self._limit
            idle = ((path, entry) for path, entry in self._entries.items() if not entry.users)
            for path, entry in list(itertools.islice(idle, max(surplus, 0))):
                entry.users += 1
                closing.append((path, entry))
        for path, entry in closing:
            with contextlib.suppress(OSError):
                entry.file.flush()
            with self._lock:
                entry.users -= 1
                is_idle = entry.users == 0
                if is_idle and not entry.is_forgotten and not entry.file.gathered_bytes:
                    del self._entries[path]
                    entry.is_forgotten = True
            if is_idle and entry.is_forgotten:
                entry.file.close()
