"""The sparse index of a segment: from offset and from append time to a position in its file.

One row serves both, because append times never fall within a log. It is derived from the segment and can always be
rebuilt; the file has a checksum, and whoever follows a row verifies the batch that it finds there.

    offset size field
    0      4    magic "AKI1"
    4      4    CRC-32C over the rest
    8      8*6  base offset, end offset, segment size in bytes, first and last append time, last keyed append time
    56     8    number of rows
    64          rows: all offsets, then all positions, then all append times, 8 bytes each
"""

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right

from crc32c import crc32c

from storage.log.stamped_run import StampedRun

_MAGIC = b"AKI1"
_HEAD = struct.Struct(">4sI")
_FIELDS = struct.Struct(">6qQ")


class IndexDamagedError(ValueError):
    """The index file is not what was written; rebuild it."""


class SegmentIndex:
    """Rows (offset, position, append time) of batches that begin there, all rising."""

    __slots__ = ("_bytes_since_row", "interval_bytes", "offsets", "positions", "times_ms")

    def __init__(self, interval_bytes: int) -> None:
        self.interval_bytes = interval_bytes
        self.offsets = array("q")
        self.positions = array("q")
        self.times_ms = array("q")
        self._bytes_since_row = interval_bytes  # the first batch gets a row

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, offset: int, position: int, time_ms: int, length: int) -> None:
        """A batch of `length` bytes stands at `position`; it gets a row if the last one is far enough back."""
        if self._bytes_since_row >= self.interval_bytes:
            self.offsets.append(offset)
            self.positions.append(position)
            self.times_ms.append(time_ms)
            self._bytes_since_row = 0
        self._bytes_since_row += length

    def add_run(self, run: StampedRun, first: int, end: int, *, at: int) -> None:
        """As `add` for each of the batches `first` up to, exclusive, `end` of `run`, of which the first stands at `at`,
        but without a look at those that get no row."""
        positions = run.positions
        shift = at - positions[first]
        begin = positions[first] - self._bytes_since_row
        while True:
            number = bisect_left(positions, begin + self.interval_bytes, first, end)
            if number == end:
                break
            begin = positions[number]
            self.offsets.append(run.offset_of(number))
            self.positions.append(begin + shift)
            self.times_ms.append(run.append_ms_of(number))
            first = number
        self._bytes_since_row = run.position_of(end) - begin

    def break_here(self) -> None:
        """What came before is damaged: the next batch gets a row, so that readers find it without walking."""
        self._bytes_since_row = self.interval_bytes

    def floor(self, offset: int) -> tuple[int, int]:
        """(offset, position) of the last row at or below `offset`; the first row where there is none below."""
        row = max(bisect_right(self.offsets, offset) - 1, 0)
        return self.offsets[row], self.positions[row]

    def time_near(self, offset: int) -> int:
        """The append time of the last row at or below `offset`; of the first row where there is none below."""
        return self.times_ms[max(bisect_right(self.offsets, offset) - 1, 0)]

    def following(self, offset: int) -> int | None:
        """The offset of the first row above `offset`."""
        row = bisect_right(self.offsets, offset)
        return self.offsets[row] if row < len(self.offsets) else None

    def position_behind(self, offset: int, size_bytes: int) -> int:
        """The position of the first row above `offset`; `size_bytes`, the segment's, where there is none."""
        row = bisect_right(self.offsets, offset)
        return self.positions[row] if row < len(self.positions) else size_bytes

    def offset_before_time(self, time_ms: int) -> int:
        """The offset of the last row whose batch was appended before `time_ms`; the first row if none was."""
        return self.offsets[max(bisect_left(self.times_ms, time_ms) - 1, 0)]

    def truncate(self, position: int) -> None:
        """Forget rows at or behind `position`."""
        keep = bisect_left(self.positions, position)
        del self.offsets[keep:], self.positions[keep:], self.times_ms[keep:]
        self._bytes_since_row = self.interval_bytes


def index_to_bytes(index: SegmentIndex, fields: tuple[int, int, int, int, int, int]) -> bytes:
    """`fields` as in the head of this module, from the base offset to the last keyed append time."""
    columns = []
    for column in (index.offsets, index.positions, index.times_ms):
        copy = array("q", column)
        if sys.byteorder == "little":
            copy.byteswap()
        columns.append(copy.tobytes())
    body = _FIELDS.pack(*fields, len(index)) + b"".join(columns)
    return _HEAD.pack(_MAGIC, crc32c(body)) + body


def index_from_bytes(content: bytes, interval_bytes: int) -> tuple[SegmentIndex, tuple[int, int, int, int, int, int]]:
    """The index and its fields; raises IndexDamagedError."""
    if len(content) < _HEAD.size + _FIELDS.size:
        raise IndexDamagedError("the index file is too short")
    magic, crc = _HEAD.unpack_from(content)
    with memoryview(content) as view:
        if magic != _MAGIC or crc32c(view[_HEAD.size :]) != crc:
            raise IndexDamagedError("the checksum of the index does not match")
    *fields, rows = _FIELDS.unpack_from(content, _HEAD.size)
    start = _HEAD.size + _FIELDS.size
    if len(content) != start + 3 * 8 * rows:
        raise IndexDamagedError("the index has another number of rows than it says")
    index = SegmentIndex(interval_bytes)
    for column in (index.offsets, index.positions, index.times_ms):
        column.frombytes(content[start : start + 8 * rows])
        if sys.byteorder == "little":
            column.byteswap()
        start += 8 * rows
    base_offset, end_offset, size, first_ms, last_ms, keyed_ms = fields
    return index, (base_offset, end_offset, size, first_ms, last_ms, keyed_ms)
