"""What a node tells of the groups of the partitions that it leads."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Generic, TypeVar

from prometheus_client.core import Metric

from app.gateway.bounded_names import OTHER, BoundedNames
from app.gateway.exposition import LabelledFamily, Labels
from cluster.metadata.metadata_view import MetadataView
from cluster.model.pauses import is_paused
from storage.delivery.group_in_partition import GroupInPartition
from storage.node.append_times import AppendTimes
from storage.node.groups.given_up_figures import LetterCause, LossCause, Pair
from storage.node.replicas.led_partition import Partition
from storage.node.storage_node import StorageNode

POSITIONS_AT_ONCE = 200
"""Between two turns of others: a millisecond or two."""

_Cause = TypeVar("_Cause", bound=StrEnum)
_NAMES = ("topic", "group")
_COUNTS = {
    "lag": "Messages that the group has not done",
    "in_flight": "Messages leased by the group's consumers",
    "blocked": "Messages that hold up their key, or their partition, until a person decides",
    "dead_lettered": "Messages that went to the group's dead-letter topic",
    "lost_to_retention": "Messages that retention removed before the group had done them",
    "expired": "Messages whose time to live was over before the group had done them",
    "available": "Messages that a receive could get now, at most: neither done, leased, delayed, blocked nor paused",
}
_AGES = {
    "lag_seconds": "Between the first message that the group has not done, and the newest, at most, in seconds",
    "oldest_age_seconds": "Since the first message was appended that the group has not done, at most, in seconds",
}
_LETTERS = "Messages that became dead letters of the group since the node's start, by what made them: attempts (used "
_LETTERS += "up), expired, or undecodable (nobody can read it, so there is no letter either)"
_LOSSES = "Messages that were removed before the group had done them, since the node's start, by what removed them: "
_LOSSES += "retention, or deleted (on purpose)"


class _Sum:
    """Of the partitions of one topic and one group, or of all that share a label."""

    __slots__ = ("ages_s", "counts", "labels")

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.counts = [0] * len(_COUNTS)
        self.ages_s = [0.0] * len(_AGES)

    def add(
        self, partition: Partition, state: GroupInPartition, times: AppendTimes, clock_ms: int, *, is_held: bool
    ) -> None:
        """`is_held`: the group is paused there."""
        totals, counts, progress = state.totals, self.counts, state.progress
        lag = partition.host.high_watermark - progress - state.done_above_count
        counts[0] += lag
        counts[1] += state.in_flight_count
        counts[2] += state.blocked_count
        counts[3] += totals.dead_lettered
        counts[4] += totals.lost - totals.deleted
        counts[5] += totals.expired
        if lag and not is_held:
            counts[6] += max(0, lag - state.in_flight_count - state.delayed_count - state.blocked_count)
        oldest_ms = times.near(partition, progress)
        if oldest_ms >= 0:
            for number, end_ms in enumerate((partition.host.log.last_append_ms, clock_ms)):
                self.ages_s[number] = max(self.ages_s[number], (end_ms - oldest_ms) / 1000)


class _ByCause(Generic[_Cause]):
    """Counts by the labels that each group had when they were counted. A group whose name gets a label of its own, as
    another's became free, begins at 0 there, and `other` does not fall."""

    def __init__(self, causes: Iterable[_Cause]) -> None:
        self.causes = tuple(causes)
        self.totals: dict[tuple[str, str], Counter[_Cause]] = {}
        self._taken: dict[Pair, Counter[_Cause]] = {}
        self._current: set[tuple[str, str]] = {(OTHER, OTHER)}

    def take(self, pair: Pair, labels: tuple[str, str] | None, noted: Mapping[_Cause, int]) -> None:
        """`noted` so far of the group `pair`; where it is deleted it has no `labels`, and counts nowhere."""
        taken = self._taken.setdefault(pair, Counter())
        if labels is not None:
            self._current.add(labels)
            totals = self.totals.setdefault(labels, Counter())
            for cause, count in noted.items():
                totals[cause] += count - taken[cause]
        taken.update({cause: count - taken[cause] for cause, count in noted.items()})

    def forget_what_is_gone(self) -> None:
        """The labels that no group has any more, after all were taken; what is `other` stays."""
        self.totals = {
            labels: counts for labels, counts in self.totals.items() if labels in self._current or OTHER in labels
        }
        self._current = {(OTHER, OTHER)}


