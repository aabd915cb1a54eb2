"""The disk port. Synchronous on purpose: the log's code is plain Python that a property test can drive; whoever calls
it from the event loop does so through an `IoExecutor`.

What a power loss does, and the simulated disk reproduces: written bytes that were not synced may be kept, dropped or
torn; a created, renamed or removed name may come back as before unless its directory was synced; a synced file keeps
its bytes, and nothing is promised about a file whose sync failed.
"""

from collections.abc import Sequence
from typing import Protocol

Buffer = bytes | bytearray | memoryview


class DiskRefusedError(OSError):
    """Not now: nothing is wrong with the disk, and what is on it is as known as before."""


class DiskFullError(DiskRefusedError):
    """There is no space left (ENOSPC, EDQUOT). What was to be written may be there in part."""


class ShortageError(DiskRefusedError):
    """The process or the machine has no descriptor or no memory to open or look up a name with (EMFILE, ENFILE,
    ENOMEM, EAGAIN). Nothing was changed."""


class DiskFailedError(OSError):
    """The device failed (EIO). After a failed sync nothing is known of what was written since the last one."""


class FileLockedError(OSError):
    """Another process holds the lock."""


class File(Protocol):
    """An open file. Positions and lengths are in bytes."""

    def size(self) -> int: ...

    def read(self, position: int, length: int) -> bytes:
        """Up to `length` bytes; fewer at the end of the file only."""
        ...

    def read_cached(self, position: int, length: int) -> bytes | None:
        """As `read`, if that needs no device; None if it might (the caller then reads in a thread)."""
        ...

    def write(self, position: int, buffers: Sequence[Buffer]) -> None:
        """Write all buffers one behind the other from `position` on; raises DiskFullError, DiskFailedError."""
        ...

    def truncate(self, size: int) -> None: ...

    def preallocate(self, size: int) -> None:
        """Give the file `size` zeroed bytes whose later overwriting cannot run out of space."""
        ...

    def sync(self) -> None:
        """Make content and size durable (fdatasync); raises DiskFailedError."""
        ...

    def close(self) -> None: ...


class Disk(Protocol):
    """The file system below one data directory; paths are relative to it, with `/`."""

    def open(self, path: str) -> File:
        """An existing file for reading and writing; raises FileNotFoundError, ShortageError."""
        ...

    def create(self, path: str) -> File:
        """A new empty file; raises FileExistsError, DiskFullError, ShortageError."""
        ...

    def exists(self, path: str) -> bool: ...

    def list_directory(self, path: str) -> list[str]:
        """Names in the directory, sorted; raises FileNotFoundError, ShortageError."""
        ...

    def make_directory(self, path: str) -> None:
        """With its parents; fine if it exists. Not durable before its parents are synced."""
        ...

    def rename(self, source: str, target: str) -> None:
        """Atomic; replaces `target`."""
        ...

    def remove(self, path: str) -> None: ...

    def remove_directory(self, path: str) -> None:
        """An empty one."""
        ...

    def sync_directory(self, path: str) -> None:
        """Make the names in the directory durable; raises DiskFailedError, and ShortageError where nothing was tried
        (never in the data directory itself or directly below it, once that was synced before: what is renamed there
        decides, and a decision must not hang)."""
        ...

    def free_bytes(self) -> int: ...

    def lock(self, path: str) -> None:
        """Hold an exclusive lock on the file until the process ends; fine if this object holds it already.

        Raises FileLockedError."""
        ...
