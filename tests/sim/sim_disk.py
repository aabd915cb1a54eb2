"""A disk in memory that fails like a real one: power losses, full disks, device errors, failed syncs, rot.

One object outlives the processes that use it. `power_loss` and `kill` end the process: its locks are gone and its open
files unusable; the next process opens its files anew on the same object.
"""

import errno
import os
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from storage.disk.port import Buffer, DiskFailedError, DiskFullError, FileLockedError
from tests.sim.sim_disk_content import FileContent, Truncation, Write
from tests.sim.sim_disk_names import NameTree, Node, path_parts

CAPACITY_BYTES_DEFAULT = 1 << 40


class SimulatedPowerLoss(BaseException):
    """The machine, or the process, ended here. Not an Exception, so that no code under test can outlive it."""


class OperationKind(Enum):
    READ = "read"
    LOOK_UP = "look up"
    WRITE = "write"
    TRUNCATE = "truncate"
    PREALLOCATE = "preallocate"
    SYNC = "sync"
    CREATE = "create"
    RENAME = "rename"
    REMOVE = "remove"
    MAKE_DIRECTORY = "make directory"
    REMOVE_DIRECTORY = "remove directory"
    SYNC_DIRECTORY = "sync directory"
    LOCK = "lock"


_ONLY_LOOKS = frozenset({OperationKind.READ, OperationKind.LOOK_UP, OperationKind.LOCK})
_SYNCS = frozenset({OperationKind.SYNC, OperationKind.SYNC_DIRECTORY})


@dataclass(frozen=True, slots=True)
class DiskOperation:
    kind: OperationKind
    path: str


