"""What people see of a cluster: its nodes, moves under way, partitions in trouble, and plans."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from acklog.command.quantities import count_text
from acklog.command.views import Cell, Column, Fields, Sentence, Table, View

if TYPE_CHECKING:
    from acklog.catalog import PartitionDescription
    from acklog.cluster import ClusterNode, ClusterStatus, MovePlan

_TROUBLES = {
    "withoutLeader": Cell("no leader", "bad"),
    "belowMinInsync": Cell("sends are refused: too few in sync", "bad"),
    "underReplicated": Cell("a replica is away or behind", "warning"),
}
STUCK_SHOWN_MAX = 10


def status_views(status: "ClusterStatus") -> list[View]:
    """The cluster in a few lines, then its nodes, then what is under way and what is wrong."""
    views: list[View] = [_summary(status), node_table(status.nodes)]
    if status.moves:
        views.append(_moves(status))
    if status.troubled:
        views.append(_troubled(status))
    if not status.complete:
        views.append(Sentence("There is more of it: see --limit.", "muted"))
    return views


def _summary(status: "ClusterStatus") -> Fields:
    away = sum(not node.live for node in status.nodes)
    nodes = count_text(len(status.nodes), "node")
    rows: list[tuple[str, Cell | str]] = [
        ("nodes", Cell(f"{nodes}, {away} away", "bad") if away else nodes),
        ("controller", _controller(status)),
        ("store", Cell("reachable", "good") if status.store_reachable else Cell("away: nothing can change now", "bad")),
        ("partitions", f"{status.partitions:,}"),
    ]
    if status.embedded:
        rows[0] = ("nodes", "1 node, a server on one machine: there is nowhere to move anything")
    else:
        rows.append(("moves", _automatic(status)))
    counts = [
        ("no leader", status.without_leader, "bad"),
        ("too few in sync for sends", status.below_min_insync, "bad"),
        ("a replica away or behind", status.under_replicated, "warning"),
    ]
    rows += [
        (name, Cell(f"{count:,}", "bad" if style == "bad" else "warning")) for name, count, style in counts if count
    ]
    if not any(count for _, count, _ in counts):
        rows.append(("health", Cell("every partition is led, and has all its replicas in sync", "good")))
    if status.decommissioned:
        rows.append(("decommissioned", f"{status.decommissioned:,}"))
    return Fields(rows)


def _controller(status: "ClusterStatus") -> Cell | str:
    if status.controller is None:
        return Cell("none: no elections and no moves until there is one", "bad")
    return f"node {status.controller}"


def _automatic(status: "ClusterStatus") -> Cell | str:
    parts = []
    if status.moving:
        parts.append(f"{status.moving:,} under way")
    if status.orders_waiting:
        parts.append(f"{status.orders_waiting:,} asked for")
    if not status.automatic_moves:
        return Cell(", ".join(["paused", *parts]), "warning")
    return ", ".join(parts or ["none"])


def node_table(nodes: Iterable["ClusterNode"]) -> Table:
    """A row per node."""
    columns = [
        Column("node", align="right"),
        Column("rack"),
        Column("address", style="name"),
        Column("state"),
        Column("replicas", align="right"),
        Column("leaders", align="right"),
    ]
    rows: list[list[Cell | str]] = [
        [str(node.node), node.rack, node.address, _state(node), f"{node.replicas:,}", f"{node.leaders:,}"]
        for node in nodes
    ]
    return Table(columns, rows, empty="No node is registered.")


def _state(node: "ClusterNode") -> Cell:
    if node.draining and not node.replicas:
        return Cell("drained" if node.live else "drained, away", "good")
    if not node.live:
        return Cell("away, to be drained" if node.draining else "away", "bad")
    if node.draining:
        return Cell("draining", "warning")
    return Cell("leaving", "warning") if node.leaving else Cell("live", "good")


def _moves(status: "ClusterStatus") -> Table:
    columns = [
        Column("topic", style="name"),
        Column("partition", align="right"),
        Column("from"),
        Column("to"),
        Column("waits for"),
    ]
    rows = [
        [
            move.topic,
            str(move.partition),
            nodes_text(move.from_nodes),
            nodes_text(move.to_nodes),
            _waits(move.waiting_for),
        ]
        for move in status.moves
    ]
    return Table(columns, rows, title="Moves under way")


def _waits(nodes: Sequence[int]) -> str:
    if not nodes:
        return ""
    return f"node{'' if len(nodes) == 1 else 's'} {', '.join(map(str, nodes))} to be in sync"


def _troubled(status: "ClusterStatus") -> Table:
    columns = [
        Column("topic", style="name"),
        Column("partition", align="right"),
        Column("trouble"),
        Column("leader", align="right"),
        Column("replicas"),
        Column("in sync"),
    ]
    rows: list[list[Cell | str]] = [
        [
            each.topic,
            str(each.partition),
            _TROUBLES.get(each.trouble, Cell(each.trouble, "bad")),
            "" if each.leader is None else str(each.leader),
            nodes_text(each.replicas),
            nodes_text(each.in_sync_replicas),
        ]
        for each in status.troubled
    ]
    return Table(columns, rows, title="Partitions in trouble")


def plan_views(plan: "MovePlan") -> list[View]:
    """The moves of a dry run, and what it comes to."""
    columns = [
        Column("topic", style="name"),
        Column("partition", align="right"),
        Column("from"),
        Column("to"),
        Column("why"),
    ]
    rows = [
        [move.topic, str(move.partition), nodes_text(move.from_nodes), nodes_text(move.to_nodes), move.reason]
        for move in plan.moves
    ]
    views: list[View] = [Table(columns, rows, empty="Nothing would be moved.")]
    if plan.stuck:
        views.append(Sentence(stuck_text(plan), "bad"))
    if not plan.complete:
        views.append(Sentence(f"There are more than these {len(plan.moves):,}: see --limit.", "warning"))
    return views


def stuck_text(plan: "MovePlan") -> str:
    """Which partitions cannot be moved off the nodes that go."""
    names = [f"{each.topic}/{each.partition}" for each in plan.stuck[:STUCK_SHOWN_MAX]]
    more = f" and {len(plan.stuck) - STUCK_SHOWN_MAX:,} more" if len(plan.stuck) > STUCK_SHOWN_MAX else ""
    what = count_text(len(plan.stuck), "partition")
    return f"{what} cannot be moved away, for want of another node or of a leader: {', '.join(names)}{more}"


def partition_fields(partition: "PartitionDescription") -> Fields:
    """Where a partition is."""
    leader = Cell("none", "bad") if partition.leader is None else str(partition.leader)
    rows: list[tuple[str, Cell | str]] = [
        ("partition", Cell(f"{partition.topic}/{partition.partition}", "name")),
        ("leader", leader),
        ("replicas", nodes_text(partition.replicas)),
        ("in sync", nodes_text(partition.in_sync_replicas)),
    ]
    mark = partition.unclean_election
    if mark is not None:
        told = (
            f"{mark.count}, the last in epoch {mark.leader_epoch}: lost {mark.log_end:,} to {mark.lost_below:,} or more"
        )
        rows.append(("unclean elections", Cell(told, "bad")))
    if partition.moving_to is not None:
        rows.append(("moving to", nodes_text(partition.moving_to)))
    return Fields(rows)


def nodes_text(nodes: Sequence[int]) -> str:
    """Node ids as people write them, and as `acklog cluster reassign` takes them."""
    return ",".join(map(str, nodes))
