"""A recurring schedule: a message that is sent again and again, at times that a rule says."""

from enum import Enum

import msgspec

from acklog.wire.partition_mapping import partition_of_hash
from acklog.wire.partitioner import hash_of_key
from acklog.wire.record import Record
from cluster.model.values import Topic

MISSED_GRACE_MS = 60_000


class MissedRuns(Enum):
    """What becomes of the times at which nobody could send, once somebody can."""

    SKIP = "skip"  # those that are past by more than the grace are passed over
    ONCE = "once"  # one message for all of them, that of the last
    ALL = "all"  # a message for each, up to a bound


class RecurrenceRule(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """When: by `cron` in `time_zone` (an IANA name), or each `every_ms` from `anchor_ms` on; from `start_ms` on and
    before `end_ms`, where these are not None."""

    cron: str | None = None
    time_zone: str = "UTC"
    every_ms: int = 0
    anchor_ms: int = 0
    start_ms: int | None = None
    end_ms: int | None = None


class RecurringSchedule(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`id` is the identity: a name that is deleted and made again has another (rule R14).

    What is due at `since_ms` or before is not this schedule's to send: it was made, changed or resumed then. Only the
    leader of the partition `home` sends it, and `home_moves` counts how often that has become another one. `record` is
    the message.
    """

    id: str
    topic_id: str
    name: str
    created_at_ms: int
    since_ms: int
    home: int
    rule: RecurrenceRule
    record: Record
    home_moves: int = 0
    missed: MissedRuns = MissedRuns.ONCE
    grace_ms: int = MISSED_GRACE_MS
    is_paused: bool = False


def home_of(name: str, record: Record, topic: Topic) -> int:
    """Where the messages of a schedule go: as all messages with their key; without one, where the name says."""
    key_hash = hash_of_key(name if record.key is None else record.key)
    return partition_of_hash(key_hash, partitions=topic.partitions, decommissioned=topic.decommissioned)
