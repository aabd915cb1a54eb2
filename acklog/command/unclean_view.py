"""What people see of an unclean election before it is done: how far the replicas go, and what would be lost."""

from typing import TYPE_CHECKING

from acklog.command.quantities import count_text
from acklog.command.views import Cell, Column, Sentence, Table, View

if TYPE_CHECKING:
    from acklog.cluster import LogReach, UncleanPlan

GROUPS_SHOWN_MAX = 20


def unclean_views(plan: "UncleanPlan") -> list[View]:
    """The replicas, the groups that would go back, and the loss in a sentence."""
    views: list[View] = [_replicas(plan)]
    behind = [each for each in plan.loss.groups if each.progress_then < each.progress] if plan.loss else []
    if behind:
        columns = [Column("group", style="name"), Column("is at", align="right"), Column("goes on at", align="right")]
        rows = [[each.group, f"{each.progress:,}", f"{each.progress_then:,}"] for each in behind[:GROUPS_SHOWN_MAX]]
        views.append(Table(columns, rows, title="Groups that would go back"))
    views.append(Sentence(unclean_text(plan), "bad"))
    if plan.order is not None:
        views.append(Sentence("Nothing is changed by looking. To have it done: --yes", "muted"))
    return views


def unclean_text(plan: "UncleanPlan") -> str:
    """What would be lost, as far as is known."""
    if plan.order is None or plan.loss is None:
        return "No replica can be elected."
    loss, place = plan.loss, f"{plan.topic}/{plan.partition}"
    count = loss.below_offset - loss.from_offset
    known = f"{count_text(count, 'offset')} ({loss.from_offset:,} to {loss.below_offset - 1:,})" if count else "nothing"
    text = f"With node {plan.order.node} as the leader {place} loses {known} that is known of."
    if loss.unknown_beyond:
        nodes = ", ".join(map(str, loss.unknown_beyond))
        text += (
            f" What node {nodes} had beyond {loss.below_offset:,} is not known: it was in sync, and cannot be asked."
        )
    return text


def _replicas(plan: "UncleanPlan") -> Table:
    columns = [
        Column("node", align="right"),
        Column("was in sync"),
        Column("messages end", align="right"),
        Column("last epoch", align="right"),
        Column("committed", align="right"),
        Column("deliveries end", align="right"),
        Column("can be elected"),
    ]
    chosen = None if plan.order is None else plan.order.node
    rows: list[list[Cell | str]] = []
    for each in plan.replicas:
        verdict = Cell(each.problem, "warning") if each.problem else Cell("yes", "good")
        if each.node == chosen:
            verdict = Cell("this one", "strong")
        rows.append(
            [
                str(each.node),
                "yes" if each.in_sync else "no",
                *_ends(each.messages),
                "unknown" if each.delivery is None else f"{each.delivery.log_end:,}",
                verdict,
            ]
        )
    return Table(columns, rows)


def _ends(reach: "LogReach | None") -> tuple[str, str, str]:
    if reach is None:
        return "unknown", "unknown", "unknown"
    return f"{reach.log_end:,}", str(reach.last_epoch), f"{reach.high_watermark:,}"