class SimDisk:
    """`storage.disk.port.Disk`.

    `operations` counts changes and syncs (what `crash_after_operations` counts too), `syncs` the syncs among them.
    `before_operation` is called before each operation, reads and look-ups included, and may raise.
    `fails` says which operations the device fails: syncs, reads and writes then raise DiskFailedError.
    `misses_cache` says when `read_cached` must answer None.
    `lock` takes every caller for a process of its own: a lock is free again after `power_loss` or `kill` only.
    """

    def __init__(self, *, seed: int = 0, capacity_bytes: int = CAPACITY_BYTES_DEFAULT) -> None:
        self.capacity_bytes = capacity_bytes
        self.before_operation: Callable[[DiskOperation], None] | None = None
        self.fails: Callable[[DiskOperation], bool] | None = None
        self.misses_cache: Callable[[DiskOperation], bool] | None = None
        self.operations = 0
        self.syncs = 0
        self._random = random.Random(f"disk {seed}")
        self._names = NameTree()
        self._locked: set[str] = set()
        self._life = 0
        self._crash_at: int | None = None
        self._is_crashed = False
        self._fail_next: dict[OperationKind, int] = {}
        self._guard = threading.RLock()
        self._writing: dict[int, list[tuple[int, int]]] = {}

    # --- faults ---

    def crash_after_operations(self, count: int) -> None:
        """`count` more changes and syncs take effect; the next one ends the process somewhere in its middle."""
        self._crash_at = self.operations + count

    def crash(self) -> None:
        """From now on every operation raises SimulatedPowerLoss, until `power_loss` or `kill`."""
        self._is_crashed = True

    def fail_next_sync(self, times: int = 1) -> None:
        self._fail_next[OperationKind.SYNC] = times

    def fail_next_sync_directory(self, times: int = 1) -> None:
        self._fail_next[OperationKind.SYNC_DIRECTORY] = times

    def fail_next_write(self, times: int = 1) -> None:
        self._fail_next[OperationKind.WRITE] = times

    def fail_next_read(self, times: int = 1) -> None:
        self._fail_next[OperationKind.READ] = times

    def bit_rot(self, path: str, position: int, bit: int) -> None:
        """Flip one bit of a file, wherever its byte is held."""
        with self._guard:
            _content(self._names.file(path)).flip_bit(position, bit)

    def power_loss(self, rng: random.Random) -> None:
        """Every unsynced write is kept, dropped or torn and every unsynced name kept or undone, each on its own."""
        with self._guard:
            for node in self._names.files().values():
                _content(node).lose_power(rng)
            self._names.lose_power(rng)
            for node in self._names.files().values():  # names that came back
                _content(node).lose_power(rng)
            self._begin_life()

    def kill(self) -> None:
        """The process ends, the machine goes on: everything written is still there, synced or not."""
        with self._guard:
            self._begin_life()

    def _begin_life(self) -> None:
        self._life += 1
        self._locked.clear()
        self._writing.clear()
        self._is_crashed = False
        self._crash_at = None

    # --- evidence ---

    def files(self) -> dict[str, bytes]:
        """What a reader would see of every file, by path."""
        with self._guard:
            return {path: bytes(_content(node).current) for path, node in self._names.files().items()}

    @property
    def used_bytes(self) -> int:
        return sum(len(_content(node).current) for node in self._names.file_nodes())

    # --- storage.disk.port.Disk ---

    def open(self, path: str) -> "SimFile":
        with self._operation(OperationKind.LOOK_UP, path):
            return SimFile(self, self._names.file(path), path)

    def create(self, path: str) -> "SimFile":
        with self._operation(OperationKind.CREATE, path):
            return SimFile(self, self._names.create_file(path), path)

    def exists(self, path: str) -> bool:
        with self._operation(OperationKind.LOOK_UP, path):
            return self._names.find(path) is not None

    def list_directory(self, path: str) -> list[str]:
        with self._operation(OperationKind.LOOK_UP, path):
            return sorted(self._names.directory(path).current)

    def make_directory(self, path: str) -> None:
        with self._operation(OperationKind.MAKE_DIRECTORY, path):
            self._names.make_directory(path)

    def rename(self, source: str, target: str) -> None:
        with self._operation(OperationKind.RENAME, source):
            self._names.rename(source, target)

    def remove(self, path: str) -> None:
        with self._operation(OperationKind.REMOVE, path):
            self._names.remove_file(path)

    def remove_directory(self, path: str) -> None:
        with self._operation(OperationKind.REMOVE_DIRECTORY, path):
            self._names.remove_directory(path)

    def sync_directory(self, path: str) -> None:
        operation = DiskOperation(OperationKind.SYNC_DIRECTORY, path)
        with self._operation(operation.kind, path):
            directory = self._names.directory(path)
            if self._is_failing(operation):
                self._names.fail_sync_directory(directory, self._random)
                raise _device_error(path)
            self._names.sync_directory(directory)

    def free_bytes(self) -> int:
        with self._operation(OperationKind.LOOK_UP, ""):
            return max(0, self.capacity_bytes - self.used_bytes)

    def lock(self, path: str) -> None:
        with self._operation(OperationKind.LOCK, path):
            if self._names.find(path) is None:
                self._names.create_file(path)
            key = "/".join(path_parts(path))
            if key in self._locked:
                raise FileLockedError(errno.EWOULDBLOCK, "another process holds the lock", path)
            self._locked.add(key)

    # --- one operation ---

    @contextmanager
    def _operation(self, kind: OperationKind, path: str) -> Iterator[None]:
        with self._guard:
            is_last = self.begin(DiskOperation(kind, path))
            if is_last and (kind in _SYNCS or self._random.random() < 0.5):
                raise SimulatedPowerLoss
            yield
            if is_last:
                raise SimulatedPowerLoss

    def begin(self, operation: DiskOperation) -> bool:
        """Count the operation; True if the process ends in its middle. Raises SimulatedPowerLoss after the end."""
        if self._is_crashed:
            raise SimulatedPowerLoss
        if self.before_operation is not None:
            try:
                self.before_operation(operation)
            except SimulatedPowerLoss:
                self._is_crashed = True
                raise
        if operation.kind in _ONLY_LOOKS:
            return False
        if self._crash_at is not None and self.operations >= self._crash_at:
            self._is_crashed = True
            return True
        self.operations += 1
        self.syncs += operation.kind in _SYNCS
        return False

    def _is_failing(self, operation: DiskOperation) -> bool:
        left = self._fail_next.get(operation.kind, 0)
        if left:
            self._fail_next[operation.kind] = left - 1
            return True
        return self.fails is not None and self.fails(operation)

    # --- what SimFile does ---

    def read_file(self, node: Node, path: str, position: int, length: int) -> bytes:
        operation = DiskOperation(OperationKind.READ, path)
        with self._operation(operation.kind, path):
            if self._is_failing(operation):
                raise _device_error(path)
            return bytes(_content(node).current[position : position + length])

    def is_cached(self, path: str) -> bool:
        return self.misses_cache is None or not self.misses_cache(DiskOperation(OperationKind.READ, path))

    def write_file(self, node: Node, path: str, position: int, data: bytes) -> None:
        operation = DiskOperation(OperationKind.WRITE, path)
        with self._exclusive_range(node, path, position, position + len(data)), self._guard:
            is_last = self.begin(operation)
            content = _content(node)
            if is_last:
                data = data[: self._random.randint(0, len(data))]
            elif self._is_failing(operation):
                content.change(Write(position, data[: self._random.randint(0, len(data))]))
                raise _device_error(path)
            end_max = len(content.current) + max(0, self.capacity_bytes - self.used_bytes)
            kept = data[: max(0, end_max - position)]
            if kept:
                content.change(Write(position, kept))
            if is_last:
                raise SimulatedPowerLoss
            if len(kept) < len(data):
                raise _full_error(path)

    def truncate_file(self, node: Node, path: str, size: int) -> None:
        with self._operation(OperationKind.TRUNCATE, path):
            _content(node).change(Truncation(size))

    def preallocate_file(self, node: Node, path: str, size: int) -> None:
        with self._operation(OperationKind.PREALLOCATE, path):
            content = _content(node)
            if size - len(content.current) > self.capacity_bytes - self.used_bytes:
                raise _full_error(path)
            content.change(Truncation(size))
            content.change(Write(0, bytes(size)))

    def sync_file(self, node: Node, path: str) -> None:
        operation = DiskOperation(OperationKind.SYNC, path)
        with self._operation(operation.kind, path):
            if self._is_failing(operation):
                _content(node).fail_sync(self._random)
                raise _device_error(path)
            _content(node).sync()

    @property
    def life(self) -> int:
        """Which process uses the disk now."""
        return self._life

    @contextmanager
    def _exclusive_range(self, node: Node, path: str, start: int, end: int) -> Iterator[None]:
        """Two writes to the same bytes at the same time have no defined outcome: whoever does that is wrong."""
        with self._guard:
            ranges = self._writing.setdefault(node.serial, [])
            for other_start, other_end in ranges:
                if start < other_end and other_start < end:
                    raise AssertionError(f"{path}: writes to [{start}, {end}) and [{other_start}, {other_end}) overlap")
            ranges.append((start, end))
        try:
            yield
        finally:
            with self._guard:
                ranges.remove((start, end))


