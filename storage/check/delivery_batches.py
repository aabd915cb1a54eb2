"""The batches of a delivery log that lies still: what its segments hold, then what only the journal has."""

from collections.abc import Iterator

from acklog.wire.batch import BatchHeader, opaque_payload, verify
from storage.check.figures import LogFigures
from storage.disk.port import Disk, File
from storage.log.batch_cipher import BatchCipher
from storage.log.batch_scanner import BatchScanner
from storage.log.batch_search import find_batch_behind
from storage.log.journal_scan import read_frame
from storage.log.segment import Segment, segment_base
from storage.log.segment_reader import StoredBatch

DeliveryBatch = tuple[BatchHeader, memoryview]
"""Header and payload."""


class DeliveryBatches:
    """`log` is what a check has found of the log, the journal's replay included."""

    def __init__(self, disk: Disk, log: LogFigures, *, journal_key: int, cipher: BatchCipher) -> None:
        self._disk = disk
        self._log = log
        self._directory = log.key.directory
        self._journal_key = journal_key
        self._cipher = cipher
        self._starts_behind_damage = frozenset(end for _, end in log.damage)

    def read(self, offset: int) -> Iterator[DeliveryBatch]:
        """From `offset` on, in order; what the check has found to be damaged is left out. Raises OSError,
        BatchCorruptError, JournalCorruptError, and ServerError UNAVAILABLE for what is encrypted, and no key is there.
        """
        stored_end = self._log.stored_end
        for base in self._segments_from(offset):
            file = self._open(base)
            if file is None:
                continue  # the check has told it
            try:
                for header, position in self._of_segment(file):
                    if header.base_offset >= stored_end:
                        break
                    if header.base_offset >= offset:
                        yield self._decrypted(header, memoryview(file.read(position, header.length)))
            finally:
                file.close()
        for data, header in self._of_journal():
            if header.base_offset >= max(offset, stored_end):
                yield self._decrypted(header, data)

    def _decrypted(self, header: BatchHeader, data: memoryview) -> DeliveryBatch:
        plain = self._cipher.decrypted(StoredBatch(header, data))
        return plain.header, opaque_payload(plain.data, plain.header)

    def _open(self, base: int) -> File | None:
        try:
            return self._disk.open(Segment(self._directory, base).path)
        except OSError:
            if self._log.damage:
                return None
            raise

    def _of_segment(self, file: File) -> Iterator[tuple[BatchHeader, int]]:
        """Behind damage it goes on where the check did, nowhere else: a payload may hold what looks like batches."""
        position, size, expected = 0, file.size(), -1
        while True:
            scanner = BatchScanner(file, position=position, size=size)
            for header, at in scanner:
                if (
                    expected >= 0
                    and header.base_offset != expected
                    and header.base_offset not in self._starts_behind_damage
                ):
                    return
                expected = header.next_offset
                yield header, at
            if scanner.problem is None or not self._starts_behind_damage:
                return
            position = self._behind(file, scanner.position, size)
            if position < 0:
                return

    def _behind(self, file: File, position: int, size: int) -> int:
        """Where the batch is that the check has found behind the damage at `position`; -1: in another segment."""
        try:
            found = find_batch_behind(file, position=position, size=size, above_offset=-1, chain_end=None)
        except OSError:
            return -1
        return found[0] if found is not None and found[1] in self._starts_behind_damage else -1

    def _segments_from(self, offset: int) -> list[int]:
        if not self._disk.exists(self._directory):
            return []
        bases = sorted(
            base for name in self._disk.list_directory(self._directory) if (base := segment_base(name)) is not None
        )
        first = max((number for number, base in enumerate(bases) if base <= offset), default=0)
        return [base for base in bases[first:] if base < self._log.stored_end]

    def _of_journal(self) -> Iterator[tuple[memoryview, BatchHeader]]:
        name = str(self._log.key)
        for place in self._log.replayed:
            for key, batches in read_frame(self._disk, place, self._journal_key):
                at = 0
                while key == name and at < len(batches):
                    header = verify(batches, at)
                    yield batches[at : at + header.length], header
                    at += header.length
