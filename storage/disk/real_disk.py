"""The disk port on a real file system (Linux)."""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from storage.disk.port import Buffer, DiskFailedError, DiskFullError, FileLockedError, ShortageError

BUFFERS_PER_WRITE_MAX = 1024  # Linux: IOV_MAX
ZEROS_PER_WRITE_BYTES = 1024 * 1024

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_FAILED = frozenset({errno.EIO, errno.EROFS})
_SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})
_NOT_CACHED = frozenset({errno.EAGAIN, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
_ZEROS = bytes(ZEROS_PER_WRITE_BYTES)


def _untold(_seconds: float) -> None:
    """Nobody wants to know how long a sync took."""


class _Descriptor:
    """A file descriptor that is closed with its last reference.

    An operation in a thread holds a reference, so a `close` meanwhile cannot let it read from, or write to, whatever
    file the operating system gives the same number to next.
    """

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


class RealFile:
    """`storage.disk.port.File`. May be used from several threads as long as writes do not overlap."""

    def __init__(self, path: str, number: int, on_sync: Callable[[float], None] = _untold) -> None:
        self._path = path
        self._on_sync = on_sync
        self._open_descriptor: _Descriptor | None = _Descriptor(number)

    def _descriptor(self) -> _Descriptor:
        descriptor = self._open_descriptor
        if descriptor is None:
            raise ValueError(f"{self._path} is closed")
        return descriptor

    def size(self) -> int:
        descriptor = self._descriptor()
        with _data_errors(self._path):
            return os.fstat(descriptor.number).st_size

    def read(self, position: int, length: int) -> bytes:
        descriptor = self._descriptor()
        with _data_errors(self._path):
            first = os.pread(descriptor.number, length, position)
            if len(first) == length or not first:
                return first
            parts = [first]
            missing = length - len(first)
            while missing:
                part = os.pread(descriptor.number, missing, position + length - missing)
                if not part:
                    break
                parts.append(part)
                missing -= len(part)
            return b"".join(parts)

    def read_cached(self, position: int, length: int) -> bytes | None:
        descriptor = self._descriptor()
        target = bytearray(length)
        try:
            count = os.preadv(descriptor.number, [target], position, os.RWF_NOWAIT)
        except OSError as error:
            if error.errno in _NOT_CACHED:
                return None
            raise DiskFailedError(error.errno, error.strerror, self._path) from error
        if count == length:
            return bytes(target)
        if position + count < self.size():  # the rest is on the device
            return None
        return bytes(memoryview(target)[:count])

    def write(self, position: int, buffers: Sequence[Buffer]) -> None:
        descriptor = self._descriptor()
        with _data_errors(self._path):
            for first in range(0, len(buffers), BUFFERS_PER_WRITE_MAX):
                position += _write_fully(descriptor, position, buffers[first : first + BUFFERS_PER_WRITE_MAX])

    def truncate(self, size: int) -> None:
        descriptor = self._descriptor()
        with _data_errors(self._path):
            os.ftruncate(descriptor.number, size)

    def preallocate(self, size: int) -> None:
        """As the port says; the file then has exactly `size` bytes.

        Reserving the space first fails before anything is written. The zeros are really written, because a reserved
        extent that was never written still costs a change of metadata at the first sync behind each write into it.
        They are synced piece by piece: the device would have all of them before the next sync of anybody else.
        """
        descriptor = self._descriptor()
        with _data_errors(self._path):
            size_before = os.fstat(descriptor.number).st_size
            try:
                if size:
                    os.posix_fallocate(descriptor.number, 0, size)
            except OSError:
                os.ftruncate(descriptor.number, size_before)
                raise
            os.ftruncate(descriptor.number, size)
        for position in range(0, size, ZEROS_PER_WRITE_BYTES):
            with _data_errors(self._path):
                _write_fully(descriptor, position, [memoryview(_ZEROS)[: size - position]])
            _sync(os.fdatasync, descriptor.number, self._path)

    def sync(self) -> None:
        descriptor = self._descriptor()
        begin = time.perf_counter()
        _sync(os.fdatasync, descriptor.number, self._path)
        self._on_sync(time.perf_counter() - begin)

    def close(self) -> None:
        self._open_descriptor = None


class RealDisk:
    """`storage.disk.port.Disk` below the directory `root`, which is made if need be. `on_sync` is told how many seconds
    each sync of a file took, in the thread that has done it."""

    def __init__(self, root: str | os.PathLike[str], *, on_sync: Callable[[float], None] = _untold) -> None:
        self._on_sync = on_sync
        self._root = os.path.abspath(os.fspath(root))
        self._locks: dict[str, _Descriptor] = {}
        _make_durable_directory(self._root)
        self._held: dict[str, _Descriptor] = {self._root: _open_directory(self._root)}

    def _full_path(self, path: str) -> str:
        parts = [part for part in path.split("/") if part not in {"", "."}]
        if path.startswith("/") or ".." in parts:
            raise ValueError(f"{path!r} leaves the data directory")
        return os.path.join(self._root, *parts)

    def open(self, path: str) -> RealFile:
        full_path = self._full_path(path)
        with _name_errors():
            return RealFile(full_path, os.open(full_path, os.O_RDWR | os.O_CLOEXEC), self._on_sync)

    def create(self, path: str) -> RealFile:
        full_path = self._full_path(path)
        with _name_errors():
            number = os.open(full_path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640)
        return RealFile(full_path, number, self._on_sync)

    def exists(self, path: str) -> bool:
        return os.path.lexists(self._full_path(path))

    def list_directory(self, path: str) -> list[str]:
        with _name_errors():
            return sorted(os.listdir(self._full_path(path)))

    def make_directory(self, path: str) -> None:
        with _name_errors():
            os.makedirs(self._full_path(path), mode=0o750, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        with _name_errors():
            os.rename(self._full_path(source), self._full_path(target))

    def remove(self, path: str) -> None:
        with _name_errors():
            os.unlink(self._full_path(path))

    def remove_directory(self, path: str) -> None:
        full_path = self._full_path(path)
        with _name_errors():
            os.rmdir(full_path)
        self._held.pop(full_path, None)

    def sync_directory(self, path: str) -> None:
        full_path = self._full_path(path)
        descriptor = self._held.get(full_path) or _open_directory(full_path)
        if os.path.dirname(full_path) == self._root:
            self._held[full_path] = descriptor
        _sync(os.fsync, descriptor.number, full_path)

    def free_bytes(self) -> int:
        with _name_errors():
            figures = os.statvfs(self._root)
        return figures.f_bavail * figures.f_frsize

    def lock(self, path: str) -> None:
        full_path = self._full_path(path)
        if full_path in self._locks:
            return
        with _name_errors():
            descriptor = _Descriptor(os.open(full_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640))
        try:
            fcntl.flock(descriptor.number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FileLockedError(error.errno, "another process holds the lock", full_path) from error
        self._locks[full_path] = descriptor

    def close(self) -> None:
        """Give back the locks; open files stay open."""
        self._locks.clear()


def _write_fully(descriptor: _Descriptor, position: int, buffers: Sequence[Buffer]) -> int:
    """Write at most BUFFERS_PER_WRITE_MAX buffers; returns how many bytes they have."""
    total = sum(memoryview(buffer).nbytes for buffer in buffers)
    if not total:
        return 0
    written = os.pwritev(descriptor.number, buffers, position)
    while written < total:  # a signal, a nearly full disk, or more than the 2 GiB that one call takes
        rest = _skip(buffers, written)
        count = os.pwritev(descriptor.number, rest, position + written)
        if count <= 0:
            raise OSError(errno.EIO, "a write made no progress")
        written += count
    return total


def _skip(buffers: Sequence[Buffer], count: int) -> list[memoryview]:
    """The buffers without their first `count` bytes."""
    rest: list[memoryview] = []
    for buffer in buffers:
        view = memoryview(buffer).cast("B")
        if count >= len(view):
            count -= len(view)
        else:
            rest.append(view[count:])
            count = 0
    return rest


def _make_durable_directory(path: str) -> None:
    """Make the directory and its parents, each durable in its own."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    _make_durable_directory(parent)
    with _name_errors():
        os.makedirs(path, mode=0o750, exist_ok=True)
    descriptor = _open_directory(parent)
    _sync(os.fsync, descriptor.number, parent)


def _open_directory(full_path: str) -> _Descriptor:
    with _name_errors():
        return _Descriptor(os.open(full_path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))


def _sync(synchronise: Callable[[int], None], number: int, path: str) -> None:
    """Whatever the reason, a failed sync says that written data may be gone: never a mere "disk full"."""
    try:
        synchronise(number)
    except OSError as error:
        raise DiskFailedError(error.errno, error.strerror, path) from error


@contextmanager
def _data_errors(path: str) -> Iterator[None]:
    """Errors of reading and writing an open file: full, or failed."""
    try:
        yield
    except OSError as error:
        kind = DiskFullError if error.errno in _FULL else DiskFailedError
        raise kind(error.errno, error.strerror, path) from error


@contextmanager
def _name_errors() -> Iterator[None]:
    """Errors of names: what a caller may expect (no such file, exists already, not empty) passes as it is."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFullError(error.errno, error.strerror, error.filename) from error
        if error.errno in _SHORT:
            raise ShortageError(error.errno, error.strerror, error.filename) from error
        if error.errno in _FAILED:
            raise DiskFailedError(error.errno, error.strerror, error.filename) from error
        raise
