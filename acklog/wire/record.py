"""One message as it stands in a batch's payload: a msgpack array, so that fields can be added at its end."""

import msgspec
from crc32c import crc32c

from acklog.wire.limits import HEADER_VALUE_BYTES_MAX


class Schedule(msgspec.Struct, array_like=True, gc=False):
    """When a message is to be seen: at `at_ms`, or (where that is -1) `delay_ms` after its batch was appended to the
    schedule log. Once it has left that log, for the messages or another partition's schedule, `id` says as which
    scheduled message. `is_bound`: its sender chose the partition, so it stays there, whatever its key."""

    at_ms: int = -1
    delay_ms: int = -1
    id: str = ""
    is_bound: bool = False


class Record(msgspec.Struct, array_like=True, gc=False):
    """A message. `body` holds the bytes as they came in: JSON text when `content_type` is None.

    `timestamp_ms` is the producer's; None means "use the batch's append time". `schedule` None: it was seen at once.
    `ttl_ms` after its batch was appended to the messages nobody is given it any more; None: as its topic says.
    """

    body: bytes
    key: str | None = None
    headers: dict[str, str] | None = None
    tags: list[str] | None = None
    timestamp_ms: int | None = None
    content_type: str | None = None
    schedule: Schedule | None = None
    ttl_ms: int | None = None

    def content(self) -> tuple[object, ...]:
        """What its producer said of it, as it was encoded by the first version: of a message without anything that
        came later, the same for ever."""
        first = (self.body, self.key, self.headers, self.tags, self.timestamp_ms, self.content_type)
        when = self.schedule
        told = None if when is None else (when.at_ms, when.delay_ms, when.id)
        if self.ttl_ms is not None:
            return (*first, told, self.ttl_ms)
        return first if told is None else (*first, told)

    @property
    def large_bytes(self) -> int:
        """Of what may be large in it: its body, and headers that are longer than senders by HTTP may make them."""
        if self.headers is None:
            return len(self.body)
        long = (len(value) for value in self.headers.values() if len(value) > HEADER_VALUE_BYTES_MAX)
        return len(self.body) + sum(long)

    @property
    def is_tombstone(self) -> bool:
        """Where a topic is compacted: its key has no value any more. JSON text is never empty."""
        return self.key is not None and not self.body


PlainRecord = tuple[bytes, str | None]
"""Body and key of a record that has nothing else. What is missing at the end of the array counts as nil."""


def tag_filter_of(records: list[Record]) -> int:
    """A 64-bit Bloom filter (one hash) over all tags: a zero bit proves that no record has the tag."""
    bits = 0
    for record in records:
        if record.tags:
            for tag in record.tags:
                bits |= tag_bit(tag)
    return bits


def tag_bit(tag: str) -> int:
    """The bit that `tag` sets in a batch's tag filter."""
    return 1 << (int(crc32c(tag.encode())) & 63)
