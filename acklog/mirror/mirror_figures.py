"""What a mirror counts, partition by partition and group by group."""

from dataclasses import dataclass, field

from acklog.mirror.mirror_gap import MirrorGap

GAPS_KEPT_MAX = 100


@dataclass(slots=True)
class PartitionFigures:
    """`high_watermark` and `next_offset` are the source's, None while they are not known. `waiting_since_ms` is when
    the first message was appended that is not copied. `problem` is why it does not go on just now, "" where it does."""

    copied: int = 0
    copied_bytes: int = 0
    came_back: int = 0
    skipped: int = 0
    high_watermark: int | None = None
    next_offset: int | None = None
    waiting_since_ms: int | None = None
    problem: str = ""

    @property
    def lag(self) -> int | None:
        """Offsets of the source that were not dealt with; None: that is not known yet."""
        if self.high_watermark is None or self.next_offset is None:
            return None
        return max(0, self.high_watermark - self.next_offset)

    def lag_ms(self, now_ms: int) -> int | None:
        """How long the first message that is not copied has waited."""
        lag = self.lag
        if lag is None or (lag and self.waiting_since_ms is None):
            return None
        return max(0, now_ms - (self.waiting_since_ms or now_ms)) if lag else 0

    def is_at(self, high_watermark: int) -> None:
        """What a look at the source has found."""
        self.high_watermark = max(high_watermark, self.high_watermark or 0)
        if not self.lag:
            self.waiting_since_ms = None


@dataclass(slots=True)
class MirroredTopic:
    """`partition_count` is how many the source has: those that came last are copied a little later. `stopped` is why
    nothing of the topic is copied, "" where it is."""

    source: str
    target: str
    partition_count: int = 0
    partitions: dict[int, PartitionFigures] = field(default_factory=dict)
    stopped: str = ""
    problem: str = ""

    def of(self, partition: int) -> PartitionFigures:
        return self.partitions.setdefault(partition, PartitionFigures())

    def keep_only(self, partition_count: int) -> None:
        """There are no more partitions than that any more."""
        self.partitions = {number: each for number, each in self.partitions.items() if number < partition_count}

    @property
    def is_caught_up(self) -> bool:
        is_whole = 0 < self.partition_count <= len(self.partitions)
        return is_whole and all(each.lag == 0 for each in self.partitions.values())


@dataclass(slots=True)
class GroupFigures:
    """Of how many partitions the place was moved, and of how many it is left to consumers of the target."""

    moved: int = 0
    has_begun: int = 0
    not_known: int = 0
    problem: str = ""


@dataclass(slots=True)
class MirrorFigures:
    """Of one mirror."""

    topics: dict[str, MirroredTopic] = field(default_factory=dict)
    groups: dict[str, GroupFigures] = field(default_factory=dict)
    gaps: list[MirrorGap] = field(default_factory=list)
    gap_count: int = 0
    problem: str = ""

    def found(self, gap: MirrorGap) -> None:
        """A gap, the last GAPS_KEPT_MAX of which are kept."""
        self.gap_count += 1
        self.gaps.append(gap)
        del self.gaps[:-GAPS_KEPT_MAX]

    @property
    def copied(self) -> int:
        return sum(each.copied for topic in self.topics.values() for each in topic.partitions.values())

    @property
    def lag(self) -> int:
        """As far as it is known."""
        return sum(each.lag or 0 for topic in self.topics.values() for each in topic.partitions.values())

    def lag_ms(self, now_ms: int) -> int:
        """The longest, as far as it is known."""
        lags = (each.lag_ms(now_ms) or 0 for topic in self.topics.values() for each in topic.partitions.values())
        return max(lags, default=0)

    @property
    def stopped(self) -> dict[str, str]:
        """Why, topic by topic."""
        return {name: topic.stopped for name, topic in self.topics.items() if topic.stopped}
