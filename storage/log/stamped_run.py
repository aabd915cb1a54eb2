"""What is in the batches that a follower appends: verified once, and looked at by place from then on (rule R12)."""

from bisect import bisect_left, bisect_right

from crc32c import crc32c

from acklog.wire.batch import (
    CONTENT_AT,
    FLAG_KEYED,
    HEADER_BYTES,
    MAGIC,
    STAMP_CRC_AT,
    STAMPED_HEADER,
    BatchCorruptError,
    verify,
)
from acklog.wire.limits import BATCH_BYTES_MAX
from storage.disk.port import Buffer


class StampedRun:
    """Batches back to back as their leader stamped them, each following the one before.

    `positions` has the place of each batch, in bytes from the begin of `data`, which is all of them and must not change
    any more; `keyed` the numbers of the keyed ones; `epochs` (leader epoch, offset of its first batch here).
    """

    __slots__ = ("base_offset", "data", "end_offset", "epochs", "keyed", "last_append_ms", "positions")

    def __init__(self, batches: Buffer) -> None:
        """Raises BatchCorruptError for anything that is not whole, unharmed and stamped, and ValueError where offsets,
        leader epochs or append times do not follow one another, or there is no batch at all."""
        self.data = batches
        self.positions: list[int] = []
        self.keyed: list[int] = []
        self.epochs: list[tuple[int, int]] = []
        if not batches:
            raise ValueError("there is no batch to append")
        with memoryview(batches) as view:
            self.end_offset, self.last_append_ms = self._read(view)
        self.base_offset = self.epochs[0][1]

    def _read(self, view: memoryview) -> tuple[int, int]:
        """(offset after the last batch, its append time). One pass, as lean as the language allows: it runs on the
        event loop, over all that a follower appends."""
        size_bytes = len(view)
        position, expected, last_epoch, last_ms = 0, -1, -1, -1
        unpack, positions = STAMPED_HEADER.unpack_from, self.positions
        while position < size_bytes:
            if position + HEADER_BYTES > size_bytes:
                raise _corrupt(view, position)
            magic, length, offset, epoch, append_ms, stamp_crc, content_crc, flags, count, keys_length = unpack(
                view, position
            )
            end = position + length
            if (
                magic != MAGIC
                or end > size_bytes
                or length < HEADER_BYTES + keys_length
                or length > BATCH_BYTES_MAX
                or crc32c(view[position : position + STAMP_CRC_AT]) != stamp_crc
                or crc32c(view[position + CONTENT_AT : end]) != content_crc
                or count < 1
                or offset < 0
                or epoch < 0
                or append_ms < 0
            ):
                raise _corrupt(view, position)
            if offset != expected and position:
                raise ValueError(f"the batch behind offset {expected - 1} begins at {offset}")
            if epoch != last_epoch:
                if epoch < last_epoch:
                    raise ValueError(f"leader epoch {epoch} after {last_epoch} at offset {offset}")
                self.epochs.append((epoch, offset))
                last_epoch = epoch
            if append_ms < last_ms:
                raise ValueError(f"append time {append_ms} after {last_ms} at offset {offset}")
            if flags & FLAG_KEYED:
                self.keyed.append(len(positions))
            positions.append(position)
            last_ms = append_ms
            expected = offset + count
            position = end
        return expected, last_ms

    def __len__(self) -> int:
        """The number of batches."""
        return len(self.positions)

    @property
    def first_epoch(self) -> int:
        return self.epochs[0][0]

    @property
    def last_epoch(self) -> int:
        return self.epochs[-1][0]

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    def position_of(self, number: int) -> int:
        """Where batch `number` begins; the number behind the last batch gives the end."""
        return self.positions[number] if number < len(self.positions) else len(self.data)

    def offset_of(self, number: int) -> int:
        """The first offset of batch `number`; the number behind the last batch gives the end."""
        if number == len(self.positions):
            return self.end_offset
        offset: int = STAMPED_HEADER.unpack_from(self.data, self.positions[number])[2]
        return offset

    def append_ms_of(self, number: int) -> int:
        """When batch `number` was appended."""
        append_ms: int = STAMPED_HEADER.unpack_from(self.data, self.positions[number])[4]
        return append_ms

    def cut(self, first: int, room_bytes: int) -> int:
        """The number behind the last batch that fits into `room_bytes`, from batch `first` on; `first` if none does."""
        end = self.positions[first] + room_bytes
        if end >= len(self.data):
            return len(self.positions)
        return max(bisect_right(self.positions, end, first) - 1, first)

    def part(self, first: int, end: int) -> Buffer:
        """The bytes of the batches `first` up to, exclusive, `end`."""
        if first == 0 and end == len(self.positions):
            return self.data
        return memoryview(self.data)[self.positions[first] : self.position_of(end)]

    def last_keyed_ms(self, first: int, end: int) -> int:
        """When the last keyed batch of `first` up to, exclusive, `end` was appended; -1 if there is none."""
        number = bisect_left(self.keyed, end) - 1
        return self.append_ms_of(self.keyed[number]) if number >= 0 and self.keyed[number] >= first else -1


def _corrupt(view: memoryview, position: int) -> BatchCorruptError:
    """What is wrong with the batch at `position`."""
    try:
        header = verify(view, position)
    except BatchCorruptError as error:
        return error
    return BatchCorruptError(
        f"the batch at offset {header.base_offset} has leader epoch {header.leader_epoch} and append time "
        f"{header.append_time_ms}, which no leader stamps"
    )