class SimFile:
    """`storage.disk.port.File`; unusable once the process that opened it has ended."""

    def __init__(self, disk: SimDisk, node: Node, path: str) -> None:
        self._disk = disk
        self._node = node
        self._path = path
        self._life = disk.life
        self._is_closed = False

    def _check_open(self) -> None:
        if self._life != self._disk.life:
            raise SimulatedPowerLoss(f"{self._path} was opened by a process that has ended")
        if self._is_closed:
            raise ValueError(f"{self._path} is closed")

    def size(self) -> int:
        self._check_open()
        return len(_content(self._node).current)

    def read(self, position: int, length: int) -> bytes:
        self._check_open()
        return self._disk.read_file(self._node, self._path, position, length)

    def read_cached(self, position: int, length: int) -> bytes | None:
        self._check_open()
        if not self._disk.is_cached(self._path):
            return None
        return self._disk.read_file(self._node, self._path, position, length)

    def write(self, position: int, buffers: Sequence[Buffer]) -> None:
        self._check_open()
        self._disk.write_file(self._node, self._path, position, b"".join(buffers))

    def truncate(self, size: int) -> None:
        self._check_open()
        self._disk.truncate_file(self._node, self._path, size)

    def preallocate(self, size: int) -> None:
        self._check_open()
        self._disk.preallocate_file(self._node, self._path, size)

    def sync(self) -> None:
        self._check_open()
        self._disk.sync_file(self._node, self._path)

    def close(self) -> None:
        self._is_closed = True


def _content(node: Node) -> FileContent:
    assert node.content is not None
    return node.content


def _device_error(path: str) -> DiskFailedError:
    return DiskFailedError(errno.EIO, os.strerror(errno.EIO), path)


def _full_error(path: str) -> DiskFullError:
    return DiskFullError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
