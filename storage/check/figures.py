"""What a check counts, and what it learns of a log for the checks that come after."""

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field

from acklog.wire.batch import BatchHeader
from storage.log.journal_scan import FramePlace
from storage.log.keys import LogKey


class TailBatches:
    """The batches of a log that no checkpoint covers, as checksums: to tell whether the journal's are the same.

    16 bytes each; the journal's size bounds how many there are.
    """

    __slots__ = ("_checksums", "_offsets")

    def __init__(self) -> None:
        self._offsets = array("q")
        self._checksums = array("Q")

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, header: BatchHeader) -> None:
        self._offsets.append(header.base_offset)
        self._checksums.append(_checksum(header))

    def has(self, header: BatchHeader) -> bool:
        at = bisect_left(self._offsets, header.base_offset)
        is_there = at < len(self._offsets) and self._offsets[at] == header.base_offset
        return is_there and self._checksums[at] == _checksum(header)

    def cut(self, offset: int) -> int:
        """Forget what begins at `offset` or behind it; how many batches that were."""
        keep = bisect_left(self._offsets, offset)
        forgotten = len(self._offsets) - keep
        del self._offsets[keep:], self._checksums[keep:]
        return forgotten


def _checksum(header: BatchHeader) -> int:
    """The stamp's checksum covers offset, epoch, time and length; the content's the rest."""
    return header.stamp_crc << 32 | header.content_crc


@dataclass(slots=True)
class LogFigures:
    """One log after its segments were read, and after the journal was replayed over them.

    durable_end   everything below was durable according to the recovery points
    stored_end    where the segments end, damage included; the journal's replay may cut it
    end_offset    where the log will end after a start, the journal included
    damage        half-open ranges of offsets that cannot be read
    replayed      frames with batches that only the journal has
    """

    key: LogKey
    log_start: int = 0
    durable_end: int = 0
    stored_end: int = 0
    end_offset: int = 0
    segments: int = 0
    batches: int = 0
    messages: int = 0
    size_bytes: int = 0
    last_epoch: int = -1
    is_refused: bool = False
    damage: list[tuple[int, int]] = field(default_factory=list)
    tail: TailBatches = field(default_factory=TailBatches)
    replayed: list[FramePlace] = field(default_factory=list)


@dataclass(slots=True)
class JournalFigures:
    """`batches`, `messages` and `size_bytes` are what only the journal has: what a start would write again."""

    files: int = 0
    frames: int = 0
    entries: int = 0
    batches: int = 0
    messages: int = 0
    size_bytes: int = 0


@dataclass(slots=True)
class TopicFigures:
    """`name` is "" for a topic that the coordination file does not know; a deleted one still has data for a while.
    `problems` counts errors and warnings."""

    topic_id: str
    name: str = ""
    partitions: int = 0
    segments: int = 0
    batches: int = 0
    messages: int = 0
    size_bytes: int = 0
    problems: int = 0
    is_deleted: bool = False
