"""What the controller does about a state of the cluster: a pure function from what is there to transactions.

Every transaction is guarded by what it was planned from, so a stale plan changes nothing; planning again after any
interruption continues where the last one stopped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cluster import codec, keys
from cluster.coordination import (
    MAX_TRANSACTION_OPERATIONS,
    Compare,
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
class PlannedTransaction:
    compares: tuple[Compare, ...]
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class ClusterImage:
    """`topics` and `partitions` are the items of the store under their prefixes."""

    topics: Sequence[KeyValue]
    partitions: Sequence[KeyValue]


def plan_for_single_node(image: ClusterImage, *, node_id: int, incarnation: int) -> list[PlannedTransaction]:
    """Make the only node the leader of everything, in its present incarnation.

    - a topic's missing partitions are created (a new topic, a grown one, a creation that was interrupted);
    - a partition led by an earlier incarnation gets the present one and a new leader epoch, before anything is
      appended (rules R1, R10);
    - partitions of topics that are gone are deleted.
    """
    topics = {(topic := codec.decode(Topic, item.value)).id: topic for item in image.topics}
    known = {item.key: item for item in image.partitions}
    steps: list[tuple[Compare, Operation]] = []
    for topic in topics.values():
        for number in range(topic.partitions):
            key = keys.partition(topic.id, number)
            item = known.pop(key, None)
            if item is None:
                state = PartitionState(
                    topic.id, number, (node_id,), (node_id,), node_id, incarnation, FIRST_LEADER_EPOCH
                )
                steps.append((absent(key), Put(key, codec.encode(state))))
                continue
            state = codec.decode(PartitionState, item.value)
            if state.leader != node_id or state.leader_incarnation != incarnation:
                elected = PartitionState(
                    topic.id,
                    number,
                    state.replicas,
                    state.isr,
                    node_id,
                    incarnation,
                    state.leader_epoch + 1,
                )
                steps.append((unchanged(item), Put(key, codec.encode(elected))))
    steps += [(unchanged(item), Delete(item.key)) for item in _orphans(known, topics)]
    return [
        PlannedTransaction(tuple(compare for compare, _ in chunk), tuple(operation for _, operation in chunk))
        for chunk in _chunks(steps, MAX_TRANSACTION_OPERATIONS)
    ]


def _orphans(known: Mapping[str, KeyValue], topics: Mapping[str, Topic]) -> list[KeyValue]:
    return [item for item in known.values() if codec.decode(PartitionState, item.value).topic_id not in topics]


def _chunks(steps: list[tuple[Compare, Operation]], size: int) -> list[list[tuple[Compare, Operation]]]:
    return [steps[start : start + size] for start in range(0, len(steps), size)]
