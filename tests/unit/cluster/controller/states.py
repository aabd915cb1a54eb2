"""Short ways to say what a partition and a membership are like."""

from cluster.metadata.membership import Membership
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.steering import NodeSteering
from cluster.model.values import NodeRegistration, PartitionState, Topic, TopicConfig
from cluster.ports.coordination import Changed, KeyValue


def partition(
    *replicas: int, isr: tuple[int, ...] | None = None, leader: int | None = None, **more: object
) -> PartitionState:
    """In sync where not said otherwise, led by the first, on the disks that `members` gives."""
    values: dict[str, object] = {
        "topic_id": "t",
        "partition": 0,
        "replicas": replicas,
        "isr": replicas if isr is None else isr,
        "leader": replicas[0] if leader is None else leader,
        "leader_incarnation": 1,
        "leader_epoch": 5,
        "partition_epoch": 10,
        "directories": tuple(f"disk-{node}" for node in replicas),
    }
    return PartitionState(**(values | more))  # type: ignore[arg-type]


def topic(*, replicas: int = 3, min_isr: int = 1, **more: object) -> Topic:
    config = TopicConfig(min_insync_replicas=min_isr)
    return Topic("t", "orders", 1, replicas, 0, config, **more)  # type: ignore[arg-type]


def node(
    node_id: int,
    *,
    incarnation: int = 1,
    disk: str = "",
    rack: str = "",
    is_leaving: bool = False,
    is_impaired: bool = False,
) -> NodeRegistration:
    return NodeRegistration(node_id, incarnation, disk or f"disk-{node_id}", "", rack, is_leaving, is_impaired)


def items(*registrations: NodeRegistration, draining: tuple[int, ...] = ()) -> list[KeyValue]:
    found = [item(keys.node(each.node_id), encode(each)) for each in registrations]
    return found + [item(keys.node_steering(each), encode(NodeSteering(each, 0))) for each in draining]


def members(*registrations: NodeRegistration, draining: tuple[int, ...] = ()) -> Membership:
    membership = Membership()
    for each in items(*registrations, draining=draining):
        membership.apply(Changed(each))
    return membership


def item(key: str, value: bytes) -> KeyValue:
    return KeyValue(key, value, 1, 1, 1)
