"""What a doctor looks at in a cluster as a whole."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from acklog.command.checkup import Check, fail, names_text, ok, warn
from acklog.command.quantities import count_text

if TYPE_CHECKING:
    from acklog.cluster import ClusterNode, ClusterStatus

_UPGRADE = "Install the version of the others there, one node at a time."
_START = "Start them: their replicas catch up by themselves. One that is gone for good: acklog cluster drain NODE."
_STATUS = "See which nodes are away, and what these partitions wait for: acklog cluster status."


def cluster_checks(status: "ClusterStatus") -> Iterator[Check]:
    """Who is there and of which version, who decides, and whether each partition has who it needs."""
    yield _nodes(status)
    if status.embedded:
        return
    if status.controller is None or not status.store_reachable:
        lacks = "no node is the controller" if status.store_reachable else "the coordination store does not answer"
        yield warn("controller", f"{lacks}: no leader is elected and nothing can change now", _STATUS)
    yield _partitions(status)


def _nodes(status: "ClusterStatus") -> Check:
    """Whether all who hold something live, side by side with who knows the same."""
    live = [node for node in status.nodes if node.live]
    too_old = [str(node.node) for node in live if node.protocol < status.needed_protocol]
    if too_old:
        finding = f"of a version that cannot serve some group that there is: node {names_text(too_old)}"
        return fail("nodes", finding, _UPGRADE)
    away = [f"{each.node} ({count_text(each.replicas, 'replica')})" for each in status.nodes if _is_missed(each)]
    if away:
        return warn("nodes", f"away, and holding replicas: node {names_text(away)}", _START)
    newest = max((node.protocol for node in live), default=0)
    earlier = [str(node.node) for node in live if node.protocol < newest]
    if earlier:
        return warn("nodes", f"of an earlier version than others: node {names_text(earlier)}", _UPGRADE)
    return ok("nodes", f"{count_text(len(live), 'node')}, all of one version")


def _is_missed(node: "ClusterNode") -> bool:
    return not node.live and node.replicas > 0


def _partitions(status: "ClusterStatus") -> Check:
    """By the worst that any of them lacks: who lacks more is in the counts of what is less bad, too."""
    for trouble, count, finding in (
        ("withoutLeader", status.without_leader, "{} without a leader: nobody can send to them or receive from them"),
        (
            "belowMinInsync",
            status.below_min_insync,
            "{} with fewer replicas in sync than sends need: these are refused",
        ),
        ("underReplicated", status.under_replicated, "{} with a replica that is away or behind; sends go on"),
    ):
        if not count:
            continue
        named = [f"{each.topic} {each.partition}" for each in status.troubled if each.trouble == trouble]
        text = finding.format(count_text(count, "partition")) + (f" ({names_text(named)})" if named else "")
        return (warn if trouble == "underReplicated" else fail)("replicas", text, _STATUS)
    return ok("replicas", f"{count_text(status.partitions, 'partition')}, each led, and with all replicas in sync")
