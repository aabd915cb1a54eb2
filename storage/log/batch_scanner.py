"""Walk the batches of a segment file and verify each; used by recovery, index rebuilding and reads."""

from collections.abc import Iterator

from acklog.wire.batch import HEADER_BYTES, MAGIC, BatchCorruptError, BatchHeader, read_header, verify
from storage.disk.port import File

CHUNK_BYTES = 1024 * 1024


class BatchScanner:
    """Iterates over (header, position) of the batches from `position` to `size`; stops at the first invalid one and
    says in `problem` why. `position` is then where it stands."""

    def __init__(self, file: File, *, position: int, size: int, chunk_bytes: int = CHUNK_BYTES) -> None:
        self._file = file
        self._size = size
        self._chunk_bytes = chunk_bytes
        self._buffer = b""
        self._at = 0
        self.position = position
        self.problem: str | None = None

    def __iter__(self) -> Iterator[tuple[BatchHeader, int]]:
        while self.problem is None and self.position < self._size:
            try:
                header = verify(self._buffer, self._at)
            except BatchCorruptError as error:
                if not self._extend():
                    self.problem = error.reason
                continue
            position = self.position
            self.position += header.length
            self._at += header.length
            yield header, position

    def _extend(self) -> bool:
        """Read on where the buffer ends too early; False if more bytes cannot make the batch valid."""
        have = len(self._buffer) - self._at
        remaining = self._size - self.position
        want = self._chunk_bytes
        if have >= HEADER_BYTES:
            try:
                length = read_header(self._buffer, self._at).length
            except BatchCorruptError:
                return False
            if not have < length <= remaining:
                return False
            want = max(want, length)
        self._buffer = self._file.read(self.position, min(want, remaining))
        self._at = 0
        return len(self._buffer) > have


def find_batch_behind(
    file: File, *, position: int, size: int, above_offset: int, chain_end: int | None
) -> tuple[int, int] | None:
    """(position, base offset) of the next batch behind a damaged one at `position`, None if there is none.

    A header with a valid stamp tells how long the damaged batch is. Without it the file is searched; as a message's
    body may hold anything, also a batch, a find only counts if an unbroken chain of batches leads from it to the end
    of the file or to the position `chain_end`, where what is known to be durable ends.
    """
    head = file.read(position, HEADER_BYTES)
    try:
        skipped = position + read_header(head).length
    except BatchCorruptError:
        pass
    else:
        if skipped < size:
            try:
                header = read_header(file.read(skipped, HEADER_BYTES))
            except BatchCorruptError:
                pass
            else:
                if header.base_offset > above_offset:
                    return skipped, header.base_offset
    return _search(file, position=position + 1, size=size, above_offset=above_offset, chain_end=chain_end)


def _search(
    file: File, *, position: int, size: int, above_offset: int, chain_end: int | None
) -> tuple[int, int] | None:
    while position + HEADER_BYTES <= size:
        chunk = file.read(position, min(CHUNK_BYTES, size - position))
        at = chunk.find(MAGIC)
        while at >= 0:
            candidate = position + at
            base = _chain_base(file, candidate, size=size, chain_end=chain_end)
            if base is not None and base > above_offset:
                return candidate, base
            at = chunk.find(MAGIC, at + 1)
        position += max(len(chunk) - len(MAGIC) + 1, 1)
    return None


def _chain_base(file: File, candidate: int, *, size: int, chain_end: int | None) -> int | None:
    """The base offset of the batch at `candidate` if batches follow one another from there to the end."""
    scanner = BatchScanner(file, position=candidate, size=size)
    base = expected = None
    for header, _ in scanner:
        if base is None:
            base = header.base_offset
        elif header.base_offset != expected:
            return None
        expected = header.next_offset
        if chain_end is not None and scanner.position >= chain_end:
            return base if scanner.position == chain_end else None
    return base if scanner.problem is None else None
