"""What the controller decides: a machine without I/O, fed with the image of the cluster and the time.

Every step is guarded by what it was decided on: the keys it writes, the topic where that matters, the registrations (or
their absence) of all nodes concerned, and what operators want of those that get something. So a step that comes late,
or twice, or from a controller that is not alone, changes nothing that it should not; and whenever a guard fails, the
news of what made it fail is on its way.

- Whatever changed is ruled on at once: missing partitions are created, `cluster.controller.partition_rules` is applied,
  and what a deleted topic or group left behind is deleted, on its tombstone only (R13).
- Once in a while a round (`cluster.controller.round`) starts moves of replicas and moves leaderships gently.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cluster.controller.catalog_image import Entry
from cluster.controller.image import ClusterImage
from cluster.controller.leadership import NEW_LEADER_EPOCH
from cluster.controller.node_times import NodeTimes
from cluster.controller.partition_rules import rule
from cluster.controller.planner_settings import PlannerSettings
from cluster.controller.replica_placement import ReplicaPlacement
from cluster.controller.round import Round
from cluster.controller.steps import Decision, DecisionKind, Step
from cluster.metadata.membership import Membership
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.mapping_starts import starts_of_new_partition
from cluster.model.values import PartitionLife, PartitionState, Topic
from cluster.ports.coordination import Delete, KeyValue, Put, absent, unchanged


@dataclass(frozen=True, slots=True)
class Plan:
    """`next_deadline_ms`: when to ask again even if nothing changes; None for never."""

    steps: tuple[Step, ...]
    next_deadline_ms: int | None


class Planner:
    """One for each time that a node is controller. Times are those of the caller's monotonic clock."""

    def __init__(self, settings: PlannerSettings | None = None) -> None:
        self._settings = settings or PlannerSettings()
        self._times = NodeTimes()
        self._seen_version = -1
        self._round_at_ms: int | None = None
        self._due_ms: int | None = None

    def plan(self, image: ClusterImage, now_ms: int) -> Plan:
        """What is to be done now, given that everything planned before was done, has failed, or shows in the image."""
        steps: dict[str, Step] = {}
        creation = _Creation(image)
        for entry in image.take_changed():
            for step in [*plan_entry(entry, image.membership), *creation.steps(entry)]:
                steps[step.operation.key] = step
        if self._settings.moves_max == 0 and self._settings.leader_moves_max == 0:
            return Plan(_most_urgent_first(steps.values()), None)
        if self._is_round_due(image, now_ms):
            holders = [node for entry in image.catalog.entries() for node in _holders(entry)]
            self._times.observe(image.membership, dict.fromkeys(holders), now_ms)
            this_round = Round(image, self._times, now_ms, self._settings, taken=steps)
            for step in this_round.steps():
                steps[step.operation.key] = step
            self._seen_version = -1 if this_round.left_something else image.version
            self._round_at_ms = now_ms
            self._due_ms = self._times.next_due_ms(
                now_ms,
                away_ms=self._settings.repair_delay_ms,
                lived_ms=(self._settings.preferred_delay_ms, self._settings.balance_delay_ms),
            )
        return Plan(_most_urgent_first(steps.values()), self._next_deadline_ms(image))

    def _is_round_due(self, image: ClusterImage, now_ms: int) -> bool:
        deadline_ms = self._next_deadline_ms(image)
        return deadline_ms is not None and now_ms >= deadline_ms

    def _next_deadline_ms(self, image: ClusterImage) -> int | None:
        """Of the next round."""
        if self._round_at_ms is None:
            return _AT_ONCE_MS
        earliest_ms = self._round_at_ms + self._settings.round_interval_ms
        if image.version != self._seen_version:
            return earliest_ms
        return None if self._due_ms is None else max(self._due_ms, earliest_ms)


_AT_ONCE_MS = -(10**15)


def _most_urgent_first(steps: Iterable[Step]) -> tuple[Step, ...]:
    """A partition that gets a leader has a way to go until it serves; the others serve already, or are not served by
    what they get. So when a node dies, its elections are in the first transactions."""
    return tuple(sorted(steps, key=lambda step: not step.elects_leader))


