"""Where the last message of each key is: what compaction goes by."""

from collections.abc import Iterable

from acklog.wire.batch import BatchHeader
from acklog.wire.compacted_batch import StoredRecord

KEY_OVERHEAD_BYTES = 200
"""Of a text, a number and their place in a dict, beside the key's own characters."""


class LatestOffsets:
    """Of the messages from the first batch that was added up to `end`. Bounded by `bytes_max`: where there are more
    keys, compaction goes through the log in several passes."""

    def __init__(self, begin: int, *, bytes_max: int) -> None:
        self.end = begin
        self._bytes_max = bytes_max
        self._bytes = 0
        self._offsets: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, header: BatchHeader, records: Iterable[StoredRecord]) -> bool:
        """Take in the batch that begins at `end`; False, and nothing is changed, where there is no room for its keys.
        The first batch always has room, so that each pass gets on."""
        latest = {each.record.key: header.base_offset + each.index for each in records if each.record.key is not None}
        added_bytes = sum(len(key) + KEY_OVERHEAD_BYTES for key in latest.keys() - self._offsets.keys())
        if added_bytes and self._offsets and self._bytes + added_bytes > self._bytes_max:
            return False
        self._bytes += added_bytes
        self._offsets.update(latest)
        self.end = header.next_offset
        return True

    def has_later(self, key: str, offset: int) -> bool:
        """Whether there is a message of this key above `offset`."""
        return self._offsets.get(key, -1) > offset
