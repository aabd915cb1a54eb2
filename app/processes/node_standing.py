"""What a node of a cluster knows of itself that whoever restarts nodes one by one has to know."""

import asyncio
from collections.abc import Iterator

from app.processes.cluster_node import ClusterNode
from cluster.model.partition_standing import is_expected, is_in_sync, is_needed
from cluster.model.values import PartitionState, Topic

NAMED_MAX = 3
"""Partitions that a reason names."""


def why_not_in_sync(node: ClusterNode) -> str | None:
    """What is missing before the next node may be restarted; None when this one serves, is registered, is in sync in
    every partition that it should have, and leads it or has heard from who does since it follows.

    The state in etcd alone would not do: who was away for a moment only is still in sync by it, and sends wait for it.
    """
    reason = node.why_not_ready or _why_not_registered(node)
    if reason is not None:
        return reason
    me = node.settings.node_id
    held = {(each.topic.id, each.number): each for each in node.node.replicas()}
    missing: list[str] = []
    for topic, state in _partitions(node):
        if not is_expected(state, me):
            continue
        replica = held.get((state.topic_id, state.partition))
        is_fit = replica is not None and (replica.is_serving or replica.is_following)
        if not is_fit or not is_in_sync(state, me, node.node.logs.directory_id):
            missing.append(f"{topic.name}/{state.partition}")
    return f"the node is not in sync in {_some(missing)}" if missing else None


def why_not_stoppable(node: ClusterNode) -> str | None:
    """Why a stop of this node should wait for others: partitions would take no writes without it that could do without
    it later. None when nothing is gained by waiting."""
    reason = _why_not_registered(node)
    if reason is not None:
        return reason
    me = node.settings.node_id
    staying = {
        each.node_id
        for each in node.metadata.nodes()
        if each.node_id != me and not each.is_leaving and not each.has_impaired_storage
    }
    needed = [
        f"{topic.name}/{state.partition}"
        for topic, state in _partitions(node)
        if is_needed(state, me, staying=staying, min_insync_replicas=topic.config.min_insync_replicas)
    ]
    return f"too few others are in sync in {_some(needed)}" if needed else None


async def wait_until_stoppable(node: ClusterNode, *, wait_ms: int) -> str | None:
    """Return None once the node may stop, or why it still may not after `wait_ms`. A node that leaves already, or has
    to end, waits for nothing."""
    changed = asyncio.Event()
    unsubscribe = node.metadata.subscribe(changed.set)
    try:
        async with asyncio.timeout(wait_ms / 1000):
            while not node.is_leaving and node.end.reason is None and why_not_stoppable(node) is not None:
                changed.clear()
                await changed.wait()
            return None
    except TimeoutError:
        return why_not_stoppable(node)
    finally:
        unsubscribe()


def _why_not_registered(node: ClusterNode) -> str | None:
    return (
        None if node.node.is_registered() else "the node is not registered in etcd, so it may not know how things are"
    )


def _partitions(node: ClusterNode) -> Iterator[tuple[Topic, PartitionState]]:
    for topic in node.metadata.topics():
        for state in node.metadata.partitions(topic.id):
            yield topic, state


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:NAMED_MAX])
    return shown if len(names) <= NAMED_MAX else f"{shown} and {len(names) - NAMED_MAX} other partitions"
