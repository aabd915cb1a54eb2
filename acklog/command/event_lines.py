"""Events of the cluster, a line for each thing that is told of."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from acklog.command.printable import one_line
from acklog.command.quantities import count_text, size_text
from acklog.command.times import short_clock_text

if TYPE_CHECKING:
    from acklog.events import ClusterEvent, ClusterTotals, WatchedGroup, WatchedNode, WatchedPartition, WatchedTopic

KINDS = ("totals", "topics", "groups", "nodes", "partitions")


def event_documents(event: "ClusterEvent") -> Iterator[dict[str, Any]]:
    """For --json: `kind` and what is so now, as the API has it, or what was `removed`. Before the first of a snapshot
    comes one of the kind `snapshot`: what was told before does not hold."""
    if event.is_first:
        whole = {"reason": event.reason, "complete": event.is_complete}
        yield {"time": event.time_ms, "kind": "snapshot", **whole}
    if event.totals is not None:
        yield {"time": event.time_ms, "kind": "totals", "is": msgspec.to_builtins(event.totals)}
    for kind in KINDS[1:]:
        for thing in getattr(event, kind):
            yield {"time": event.time_ms, "kind": kind, "is": msgspec.to_builtins(thing)}
        for name in getattr(event.removed, kind):
            yield {"time": event.time_ms, "kind": kind, "removed": name}


def event_lines(event: "ClusterEvent") -> Iterator[str]:
    """For people and pipes: when, what, and how it is."""
    clock = short_clock_text(event.time_ms)
    if event.totals is not None:
        yield f"{clock}  cluster  {_totals(event.totals)}"
    for topic in event.topics:
        yield f"{clock}  topic {one_line(topic.name)}  {_topic(topic)}"
    for group in event.groups:
        yield f"{clock}  group {one_line(group.group)} in {one_line(group.topic)}  {_group(group)}"
    for node in event.nodes:
        yield f"{clock}  node {node.node}  {_node(node)}"
    for partition in event.partitions:
        yield f"{clock}  partition {one_line(partition.topic)}/{partition.partition}  {_partition(partition)}"
    for name in _removed(event):
        yield f"{clock}  {one_line(name)}  removed"


def _removed(event: "ClusterEvent") -> Iterator[str]:
    removed = event.removed
    yield from (f"topic {name}" for name in removed.topics)
    yield from (f"group {group} in {topic}" for group, topic in removed.groups)
    yield from (f"node {number}" for number in removed.nodes)
    yield from (f"partition {topic}/{number}" for topic, number in removed.partitions)


def _totals(totals: "ClusterTotals") -> str:
    parts = [
        count_text(totals.topics, "topic"),
        f"{_rate(totals.messages_per_second)} in",
        f"{_rate(totals.settled_per_second)} done",
        f"lag {count_text(totals.lag)}",
        *_some(
            ("without a leader", totals.without_leader),
            ("below min in sync", totals.below_min_insync),
            ("under-replicated", totals.under_replicated),
            ("moving", totals.moving),
        ),
    ]
    return ", ".join(parts)


def _topic(topic: "WatchedTopic") -> str:
    size = f"{size_text(topic.size_bytes)} in {count_text(topic.partitions, 'partition')}"
    return f"{_rate(topic.messages_per_second)}, {size}"


def _group(group: "WatchedGroup") -> str:
    parts = [
        f"lag {count_text(group.lag)}",
        f"{_rate(group.settled_per_second)} done",
        *_some(
            ("in flight", group.in_flight),
            ("delayed", group.delayed),
            ("blocked", group.blocked),
            ("dead letters", group.dead_lettered),
        ),
        *(["paused"] if group.is_paused else []),
    ]
    return ", ".join(parts)


def _node(node: "WatchedNode") -> str:
    state = "live" if node.is_live else "away"
    wishes = [", draining"] * node.is_draining + [", leaving"] * node.is_leaving
    return f"{state}{''.join(wishes)}, {count_text(node.replicas, 'replica')}, leads {node.leaders}"


def _partition(partition: "WatchedPartition") -> str:
    leader = "no leader" if partition.leader is None else f"leader {partition.leader}"
    parts = [leader, f"replicas {partition.replicas}, in sync {partition.in_sync}"]
    parts += [partition.trouble] if partition.trouble else []
    parts += [f"moving to {partition.moving.to_nodes}"] if partition.moving else []
    return ", ".join(parts)


def _rate(per_second: float | None) -> str:
    return "-/s" if per_second is None else f"{per_second:,.1f}/s"


def _some(*counts: tuple[str, int]) -> list[str]:
    return [f"{count_text(count)} {what}" for what, count in counts if count]
