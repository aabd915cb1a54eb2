"""What a mirror keeps of a partition in the target: as the value of a key of its state topic, which is compacted."""

import msgspec

from acklog.mirror.copied_place import CopiedPlace
from acklog.mirror.offset_map import OffsetMap, OffsetRun

HEARTBEAT_KEY = "mirror"
OWNER_KEY = "owner"
"""No topic has a partition by such a name: keys of partitions have a `#`, and names of topics have none."""


class Checkpoint(msgspec.Struct, rename="camel", omit_defaults=True):
    """Everything of the source below `next_offset` was dealt with; `source_offset` and `target_offset` are the last
    copy, None where there is none. `runs` is the mapping of offsets, as far as it is remembered."""

    source_topic: str
    source_topic_id: str
    target_topic: str
    target_topic_id: str
    partition: int
    next_offset: int
    source_offset: int | None = None
    source_epoch: int | None = None
    target_offset: int | None = None
    runs: list[OffsetRun] = msgspec.field(default_factory=list)
    is_whole: bool = True
    at_ms: int = msgspec.field(name="at", default=0)

    @property
    def key(self) -> str:
        return f"{self.source_topic}#{self.partition}"

    @property
    def last(self) -> CopiedPlace | None:
        if self.source_offset is None or self.target_offset is None or self.source_epoch is None:
            return None
        return CopiedPlace(self.source_offset, self.target_offset, self.source_epoch)

    def offset_map(self) -> OffsetMap:
        return OffsetMap(self.runs, is_whole=self.is_whole)


class StoppedTopic(msgspec.Struct, rename="camel"):
    """A topic of which nothing is copied, and why."""

    topic: str
    reason: str


class Heartbeat(msgspec.Struct, rename="camel"):
    """That a mirror runs, and what it does not copy: the first STOPPED_MAX of `stopped_count` topics."""

    instance: str
    at_ms: int = msgspec.field(name="at")
    interval_ms: int
    stopped: list[StoppedTopic]
    stopped_count: int


STOPPED_MAX = 100
