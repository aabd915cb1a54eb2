"""What the controller of a single node decides: a pure function from what is known to guarded transactions.

Each step is guarded by what it was decided on, so that a step which comes late, or twice, or from a controller that is
not alone, changes nothing that it should not:

- a partition that this node leads in an older incarnation gets the present one and the next leader epoch: every start
  of a leader takes a new epoch before it appends (rules R1, R8, R10);
- a topic's missing partitions (a new topic, a grown one, a creation that was cut short) are created, as long as the
  topic is what it was read as;
- what a deleted topic or group left behind is deleted on its tombstone only, never because something looks empty (R13).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cluster import keys
from cluster.codec import encode
from cluster.controller.catalog import Entry
from cluster.coordination import (
    MAX_TRANSACTION_OPERATIONS,
    Compare,
    CompareTarget,
    Delete,
    KeyValue,
    Operation,
    Put,
    absent,
    unchanged,
)
from cluster.model import PartitionState, Topic

FIRST_LEADER_EPOCH = 1


@dataclass(frozen=True, slots=True)
class Leader:
    """A node in one of its lives."""

    node_id: int
    incarnation: int


@dataclass(frozen=True, slots=True)
class Step:
    """One operation and what it was decided on."""

    guards: tuple[Compare, ...]
    operation: Operation


@dataclass(frozen=True, slots=True)
class PlannedTransaction:
    compares: tuple[Compare, ...]
    operations: tuple[Operation, ...]


def plan(entry: Entry, leader: Leader) -> list[Step]:
    """What has to be done about one topic's or group's id; nothing when all is as it should be."""
    if entry.topic is not None and entry.topic_item is not None:
        return [*_take_over(entry, leader), *_create_missing(entry, entry.topic, entry.topic_item, leader)]
    if entry.tombstone_item is not None:
        return _remove_remains(entry, entry.tombstone_item)
    return []


def plan_forgetting(entry: Entry, *, deleted_before_ms: int) -> list[Step]:
    """Drop the tombstone of an id of which nothing is left and that was deleted long ago."""
    if entry.tombstone is None or entry.tombstone_item is None:
        return []
    if entry.topic_item is not None or entry.partition_items or entry.offsets_keys:
        return []
    if entry.tombstone.deleted_at_ms >= deleted_before_ms:
        return []
    return [Step((unchanged(entry.tombstone_item),), Delete(entry.tombstone_item.key))]


def pack(steps: Iterable[Step]) -> list[PlannedTransaction]:
    """As few transactions as the limit of operations and compares allows, in the order of the steps."""
    packed: list[PlannedTransaction] = []
    compares: dict[tuple[str, CompareTarget], Compare] = {}
    operations: list[Operation] = []
    for step in steps:
        more = {(guard.key, guard.target): guard for guard in step.guards}
        if len(operations) == MAX_TRANSACTION_OPERATIONS or len(compares | more) > MAX_TRANSACTION_OPERATIONS:
            packed.append(PlannedTransaction(tuple(compares.values()), tuple(operations)))
            compares, operations = {}, []
        compares |= more
        operations.append(step.operation)
    if operations:
        packed.append(PlannedTransaction(tuple(compares.values()), tuple(operations)))
    return packed


def _take_over(entry: Entry, leader: Leader) -> list[Step]:
    steps = []
    for number in sorted(entry.partitions):
        state = entry.partitions[number]
        if state.leader == leader.node_id and state.leader_incarnation != leader.incarnation:
            item = entry.partition_items[number]
            taken = PartitionState(
                topic_id=state.topic_id,
                partition=state.partition,
                replicas=state.replicas,
                isr=state.isr,
                leader=leader.node_id,
                leader_incarnation=leader.incarnation,
                leader_epoch=state.leader_epoch + 1,
            )
            steps.append(Step((unchanged(item),), Put(item.key, encode(taken))))
    return steps


def _create_missing(entry: Entry, topic: Topic, topic_item: KeyValue, leader: Leader) -> list[Step]:
    steps = []
    for number in range(topic.partitions):
        if number not in entry.partition_items:
            key = keys.partition(topic.id, number)
            created = PartitionState(
                topic_id=topic.id,
                partition=number,
                replicas=(leader.node_id,),
                isr=(leader.node_id,),
                leader=leader.node_id,
                leader_incarnation=leader.incarnation,
                leader_epoch=FIRST_LEADER_EPOCH,
            )
            steps.append(Step((absent(key), unchanged(topic_item)), Put(key, encode(created))))
    return steps


def _remove_remains(entry: Entry, tombstone_item: KeyValue) -> list[Step]:
    guard = unchanged(tombstone_item)
    remains = [entry.partition_items[number].key for number in sorted(entry.partition_items)]
    return [Step((guard,), Delete(key)) for key in [*remains, *sorted(entry.offsets_keys)]]
