"""What a gateway and a node say to each other about topics of which the last message of each key stays."""

import msgspec


class _Message(msgspec.Struct, array_like=True, gc=False):
    """Positional on the wire, so fields are only ever added at the end."""


class CompactRequest(_Message):
    """Have this node's replica of the partition compacted soon, whoever leads; without `is_asked` only say how that
    goes. Raises PARTITION_NOT_FOUND, TOPIC_NOT_COMPACTED, STORAGE_FULL, STORAGE_FAILED."""

    topic_id: str
    partition: int
    is_asked: bool


class CompactResponse(_Message):
    """Of what may be compacted, passes have gone through `clean_bytes`, and `dirty_bytes` have come since. More
    `is_wanted` from when somebody asked until that has come to its end; it `is_under_way` while a pass works at it."""

    is_wanted: bool
    is_under_way: bool
    clean_bytes: int
    dirty_bytes: int
