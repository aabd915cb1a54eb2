"""The calls that look at a cluster and steer it."""

from collections.abc import Sequence

from acklog.client.call import JSON, Call, Request, encode_document, read_as, read_nothing, segment, target
from acklog.cluster import (
    ClusterNode,
    ClusterStatus,
    MoveOrder,
    MovePlan,
    UncleanElected,
    UncleanOrder,
    UncleanPlan,
)

_read_status = read_as(ClusterStatus)
_read_plan = read_as(MovePlan)
_read_node = read_as(ClusterNode)
_read_order = read_as(MoveOrder)
_read_unclean_plan = read_as(UncleanPlan)
_read_unclean_elected = read_as(UncleanElected)


def status(limit: int | None) -> Call[ClusterStatus]:
    return Call(Request("GET", target("/cluster", [("limit", limit)])), _read_status)


def plan(*, drain: Sequence[int], lost: Sequence[int], moves: Sequence[MoveOrder], limit: int | None) -> Call[MovePlan]:
    document: dict[str, object] = {"drain": list(drain), "lost": list(lost), "moves": list(moves)}
    if limit is not None:
        document["limit"] = limit
    return Call(Request("POST", "/cluster/plan", encode_document(document), JSON), _read_plan)


def drain(node: int) -> Call[ClusterNode]:
    return Call(Request("PUT", f"/cluster/nodes/{segment(str(node))}/drain"), _read_node)


def stop_draining(node: int) -> Call[None]:
    return Call(Request("DELETE", f"/cluster/nodes/{segment(str(node))}/drain"), read_nothing)


def reassign(topic: str, partition: int, replicas: Sequence[int]) -> Call[MoveOrder]:
    body = encode_document({"replicas": list(replicas)})
    return Call(Request("PUT", _move(topic, partition), body, JSON), _read_order)


def cancel(topic: str, partition: int) -> Call[None]:
    return Call(Request("DELETE", _move(topic, partition)), read_nothing)


def plan_unclean(topic: str, partition: int, node: int | None) -> Call[UncleanPlan]:
    body = encode_document({} if node is None else {"node": node})
    return Call(Request("POST", f"{_unclean(topic, partition)}/plan", body, JSON), _read_unclean_plan)


def elect_unclean(topic: str, partition: int, order: UncleanOrder) -> Call[UncleanElected]:
    return Call(Request("POST", _unclean(topic, partition), encode_document(order), JSON), _read_unclean_elected)


def pause_moves() -> Call[None]:
    return Call(Request("PUT", "/cluster/pause"), read_nothing)


def resume_moves() -> Call[None]:
    return Call(Request("DELETE", "/cluster/pause"), read_nothing)


def _unclean(topic: str, partition: int) -> str:
    return f"/cluster/partitions/{segment(topic)}/{segment(str(partition))}/unclean-election"


def _move(topic: str, partition: int) -> str:
    return f"/cluster/moves/{segment(topic)}/{segment(str(partition))}"
