"""Walk the batches of a segment file and verify each; used by recovery, index rebuilding and reads."""

from collections.abc import Iterator

from acklog.wire.batch import HEADER_BYTES, BatchCorruptError, BatchHeader, read_header, verify
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
