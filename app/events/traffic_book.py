"""How fast logs grow and groups go on, by what partitions' leaders said of them, one look after the other. Sans-IO."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from app.events.look_turns import Place
from storage.rpc.messages import GroupPosition, PositionsResponse

LOOKS_APART_MS = 100
"""Two looks that are closer say nothing of a pace."""


@dataclass(slots=True)
class GroupTraffic:
    """A group in one partition, or the sum of several. `oldest_append_ms` -1: all is done, or nobody knows."""

    lag: int = 0
    in_flight: int = 0
    delayed: int = 0
    blocked: int = 0
    dead_lettered: int = 0
    settled: int = 0
    settled_per_second: float = 0.0
    dead_lettered_per_second: float = 0.0
    oldest_append_ms: int = -1

    def add(self, other: "GroupTraffic") -> None:
        self.lag += other.lag
        self.in_flight += other.in_flight
        self.delayed += other.delayed
        self.blocked += other.blocked
        self.dead_lettered += other.dead_lettered
        self.settled_per_second += other.settled_per_second
        self.dead_lettered_per_second += other.dead_lettered_per_second
        known = [each for each in (self.oldest_append_ms, other.oldest_append_ms) if each >= 0]
        self.oldest_append_ms = min(known, default=-1)


@dataclass(slots=True)
class PartitionTraffic:
    """As of the look at `at_ms`. The rates are None before the second look."""

    at_ms: int
    log_start: int
    end: int
    size_bytes: int
    messages_per_second: float | None = None
    bytes_per_second: float | None = None
    groups: dict[str, GroupTraffic] = field(default_factory=dict)
    turn: int = 0


@dataclass(slots=True)
class TopicTraffic:
    messages_per_second: float | None = None
    bytes_per_second: float | None = None
    size_bytes: int = 0
    groups: dict[str, GroupTraffic] = field(default_factory=dict)


class TrafficBook:
    """By topic's id and group's id."""

    def __init__(self) -> None:
        self._partitions: dict[str, dict[int, PartitionTraffic]] = {}

    def note(self, place: Place, answer: PositionsResponse, *, asked_of: str, at_ms: int) -> bool:
        """Whether something went on there since the look before. `asked_of` is the group whose oldest message the
        leader was asked for."""
        topic_id, number = place
        known = self._partitions.setdefault(topic_id, {})
        before = known.get(number)
        apart_ms = 0 if before is None else at_ms - before.at_ms
        if before is not None and apart_ms < LOOKS_APART_MS:
            return True
        found = PartitionTraffic(at_ms, answer.log_start, answer.high_watermark, answer.size_bytes)
        if before is not None:
            found.turn = before.turn
            found.messages_per_second = _pace(answer.high_watermark - before.end, apart_ms)
            has_same_start = answer.log_start == before.log_start
            found.bytes_per_second = _pace(answer.size_bytes - before.size_bytes, apart_ms) if has_same_start else 0.0
        for position in answer.groups:
            earlier = None if before is None else before.groups.get(position.group_id)
            found.groups[position.group_id] = _group_traffic(position, answer, earlier, apart_ms, asked_of)
        known[number] = found
        return before is not None and (found.end != before.end or _differ(found.groups, before.groups))

    def group_to_ask_of(self, place: Place) -> str:
        """Whose oldest message that is not done is to be asked for: of the groups that have some, each in its turn."""
        found = self._partitions.get(place[0], {}).get(place[1])
        if found is None:
            return ""
        lagging = [group_id for group_id, each in found.groups.items() if each.lag]
        if not lagging:
            return ""
        found.turn += 1
        return lagging[found.turn % len(lagging)]

    def topic(self, topic_id: str) -> TopicTraffic:
        """The sum over its partitions."""
        total = TopicTraffic()
        for each in self._partitions.get(topic_id, {}).values():
            total.size_bytes += each.size_bytes
            if each.messages_per_second is not None and each.bytes_per_second is not None:
                total.messages_per_second = (total.messages_per_second or 0.0) + each.messages_per_second
                total.bytes_per_second = (total.bytes_per_second or 0.0) + each.bytes_per_second
            for group_id, traffic in each.groups.items():
                total.groups.setdefault(group_id, GroupTraffic()).add(traffic)
        return total

    def forget_all_but(self, is_there: Callable[[str], object]) -> None:
        for topic_id in [each for each in self._partitions if not is_there(each)]:
            del self._partitions[topic_id]

    def topic_ids(self) -> Iterator[str]:
        yield from self._partitions


def summed(topics: Iterable[TopicTraffic]) -> tuple[TopicTraffic, GroupTraffic]:
    """All topics together, and all groups."""
    total, of_groups = TopicTraffic(0.0, 0.0), GroupTraffic()
    for each in topics:
        total.messages_per_second = (total.messages_per_second or 0.0) + (each.messages_per_second or 0.0)
        total.bytes_per_second = (total.bytes_per_second or 0.0) + (each.bytes_per_second or 0.0)
        total.size_bytes += each.size_bytes
        for traffic in each.groups.values():
            of_groups.add(traffic)
    return total, of_groups


def _group_traffic(
    position: GroupPosition, answer: PositionsResponse, before: GroupTraffic | None, apart_ms: int, asked_of: str
) -> GroupTraffic:
    done = position.progress + position.done_above
    found = GroupTraffic(
        lag=max(0, answer.high_watermark - done),
        in_flight=position.in_flight,
        delayed=position.delayed,
        blocked=position.blocked,
        dead_lettered=position.dead_lettered,
        settled=done - position.lost,
    )
    if before is not None:
        found.settled_per_second = _pace(found.settled - before.settled, apart_ms)
        found.dead_lettered_per_second = _pace(found.dead_lettered - before.dead_lettered, apart_ms)
    if found.lag and position.group_id == asked_of:
        found.oldest_append_ms = position.oldest_append_ms
    elif found.lag and before is not None:
        found.oldest_append_ms = before.oldest_append_ms
    return found


def _pace(count: int, apart_ms: int) -> float:
    """A log that was cut, or a group that went back, has no pace."""
    return max(0, count) * 1000 / apart_ms


def _differ(groups: dict[str, GroupTraffic], before: dict[str, GroupTraffic]) -> bool:
    return groups.keys() != before.keys() or any(
        (each.settled, each.in_flight, each.dead_lettered)
        != (before[name].settled, before[name].in_flight, before[name].dead_lettered)
        for name, each in groups.items()
    )
