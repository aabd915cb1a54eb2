"""An index file held against its segment while that is read."""

from acklog.wire.batch import BatchHeader
from storage.check.findings import FindingKind, Findings
from storage.disk.port import Disk
from storage.log.checkpoint import read_file
from storage.log.index import IndexDamagedError, SegmentIndex
from storage.log.keys import LogKey
from storage.log.segment import Segment

_ANY_INTERVAL_BYTES = 1  # only rows that are added go by it


class IndexCheck:
    """One segment's index. Tell it every batch in order; `finish` says whether the head fits, too.

    `is_clean`: the server stopped in order, so it left no index half written.
    """

    def __init__(
        self, disk: Disk, key: LogKey, segment: Segment, *, file_size: int, is_clean: bool, findings: Findings
    ) -> None:
        self._findings = findings
        self._path = segment.index_path
        self._topic_id = key.topic_id
        self._claimed = Segment(key.directory, segment.base_offset)
        self._index: SegmentIndex | None = None
        self._row = 0
        content = _content(disk, segment.index_path)
        self.is_missing = content is None
        self.is_stale = False
        if content is None:
            return
        try:
            self._index = self._claimed.adopt_index(content, file_size=file_size, interval_bytes=_ANY_INTERVAL_BYTES)
        except IndexDamagedError as error:
            self.is_stale = "another state" in str(error)
            if not self.is_stale:
                self._add(FindingKind.INDEX_DAMAGED if is_clean else FindingKind.INDEX_TORN, str(error))

    def begin_run(self, position: int) -> None:
        """Batches follow from `position` on; what lies before is damaged, and its rows cannot be judged."""
        if self._index is not None:
            while self._row < len(self._index) and self._index.positions[self._row] < position:
                self._row += 1

    def batch(self, header: BatchHeader, position: int) -> None:
        index = self._index
        if index is None or self._row >= len(index) or index.positions[self._row] > position:
            return
        row, self._row = self._row, self._row + 1
        claimed = (index.offsets[row], index.positions[row], index.times_ms[row])
        found = (header.base_offset, position, header.append_time_ms)
        if claimed != found:
            self._add(FindingKind.INDEX_WRONG, f"row {row} says {_row(claimed)}, the segment has {_row(found)}")
            self._index = None

    def finish(self, segment: Segment) -> None:
        """The whole segment was read without a fault."""
        if self._index is None:
            return
        if self._row < len(self._index):
            self._add(FindingKind.INDEX_WRONG, f"{len(self._index) - self._row} rows point behind the last batch")
            return
        claimed, found = _head(self._claimed), _head(segment)
        if claimed != found:
            names = ", ".join(name for name in found if claimed[name] != found[name])
            self._add(FindingKind.INDEX_WRONG, f"it differs from the segment in {names}")

    def _add(self, kind: FindingKind, detail: str) -> None:
        self._findings.add(kind, self._path, detail, topic_id=self._topic_id)


def _content(disk: Disk, path: str) -> bytes | None:
    """None also where it cannot be read: it is derived."""
    try:
        return read_file(disk, path)
    except OSError:
        return b""


def _row(values: tuple[int, int, int]) -> str:
    offset, position, time_ms = values
    return f"offset {offset} at byte {position}, appended at {time_ms}"


def _head(segment: Segment) -> dict[str, int]:
    return {
        "end offset": segment.end_offset,
        "first append time": segment.first_append_ms,
        "last append time": segment.last_append_ms,
        "last keyed append time": segment.last_keyed_ms,
    }
