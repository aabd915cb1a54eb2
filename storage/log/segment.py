"""A segment: one file of a log, from its base offset up to where the next one begins."""

from storage.log.index import IndexDamagedError, SegmentIndex, index_from_bytes, index_to_bytes
from storage.log.stamped_run import StampedRun

SEGMENT_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
NO_TIME = -1


class Segment:
    """What is known of a segment without reading it. Positions up to `size_bytes` are published: whole batches of
    completed rounds, never written again."""

    __slots__ = (
        "base_offset",
        "end_offset",
        "first_append_ms",
        "index",
        "index_is_stored",
        "index_path",
        "last_append_ms",
        "last_keyed_ms",
        "path",
        "size_bytes",
    )

    def __init__(self, directory: str, base_offset: int) -> None:
        name = f"{directory}/{base_offset:020d}"
        self.path = name + SEGMENT_SUFFIX
        self.index_path = name + INDEX_SUFFIX
        self.base_offset = base_offset
        self.end_offset = base_offset
        self.size_bytes = 0
        self.first_append_ms = NO_TIME
        self.last_append_ms = NO_TIME
        self.last_keyed_ms = NO_TIME
        self.index: SegmentIndex | None = None
        self.index_is_stored = False

    def __repr__(self) -> str:
        return f"Segment({self.path}, {self.base_offset}..{self.end_offset}, {self.size_bytes} bytes)"

    def note(self, *, base_offset: int, next_offset: int, append_ms: int, length: int, is_keyed: bool) -> None:
        """A batch was added at the end."""
        assert self.index is not None, "only a segment with its index in memory grows"
        self.index.add(base_offset, self.size_bytes, append_ms, length)
        self.end_offset = next_offset
        self.size_bytes += length
        if self.first_append_ms == NO_TIME:
            self.first_append_ms = append_ms
        self.last_append_ms = append_ms
        if is_keyed:
            self.last_keyed_ms = append_ms
        self.index_is_stored = False

    def note_run(self, run: StampedRun, first: int, end: int) -> None:
        """The batches `first` up to, exclusive, `end` of `run` were added at the end."""
        assert self.index is not None, "only a segment with its index in memory grows"
        self.index.add_run(run, first, end, at=self.size_bytes)
        self.end_offset = run.offset_of(end)
        self.size_bytes += run.position_of(end) - run.positions[first]
        if self.first_append_ms == NO_TIME:
            self.first_append_ms = run.append_ms_of(first)
        self.last_append_ms = run.append_ms_of(end - 1)
        self.last_keyed_ms = max(self.last_keyed_ms, run.last_keyed_ms(first, end))
        self.index_is_stored = False

    def with_index(self, index: SegmentIndex) -> "Segment":
        """A copy that holds `index`."""
        copy = Segment(self.path.rpartition("/")[0], self.base_offset)
        copy.end_offset = self.end_offset
        copy.size_bytes = self.size_bytes
        copy.first_append_ms = self.first_append_ms
        copy.last_append_ms = self.last_append_ms
        copy.last_keyed_ms = self.last_keyed_ms
        copy.index = index
        return copy

    def encode_index(self) -> bytes:
        assert self.index is not None
        fields = (
            self.base_offset,
            self.end_offset,
            self.size_bytes,
            self.first_append_ms,
            self.last_append_ms,
            self.last_keyed_ms,
        )
        return index_to_bytes(self.index, fields)

    def adopt_index(self, content: bytes, *, file_size: int, interval_bytes: int) -> SegmentIndex:
        """Take over what the index file says. Raises IndexDamagedError if it is harmed or of another state."""
        index, fields = index_from_bytes(content, interval_bytes)
        base_offset, end_offset, size, first_ms, last_ms, keyed_ms = fields
        if base_offset != self.base_offset or size != file_size:
            raise IndexDamagedError("the index was made for another state of the segment")
        self.end_offset = end_offset
        self.size_bytes = size
        self.first_append_ms = first_ms
        self.last_append_ms = last_ms
        self.last_keyed_ms = keyed_ms
        self.index_is_stored = True
        return index


def segment_base(name: str) -> int | None:
    """The base offset in a segment file's name, None for other files."""
    digits = name.removesuffix(SEGMENT_SUFFIX)
    if digits == name or len(digits) != 20 or not digits.isascii() or not digits.isdigit():
        return None
    return int(digits)
