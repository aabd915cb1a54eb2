"""What a gateway and a node say to each other about the latest values of keys."""

import msgspec

from acklog.wire.record import Record

UNKNOWN_MAPPING = -1


class _Message(msgspec.Struct, array_like=True, gc=False):
    """Positional on the wire, so fields are only ever added at the end."""


class LatestRequest(_Message):
    """The last message of a key that the partition holds, by who leads it. `mapping` is that of the topic by which the
    caller chose the partition. Raises TOPIC_NOT_COMPACTED; CONFLICT, where the mapping is over; RECORDS_CORRUPT."""

    topic_id: str
    partition: int
    key: str
    mapping: int


class LatestResponse(_Message):
    """`offset` -1: the partition holds no message of the key. Without a `record` its last one says that there is no
    value: it is a tombstone, or has outlived its time. `leader_epoch` is that of its batch.

    `mapping` put it there, or a later one (UNKNOWN_MAPPING: there is none, or the node is of an earlier version).
    `removed_of` are the mappings of whose messages some were removed from the partition, the oldest first: with them
    the key's may be gone."""

    offset: int
    leader_epoch: int = -1
    append_time_ms: int = -1
    record: Record | None = None
    mapping: int = UNKNOWN_MAPPING
    removed_of: tuple[int, ...] = ()
