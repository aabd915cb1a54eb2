"""Small writes at the end of a file gather in memory and reach it together.

Segments are written for later: what is acknowledged rests on the journal until a sync covers it (rule R7). A write for
each batch of each partition would cost every round of the group commit more than its one sync, above all in handing
the interpreter from thread to thread. Readers see no difference. A crash loses what had gathered, as a power loss does
with what was not synced, and recovery takes it from the journal.
"""

import threading
from collections.abc import Sequence

from storage.disk.port import Buffer, File

FILE_BYTES_MAX = 64 * 1024  # where a write costs no more than what it saves


class WriteBehindBudget:
    """What all files of a store may hold in memory together; counted by I/O threads, so under a lock."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._held_bytes = 0
        self._lock = threading.Lock()

    @property
    def held_bytes(self) -> int:
        return self._held_bytes

    def has_room(self, size_bytes: int) -> bool:
        return self._held_bytes + size_bytes <= self.limit_bytes

    def take(self, size_bytes: int) -> bool:
        """Count `size_bytes` (negative: give back); False if it is more than there should be."""
        with self._lock:
            self._held_bytes += size_bytes
            return self._held_bytes <= self.limit_bytes


class WriteBehindFile:
    """`storage.disk.port.File` around another one. `_gathered` goes to `_position` of the file, back to back.

    One I/O thread writes at a time, another one may flush or sync meanwhile, and all others and the event loop may
    read. Readers never wait for the device: `_lock` is held for memory only, and what is being flushed stays readable
    from memory until it is in the file.
    """

    def __init__(self, file: File, budget: WriteBehindBudget) -> None:
        self._file = file
        self._budget = budget
        self._flushing = threading.Lock()  # held while the file itself is changed
        self._lock = threading.Lock()
        self._position = 0
        self._gathered: list[Buffer] = []
        self._gathered_bytes = 0

    @property
    def gathered_bytes(self) -> int:
        return self._gathered_bytes

    def size(self) -> int:
        return max(self._end(), self._file.size()) if self._gathered else self._file.size()

    def write(self, position: int, buffers: Sequence[Buffer]) -> None:
        """As the port says; a DiskFullError may be about earlier writes, too: `cut` then takes this one back."""
        if self._gathered and position != self._end():
            self.flush()
        is_affordable = self._gather(position, buffers)
        if self._gathered_bytes >= FILE_BYTES_MAX or not is_affordable:
            self.flush()

    def write_to_memory(self, position: int, size_bytes: int, buffers: Sequence[Buffer]) -> bool:
        """As `write` of `size_bytes`, if that needs no disk; otherwise False, and nothing is written."""
        if self._gathered_bytes + size_bytes >= FILE_BYTES_MAX or not self._budget.has_room(size_bytes):
            return False
        if self._gathered and position != self._end():
            return False
        self._gather(position, buffers)
        return True

    def _gather(self, position: int, buffers: Sequence[Buffer]) -> bool:
        """Keep the buffers in memory; False if all files together have more there than they should."""
        # A view would keep all that it was cut from in memory.
        kept = [bytes(buffer) if isinstance(buffer, memoryview) else buffer for buffer in buffers]
        size_bytes = sum(map(len, kept))
        with self._lock:
            if not self._gathered:
                self._position = position
            self._gathered += kept
            self._gathered_bytes += size_bytes
        return self._budget.take(size_bytes)

    def flush(self) -> None:
        """Write what has gathered; after a failure it is still gathered."""
        with self._flushing:
            with self._lock:
                buffers = list(self._gathered)
            if not buffers:
                return
            self._file.write(self._position, buffers)
            size_bytes = sum(map(len, buffers))
            with self._lock:
                del self._gathered[: len(buffers)]
                self._position += size_bytes
                self._gathered_bytes -= size_bytes
        self._budget.take(-size_bytes)

    def read(self, position: int, length: int) -> bytes:
        tail_at, tail = self._tail(position, length)
        if tail_at <= position:
            return tail
        return self._file.read(position, min(length, tail_at - position)) + tail

    def read_cached(self, position: int, length: int) -> bytes | None:
        tail_at, tail = self._tail(position, length)
        if tail_at <= position:
            return tail
        head = self._file.read_cached(position, min(length, tail_at - position))
        return None if head is None else head + tail

    def truncate(self, size: int) -> None:
        with self._flushing:
            self._file.truncate(self._forget_from(size))

    def cut(self, size: int) -> None:
        """As `truncate`, durably, without writing what has gathered below `size`: there may be no space for it."""
        with self._flushing:
            self._file.truncate(self._forget_from(size))
            self._file.sync()

    def preallocate(self, size: int) -> None:
        self._file.preallocate(size)

    def sync(self) -> None:
        """Raises DiskFullError where what has gathered finds no space, DiskFailedError."""
        self.flush()
        self._file.sync()

    def close(self) -> None:
        """What has gathered is dropped: whoever needs it syncs first."""
        self._forget_from(0)
        self._file.close()

    def _end(self) -> int:
        with self._lock:
            return self._position + self._gathered_bytes

    def _tail(self, position: int, length: int) -> tuple[int, bytes]:
        """Where the gathered bytes begin, and those that are asked for. Beyond all positions if there are none."""
        with self._lock:
            if not self._gathered or position + length <= self._position:
                return position + length, b""
            begin = self._position
            buffers = list(self._gathered)
        skip = max(position - begin, 0)
        wanted = position + length - max(position, begin)
        parts: list[bytes | memoryview] = []
        for buffer in buffers:
            if skip >= len(buffer):
                skip -= len(buffer)
                continue
            part = memoryview(buffer)[skip : skip + wanted]
            parts.append(part)
            skip = 0
            wanted -= len(part)
            if not wanted:
                break
        return begin, b"".join(parts)

    def _forget_from(self, size: int) -> int:
        """Drop what has gathered from `size` on; where the file itself must end then. A flush that failed may have
        left something behind that."""
        forgotten_bytes = 0
        with self._lock:
            file_size = min(size, self._position) if self._gathered else size
            while self._gathered and self._position + self._gathered_bytes > size:
                last = self._gathered.pop()
                kept_bytes = max(size - (self._position + self._gathered_bytes - len(last)), 0)
                forgotten_bytes += len(last) - kept_bytes
                self._gathered_bytes -= len(last) - kept_bytes
                if kept_bytes:
                    self._gathered.append(bytes(memoryview(last)[:kept_bytes]))
        self._budget.take(-forgotten_bytes)
        return file_size
