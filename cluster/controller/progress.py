"""How the cluster is, and how far what was asked for has come: for operators and metrics. Pure."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from cluster.controller.image import ClusterImage
from cluster.controller.leadership import is_led
from cluster.controller.replica_change import originals
from cluster.metadata.membership import Membership
from cluster.model.values import PartitionLife, PartitionState, Topic


class PartitionTrouble(Enum):
    """What a partition lacks, the worst first; each includes those behind it."""

    WITHOUT_LEADER = "withoutLeader"  # no living node leads it now
    BELOW_MIN_INSYNC = "belowMinInsync"  # acks=all is refused
    UNDER_REPLICATED = "underReplicated"  # fewer in sync than the topic asks for


@dataclass(frozen=True, slots=True)
class MoveProgress:
    """A move under way. `waiting_for` are the new replicas that are not in sync yet."""

    topic_id: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    waiting_for: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NodeProgress:
    """A drained node is empty when `replicas` is 0; then it can be stopped for good."""

    node_id: int
    address: str
    rack: str
    is_live: bool
    is_draining: bool
    is_leaving: bool
    replicas: int
    leaders: int
    newest_protocol: int


@dataclass(frozen=True, slots=True)
class ClusterProgress:
    """`without_leader`: no living node leads them now. `below_min_isr`: acks=all is refused. `under_replicated`: fewer
    in sync than the topic asks for. `decommissioned`: take no new messages, and are not gone yet."""

    nodes: tuple[NodeProgress, ...]
    moves: tuple[MoveProgress, ...]
    orders_waiting: int
    automatic_moves: bool
    partitions: int
    without_leader: int
    below_min_isr: int
    under_replicated: int
    decommissioned: int


def progress(image: ClusterImage) -> ClusterProgress:
    """All of it as the image shows it. Some 10 µs per partition."""
    moves: list[MoveProgress] = []
    counts: Counter[str] = Counter()
    replicas: Counter[int] = Counter()
    leaders: Counter[int] = Counter()
    for entry in image.catalog.entries():
        counts["orders"] += len(entry.orders)
        if entry.topic is None:
            continue
        for state in entry.partitions.values():
            if state.life is PartitionLife.GONE:
                continue
            counts["partitions"] += 1
            counts["decommissioned"] += state.life is not PartitionLife.ACTIVE
            for lack in lacks(entry.topic, state, image.membership):
                counts[lack.name] += 1
            for node in state.replicas:
                replicas[node] += 1
            leaders[state.leader] += 1
            if state.is_moving:
                moves.append(_move(state))
    return ClusterProgress(
        nodes=_nodes(image, replicas, leaders),
        moves=tuple(moves),
        orders_waiting=counts["orders"],
        automatic_moves=image.steering.automatic_moves,
        partitions=counts["partitions"],
        without_leader=counts[PartitionTrouble.WITHOUT_LEADER.name],
        below_min_isr=counts[PartitionTrouble.BELOW_MIN_INSYNC.name],
        under_replicated=counts[PartitionTrouble.UNDER_REPLICATED.name],
        decommissioned=counts["decommissioned"],
    )


def lacks(topic: Topic, state: PartitionState, membership: Membership) -> list[PartitionTrouble]:
    """What the partition lacks, the worst first; nothing where all is well."""
    in_sync = len([node for node in state.isr if membership.get(node).registration is not None])
    found = []
    if not is_led(state, membership):
        found.append(PartitionTrouble.WITHOUT_LEADER)
    if in_sync < topic.config.min_insync_replicas:
        found.append(PartitionTrouble.BELOW_MIN_INSYNC)
    if in_sync < topic.replication_factor:
        found.append(PartitionTrouble.UNDER_REPLICATED)
    return found


def troubled(image: ClusterImage) -> Iterator[tuple[PartitionState, PartitionTrouble]]:
    """The partitions that lack something, each with the worst that it lacks, by topic id and number."""
    for entry in sorted(image.catalog.entries(), key=lambda each: each.id):
        if entry.topic is None:
            continue
        for number in sorted(entry.partitions):
            state = entry.partitions[number]
            if state.life is not PartitionLife.GONE:
                found = lacks(entry.topic, state, image.membership)
                if found:
                    yield state, found[0]


def _move(state: PartitionState) -> MoveProgress:
    waiting_for = tuple(node for node in state.adding if node not in state.isr)
    return MoveProgress(state.topic_id, state.partition, originals(state), state.target, waiting_for)


def _nodes(image: ClusterImage, replicas: Counter[int], leaders: Counter[int]) -> tuple[NodeProgress, ...]:
    """Those that live, hold replicas, or are drained; one that is gone for good is none of these."""
    known = sorted({*replicas, *(member.node_id for member in image.membership.members())})
    found = []
    for node_id in known:
        member = image.membership.get(node_id)
        if member.is_live or member.is_draining or replicas[node_id]:
            registration = member.registration
            found.append(
                NodeProgress(
                    node_id=node_id,
                    address="" if registration is None else registration.address,
                    rack="" if registration is None else registration.rack,
                    is_live=member.is_live,
                    is_draining=member.is_draining,
                    is_leaving=member.is_leaving,
                    replicas=replicas[node_id],
                    leaders=leaders[node_id],
                    newest_protocol=member.newest_protocol,
                )
            )
    return tuple(found)