def plan_entry(entry: Entry, membership: Membership) -> list[Step]:
    """What has to be done at once about what there is under one topic's or group's id."""
    if entry.topic is not None:
        return [
            step
            for number in sorted(entry.partitions)
            if (step := _ruled(entry, number, entry.topic, membership)) is not None
        ]
    if entry.tombstone_item is not None and entry.topic_item is None:
        return _remove_remains(entry, entry.tombstone_item)
    return []


def _ruled(entry: Entry, number: int, topic: Topic, membership: Membership) -> Step | None:
    state, item = entry.partitions[number], entry.partition_items[number]
    ruling = rule(state, topic, membership)
    if ruling is None:
        return None
    guards = (unchanged(item), *membership.guards(state.replicas))
    return Step(guards, Put(item.key, encode(ruling.state)), ruling.decisions)


def plan_forgetting(entry: Entry, *, deleted_before_ms: int) -> list[Step]:
    """Drop the tombstone of an id of which nothing is left and that was deleted long ago."""
    if entry.tombstone is None or entry.tombstone_item is None:
        return []
    if entry.topic_item is not None or entry.partition_items or entry.dependent_keys or entry.order_items:
        return []
    if entry.tombstone.deleted_at_ms >= deleted_before_ms:
        return []
    return [Step((unchanged(entry.tombstone_item),), Delete(entry.tombstone_item.key))]


def placement_of(image: ClusterImage) -> ReplicaPlacement:
    """Where all replicas are, or will be when the moves under way are complete."""
    placement = ReplicaPlacement(image.membership)
    for entry in image.catalog.entries():
        if entry.topic is not None:
            for number, state in entry.partitions.items():
                if state.life is not PartitionLife.GONE:
                    placement.place((entry.id, number), state.target)
    return placement


class _Creation:
    """Creates what topics lack: new topics, grown ones, and those whose creation was cut short. Each placement counts
    for the next."""

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self._placement: ReplicaPlacement | None = None

    def steps(self, entry: Entry) -> list[Step]:
        topic, item, membership = entry.topic, entry.topic_item, self._image.membership
        if topic is None or item is None:
            return []
        missing = [number for number in range(topic.partitions) if number not in entry.partition_items]
        if not missing:
            return []
        if self._placement is None:
            is_alone = len(membership.usable()) <= 1  # then there is nothing to weigh
            self._placement = ReplicaPlacement(membership) if is_alone else placement_of(self._image)
        steps = []
        for number in missing:
            replicas = self._placement.fresh(topic.id, topic.replication_factor)
            if not replicas:
                return []
            self._placement.place((topic.id, number), replicas)
            steps.append(_created(topic, item, number, replicas, membership))
        return steps


def _created(
    topic: Topic, topic_item: KeyValue, number: int, replicas: tuple[int, ...], membership: Membership
) -> Step:
    """A new partition is empty everywhere, so every replica is in sync."""
    registrations = [membership.get(node).registration for node in replicas]
    directories = tuple("" if each is None else each.directory_id for each in registrations)
    assert registrations[0] is not None
    key = keys.partition(topic.id, number)
    state = PartitionState(
        topic_id=topic.id,
        partition=number,
        replicas=replicas,
        isr=replicas,
        leader=replicas[0],
        leader_incarnation=registrations[0].incarnation,
        leader_epoch=NEW_LEADER_EPOCH,
        directories=directories if any(directories) else (),
        life=PartitionLife.DECOMMISSIONED if number in topic.decommissioned else PartitionLife.ACTIVE,
        mapping_starts=starts_of_new_partition(topic),
    )
    decision = Decision(DecisionKind.PARTITION_CREATED, topic.id, number, f"led by node {state.leader}")
    guards = (absent(key), unchanged(topic_item), *membership.placement_guards(replicas))
    return Step(guards, Put(key, encode(state)), (decision,))


def _remove_remains(entry: Entry, tombstone_item: KeyValue) -> list[Step]:
    guard = unchanged(tombstone_item)
    remains = [entry.partition_items[number].key for number in sorted(entry.partition_items)]
    remains += [entry.order_items[number].key for number in sorted(entry.order_items)]
    decision = Decision(DecisionKind.REMAINS_REMOVED, entry.id, -1, "its topic or group was deleted")
    return [Step((guard,), Delete(key), (decision,)) for key in [*remains, *sorted(entry.dependent_keys)]]


def _holders(entry: Entry) -> list[int]:
    return [node for state in entry.partitions.values() for node in state.replicas]