class GroupMetrics:
    """`topics` and `groups` have a label of their own as long as there are few."""

    def __init__(self, node: StorageNode, metadata: MetadataView, topics: BoundedNames, groups: BoundedNames) -> None:
        self._node = node
        self._metadata = metadata
        self._topics = topics
        self._groups = groups
        self._labels: dict[tuple[str, ...], Labels] = {}
        self._letters: _ByCause[LetterCause] = _ByCause(LetterCause)
        self._losses: _ByCause[LossCause] = _ByCause(LossCause)

    def steps(self, clock_ms: int) -> Iterator[Metric | None]:
        """Ages are those at `clock_ms`. Yields None where others may have their turn."""
        self._groups.keep(lambda name: self._metadata.group(name) is not None)
        sums: dict[tuple[str, str], _Sum] = {}
        yield from self._add_up(sums, clock_ms)
        for number, (name, text) in enumerate(_COUNTS.items()):
            counts: dict[Labels, float] = {each.labels: each.counts[number] for each in sums.values()}
            yield LabelledFamily(f"acklog_group_{name}", text, "gauge", _NAMES, counts)
        for number, (name, text) in enumerate(_AGES.items()):
            ages = {each.labels: each.ages_s[number] for each in sums.values()}
            yield LabelledFamily(f"acklog_group_{name}", text, "gauge", _NAMES, ages)
        given_up = self._node.figures.given_up
        yield from self._by_cause("acklog_group_dead_letters", _LETTERS, self._letters, given_up.letters, sums)
        yield from self._by_cause("acklog_group_losses", _LOSSES, self._losses, given_up.losses, sums)
        self._labels = {key: labels for key, labels in self._labels.items() if key[:2] in sums}

    def _add_up(self, sums: dict[tuple[str, str], _Sum], clock_ms: int) -> Iterator[None]:
        count = 0
        for partition in self._node.partitions_led():
            topic = self._topics.label(partition.host.topic.name)
            place = partition.host.topic.id, partition.host.partition
            for state in partition.groups.states():
                group = self._metadata.group_by_id(state.group_id)
                pair = topic, self._groups.label(group.name if group is not None else "deleted")
                found = sums.get(pair)
                if found is None:
                    found = sums[pair] = _Sum(self._labels_of(*pair))
                is_held = group is not None and bool(group.pauses) and is_paused(group.pauses, *place)
                found.add(partition, state, self._node.append_times, clock_ms, is_held=is_held)
                count += 1
                if not count % POSITIONS_AT_ONCE:
                    yield

    def _by_cause(
        self,
        name: str,
        text: str,
        counted: "_ByCause[_Cause]",
        noted: Mapping[Pair, Mapping[_Cause, int]],
        sums: dict[tuple[str, str], _Sum],
    ) -> Iterator[Metric | None]:
        """Of each group that is there from the beginning, so that the first message of it is seen as a rise."""
        for number, (pair, by_cause) in enumerate(list(noted.items())):
            counted.take(pair, self._named(pair), by_cause)
            if not number % POSITIONS_AT_ONCE:
                yield None
        counted.forget_what_is_gone()
        rows: dict[Labels, float] = {}
        for number, (topic, group) in enumerate(dict.fromkeys([*sums, *counted.totals])):
            totals: Mapping[_Cause, int] = counted.totals.get((topic, group), {})
            rows.update((self._labels_of(topic, group, cause), totals.get(cause, 0)) for cause in counted.causes)
            if not number % POSITIONS_AT_ONCE:
                yield None
        yield LabelledFamily(name, text, "counter", (*_NAMES, "cause"), rows)

    def _named(self, pair: Pair) -> tuple[str, str] | None:
        """By which labels its messages count; None where the group or its topic is deleted: nobody waits for news of
        it, and it is to take nobody's place."""
        topic, group_id = pair
        group = self._metadata.group_by_id(group_id)
        if group is None or self._metadata.topic(topic) is None:
            return None if topic else (OTHER, OTHER)
        return self._topics.label(topic), self._groups.label(group.name)

    def _labels_of(self, *values: str) -> Labels:
        labels = self._labels.get(values)
        if labels is None:
            labels = self._labels[values] = Labels((*_NAMES, "cause")[: len(values)], values)
        return labels
