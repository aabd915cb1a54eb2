"""The logs that a partition has: one row each.

All of them are kept, recovered, replicated, fetched, checked and removed the same way; whoever goes through the logs of
a partition goes through this table. What a log's records mean is known only to whoever writes them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from cluster.model.internal_topics import AUDIT_TOPIC
from cluster.model.values import TopicConfig


class Space(Enum):
    """Which space the appends of a log may use: those of HALF_RESERVED ones (the audit log) half of what is kept back
    from NORMAL ones, and those of RESERVED ones (acknowledgements) all of it. So no flood of records takes from
    acknowledgements what they need."""

    NORMAL = "normal"
    HALF_RESERVED = "halfReserved"
    RESERVED = "reserved"

    def kept_free_bytes(self, reserve_bytes: int) -> int:
        """With less free nothing is appended."""
        return {Space.NORMAL: reserve_bytes, Space.HALF_RESERVED: reserve_bytes // 2, Space.RESERVED: 0}[self]


class SegmentSizes(Protocol):
    """What a node is told of its logs' segments."""

    @property
    def delivery_segment_bytes(self) -> int: ...

    @property
    def schedule_segment_bytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class LogSpec:
    """`number` stands for the log in the journal, in checkpoints and between nodes, and is never given to another; the
    rows are numbered without a gap, so that a place in a list of all logs is a number. `since_version` of the protocol
    between nodes knows it: to a node of an earlier one it is not named, and such a node counts as having none of it.
    `directory` is one name below the partition's own; "" is that itself. `space` is what its appends may use, on every
    replica, by the topic's name.

    `has_state`: what lies before the log's start is in a snapshot beside it. Such a log is trimmed by snapshots, on
    each replica by its own, and begins anew with the leader's. What lies before the start of any other log is gone: it
    is trimmed where the leader's is, and begins anew wherever the leader's begins.
    """

    number: int
    name: str
    directory: str
    space: Callable[[str], Space]
    has_state: bool
    since_version: int
    segment_bytes: Callable[[TopicConfig, SegmentSizes], int]


class LogKind:
    """The numbers of the rows, by name."""

    MESSAGES: Final = 0
    DELIVERY: Final = 1
    SCHEDULE: Final = 2


LOGS: Final[dict[int, LogSpec]] = {
    spec.number: spec
    for spec in (
        LogSpec(
            LogKind.MESSAGES,
            "messages",
            directory="",
            space=lambda topic: Space.HALF_RESERVED if topic == AUDIT_TOPIC else Space.NORMAL,
            has_state=False,
            since_version=1,
            segment_bytes=lambda topic, _sizes: topic.segment_bytes,
        ),
        LogSpec(
            LogKind.DELIVERY,
            "delivery",
            directory="delivery",
            space=lambda _topic: Space.RESERVED,
            has_state=True,
            since_version=1,
            segment_bytes=lambda _topic, sizes: sizes.delivery_segment_bytes,
        ),
        LogSpec(
            LogKind.SCHEDULE,
            "schedule",
            directory="schedule",
            space=lambda _topic: Space.NORMAL,
            has_state=False,
            since_version=5,
            segment_bytes=lambda _topic, sizes: sizes.schedule_segment_bytes,
        ),
    )
}


def own_directories() -> frozenset[str]:
    """The names in a partition's directory that are directories of logs."""
    return frozenset(spec.directory for spec in LOGS.values() if spec.directory)
