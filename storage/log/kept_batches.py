"""What the journal has of a log whose directory is not its own: kept in a file until the log is in its place again.

The journal itself is needed by all logs and cannot wait for one. Bounded by it: a log takes nothing while it is
refused, so this is what one journal held at the most.
"""

from collections.abc import Iterable, Iterator

from acklog.wire.batch import BatchCorruptError, verify
from storage.disk.port import Disk, DiskRefusedError, File
from storage.log.batch_scanner import BatchScanner
from storage.log.checkpoint import TEMPORARY_SUFFIX
from storage.log.journal_scan import JournalCorruptError
from storage.log.keys import LogKey

KEPT_DIRECTORY = "kept-batches"


def kept_path(key: LogKey) -> str:
    return f"{KEPT_DIRECTORY}/{key}"


class KeptBatches:
    """The file while it is written. `end` is behind the last batch in it, 0 while there is none."""

    def __init__(self, disk: Disk, key: LogKey) -> None:
        self._disk = disk
        self._key = key
        self._path = kept_path(key)
        self._file: File | None = None
        self._size_bytes = 0
        self.end = 0

    def add(self, batches: memoryview, *, above: int) -> None:
        """What is not wholly below the offset `above`; raises JournalCorruptError."""
        at = 0
        while at < len(batches):
            try:
                header = verify(batches, at)
            except BatchCorruptError as error:
                raise JournalCorruptError(f"an entry of log {self._key} is damaged: {error.reason}") from error
            if header.next_offset > above:
                self._write(batches[at : at + header.length])
                self.end = header.next_offset
            at += header.length

    def _write(self, batch: memoryview) -> None:
        if self._file is None:
            self._disk.make_directory(KEPT_DIRECTORY)
            self._disk.sync_directory("")
            temporary = self._path + TEMPORARY_SUFFIX
            if self._disk.exists(temporary):
                self._disk.remove(temporary)
            self._file = self._disk.create(temporary)
        self._file.write(self._size_bytes, [batch])
        self._size_bytes += len(batch)

    def finish(self) -> None:
        """What was added is durable in its place."""
        if self._file is not None:
            self._file.sync()
            self._file.close()
            self._disk.rename(self._path + TEMPORARY_SUFFIX, self._path)
            self._disk.sync_directory(KEPT_DIRECTORY)


def kept_problem(disk: Disk, key: LogKey, *, end: int) -> str:
    """Why the file does not lead up to the offset `end`, "" where it does. Raises DiskRefusedError."""
    found = 0
    try:
        for batch in read_kept(disk, key):
            found = verify(batch).next_offset
    except DiskRefusedError:
        raise
    except (BatchCorruptError, OSError) as error:
        return f"{kept_path(key)}, which has what was acknowledged last, cannot be read: {error}"
    return "" if found == end else f"{kept_path(key)}, which led up to {end}, leads up to {found}"


def read_kept(disk: Disk, key: LogKey) -> Iterator[memoryview]:
    """Batch by batch; raises BatchCorruptError, OSError."""
    file = disk.open(kept_path(key))
    try:
        scanner = BatchScanner(file, position=0, size=file.size())
        for header, position in scanner:
            yield memoryview(file.read(position, header.length))
        if scanner.problem is not None:
            raise BatchCorruptError(scanner.problem)
    finally:
        file.close()


def forget_kept(disk: Disk, key: LogKey) -> None:
    """Remove the file, durably, if there is one."""
    if disk.exists(kept_path(key)):
        disk.remove(kept_path(key))
        disk.sync_directory(KEPT_DIRECTORY)


def forget_all_kept(disk: Disk, *, needed: Iterable[LogKey]) -> None:
    """Remove what no log needs any more: what was replayed is durable in its segments."""
    if not disk.exists(KEPT_DIRECTORY):
        return
    names = {str(key) for key in needed}
    for name in disk.list_directory(KEPT_DIRECTORY):
        if name not in names:
            disk.remove(f"{KEPT_DIRECTORY}/{name}")
    disk.sync_directory(KEPT_DIRECTORY)
