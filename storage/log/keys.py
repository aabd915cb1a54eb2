"""Which log of which partition."""

import re

import msgspec

from storage.log.log_table import LOGS

PARTITIONS_DIRECTORY = "partitions"

_topic_id_match = re.compile(r"[0-9A-Za-z_]{1,64}").fullmatch
_directory_match = re.compile(r"([0-9A-Za-z_]{1,64})-(0|[1-9][0-9]{0,8})").fullmatch


class LogKey(msgspec.Struct, frozen=True, order=True, cache_hash=True, gc=False):
    """The identity of a log within a node. It goes by the topic's id, never by its name (rule R14); `kind` is the log's
    number in `storage.log.log_table`. Every append looks things up by it many times, hence the hash that is computed
    once."""

    topic_id: str
    partition: int
    kind: int

    def __post_init__(self) -> None:
        if not _topic_id_match(self.topic_id) or not 0 <= self.partition < 1_000_000_000:
            raise ValueError(f"{self.topic_id!r} and {self.partition} do not name a partition")
        if self.kind not in LOGS:
            raise ValueError(f"a partition has no log {self.kind}")

    @property
    def directory(self) -> str:
        """Where its files are, relative to the data directory."""
        below = LOGS[self.kind].directory
        return f"{self.partition_directory}/{below}" if below else self.partition_directory

    @property
    def partition_directory(self) -> str:
        """Where the files of all logs of the partition are."""
        return f"{PARTITIONS_DIRECTORY}/{self.topic_id}-{self.partition}"

    def siblings(self) -> "list[LogKey]":
        """The other logs of the partition."""
        return [LogKey(self.topic_id, self.partition, kind) for kind in LOGS if kind != self.kind]

    def __str__(self) -> str:
        return f"{self.topic_id}-{self.partition}-{self.kind}"


def parse_key(text: str) -> LogKey:
    """The inverse of `str(key)`; raises ValueError."""
    topic_id, partition, kind = text.split("-")
    return LogKey(topic_id, int(partition), int(kind))


def parse_partition_directory(name: str) -> tuple[str, int] | None:
    """(topic id, partition) of a partition's directory, None for any other name."""
    found = _directory_match(name)
    return (found[1], int(found[2])) if found else None
