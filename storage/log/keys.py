"""Which log: a partition has one of messages and one of delivery records, both kept the same way."""

import re
from enum import IntEnum

import msgspec

PARTITIONS_DIRECTORY = "partitions"
DELIVERY_DIRECTORY = "delivery"

_topic_id_match = re.compile(r"[0-9A-Za-z_]{1,64}").fullmatch
_directory_match = re.compile(r"([0-9A-Za-z_]{1,64})-(0|[1-9][0-9]{0,8})").fullmatch


class LogKind(IntEnum):
    MESSAGES = 0
    DELIVERY = 1


class LogKey(msgspec.Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """The identity of a log within a node. It goes by the topic's id, never by its name (rule R14). Every append looks
    things up by it many times, hence the hash that is computed once."""

    topic_id: str
    partition: int
    kind: LogKind

    def __post_init__(self) -> None:
        if not _topic_id_match(self.topic_id) or not 0 <= self.partition < 1_000_000_000:
            raise ValueError(f"{self.topic_id!r} and {self.partition} do not name a partition")

    @property
    def directory(self) -> str:
        """Where its files are, relative to the data directory."""
        partition = f"{PARTITIONS_DIRECTORY}/{self.topic_id}-{self.partition}"
        return partition if self.kind is LogKind.MESSAGES else f"{partition}/{DELIVERY_DIRECTORY}"

    def __str__(self) -> str:
        return f"{self.topic_id}-{self.partition}-{int(self.kind)}"


def parse_key(text: str) -> LogKey:
    """The inverse of `str(key)`; raises ValueError."""
    topic_id, partition, kind = text.split("-")
    return LogKey(topic_id, int(partition), LogKind(int(kind)))


def parse_partition_directory(name: str) -> tuple[str, int] | None:
    """(topic id, partition) of a partition's directory, None for any other name."""
    found = _directory_match(name)
    return (found[1], int(found[2])) if found else None
