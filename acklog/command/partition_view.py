"""The partitions of a topic as a table: what each holds, and where it is."""

from typing import TYPE_CHECKING

from acklog.command.cluster_view import nodes_text
from acklog.command.quantities import size_text
from acklog.command.views import Cell, Column, Table

if TYPE_CHECKING:
    from acklog.catalog import PartitionState, TopicDescription

_CONTENTS = ("from", "to", "messages", "size")
_PLACES = ("leader", "replicas", "in sync")


def partition_table(topic: "TopicDescription") -> Table:
    """A row per partition. Where there is one replica of each, and all is well, it does not say where they are."""
    states = topic.partition_states
    has_places = any(len(state.replicas) > 1 for state in states)
    has_remarks = any(_remark(state).text for state in states)
    columns = [
        Column("partition", align="right"),
        *(Column(name, align="right") for name in _CONTENTS),
        *(Column(name) for name in _PLACES if has_places),
        *([Column("remark")] if has_remarks else []),
    ]
    rows = [
        [
            str(state.partition),
            *_contents(state),
            *(_places(state) if has_places else []),
            *([_remark(state)] if has_remarks else []),
        ]
        for state in states
    ]
    return Table(columns, rows)


def _contents(state: "PartitionState") -> list[str]:
    if state.problem is not None or state.log_start is None or state.high_watermark is None:
        return [""] * len(_CONTENTS)
    count = state.high_watermark - state.log_start
    return [f"{state.log_start:,}", f"{state.high_watermark:,}", f"{count:,}", size_text(state.size_bytes or 0)]


def _places(state: "PartitionState") -> list[Cell | str]:
    leader = Cell("none", "bad") if state.leader is None and state.replicas else str(state.leader or "")
    is_whole = set(state.replicas) == set(state.in_sync_replicas)
    in_sync = Cell(nodes_text(state.in_sync_replicas), "" if is_whole else "warning")
    return [leader, nodes_text(state.replicas), in_sync]


def _remark(state: "PartitionState") -> Cell:
    if state.problem is not None:
        return Cell(f"{state.problem.code}: {state.problem.detail}", "bad")
    if state.life != "active":
        return Cell(state.life, "warning")
    if state.log_start is None or state.high_watermark is None:
        return Cell("no leader", "bad")
    if state.moving_to is not None:
        return Cell(f"moves to {nodes_text(state.moving_to)}", "warning")
    return Cell("")
