"""How far groups are behind, per topic: sums of what the partitions say."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acklog.catalog import GroupOffsets, PartitionProgress


@dataclass(slots=True)
class TopicLag:
    """One group in one topic; its times are the longest of the partitions'. `unknown` partitions could not be asked and
    are in no sum; `paused` ones are."""

    group: str
    topic: str
    lag: int = 0
    in_flight: int = 0
    delayed: int = 0
    blocked: int = 0
    dead_lettered: int = 0
    lost: int = 0
    deleted: int = 0
    expired: int = 0
    progress: int = 0
    lag_ms: int = 0
    oldest_age_ms: int = 0
    unknown: int = 0
    paused: int = 0
    partitions: "list[PartitionProgress]" = field(default_factory=list)

    @property
    def waiting(self) -> int:
        """Neither done nor leased nor delayed nor blocked: what a consumer would get now, at most."""
        return max(0, self.lag - self.in_flight - self.delayed - self.blocked)

    @property
    def is_paused(self) -> bool:
        """Whoever receives gets nothing at all."""
        return 0 < self.paused == len(self.partitions)

    def add(self, partition: "PartitionProgress") -> None:
        self.partitions.append(partition)
        if partition.problem is not None:
            self.unknown += 1
            return
        self.paused += partition.is_paused
        self.lag += partition.lag or 0
        self.in_flight += partition.in_flight or 0
        self.delayed += partition.delayed or 0
        self.blocked += partition.blocked or 0
        self.dead_lettered += partition.dead_lettered or 0
        self.lost += partition.lost or 0
        self.deleted += partition.deleted or 0
        self.expired += partition.expired or 0
        self.lag_ms = max(self.lag_ms, partition.lag_ms or 0)
        self.oldest_age_ms = max(self.oldest_age_ms, partition.oldest_age_ms or 0)
        self.progress += (partition.progress or 0) + (partition.done_above or 0)

    def document(self, *, with_partitions: bool) -> dict[str, object]:
        """For --json."""
        document: dict[str, object] = {
            "group": self.group,
            "topic": self.topic,
            "lag": self.lag,
            "lagMs": self.lag_ms,
            "oldestAgeMs": self.oldest_age_ms,
            "inFlight": self.in_flight,
            "delayed": self.delayed,
            "deadLettered": self.dead_lettered,
            "lost": self.lost,
        }
        if self.deleted:
            document["deleted"] = self.deleted
        if self.expired:
            document["expired"] = self.expired
        if self.blocked:
            document["blocked"] = self.blocked
        if self.unknown:
            document["unknownPartitions"] = self.unknown
        if self.paused:
            document["pausedPartitions"] = self.paused
        if with_partitions:
            document["partitions"] = self.partitions
        return document


def lags_of(offsets: "GroupOffsets") -> list[TopicLag]:
    """A group's topics, by name."""
    found: dict[str, TopicLag] = {}
    for partition in offsets.offsets:
        topic = partition.topic
        if topic not in found:
            found[topic] = TopicLag(offsets.group, topic)
        found[topic].add(partition)
    return [found[topic] for topic in sorted(found)]


@dataclass(slots=True)
class LagRates:
    """Messages done per second, from one look to the next."""

    _before: dict[tuple[str, str], int] = field(default_factory=dict)
    _before_ms: int = 0

    def take(self, lags: Sequence[TopicLag], *, now_ms: int) -> dict[tuple[str, str], float]:
        """By (group, topic); nothing at the first look. A seek back counts as nothing done."""
        elapsed_s = (now_ms - self._before_ms) / 1000
        progress = {(lag.group, lag.topic): lag.progress for lag in lags}
        rates = {}
        if self._before and elapsed_s > 0:
            rates = {
                key: max(0.0, (done - self._before[key]) / elapsed_s)
                for key, done in progress.items()
                if key in self._before
            }
        self._before, self._before_ms = progress, now_ms
        return rates
