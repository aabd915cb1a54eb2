"""`acklog cluster`: see the nodes and what moves between them, and steer it."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.arguments import TopicArgument, YesOption
from acklog.command.cluster_view import (
    node_table,
    nodes_text,
    partition_fields,
    plan_views,
    status_views,
    stuck_text,
)
from acklog.command.confirmation import confirm
from acklog.command.failures import CommandError, UsageError
from acklog.command.quantities import count_text, parse_numbers
from acklog.command.session import Session, session_of
from acklog.command.tree import CommandTyper
from acklog.command.unclean_view import unclean_text, unclean_views
from acklog.command.views import Cell, Column, Sentence, Table
from acklog.command.watching import INTERVAL_S_DEFAULT, IntervalOption, LooksOption, watch

if TYPE_CHECKING:
    from acklog import Client
    from acklog.catalog import PartitionDescription, TopicDescription
    from acklog.cluster import ClusterNode, ClusterStatus

LISTED_MAX = 10_000
PLANNED_DEFAULT = 1_000

command = CommandTyper(name="cluster", help="See a cluster's nodes and moves, and steer them.", no_args_is_help=True)

NodeArgument = Annotated[int, typer.Argument(metavar="NODE", min=1, help="The node's id.", show_default=False)]
PartitionArgument = Annotated[
    int, typer.Argument(metavar="PARTITION", min=0, help="The partition's number.", show_default=False)
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
WatchOption = Annotated[bool, typer.Option("--watch", "-w", help="Look again and again until it is done, or Ctrl-C.")]


@command.command("status")
def status(
    context: typer.Context,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", metavar="COUNT", min=1, max=LISTED_MAX, help="Moves, and partitions in trouble, shown at most."
        ),
    ] = 100,
    is_watched: Annotated[bool, typer.Option("--watch", "-w", help="Look again and again, until Ctrl-C.")] = False,
    interval_s: IntervalOption = INTERVAL_S_DEFAULT,
    looks_max: LooksOption = None,
) -> None:
    """Show the nodes, the controller, moves under way, and partitions in trouble."""
    session = session_of(context)
    with session.client() as client:
        if is_watched:
            watch(
                session,
                lambda: client.cluster.status(limit=limit),
                lambda view, seen: view.update(seen, *status_views(seen)),
                interval_s=interval_s,
                looks_max=looks_max,
            )
        else:
            seen = client.cluster.status(limit=limit)
            session.output.show(seen, *status_views(seen))


@command.command("plan")
def plan(
    context: typer.Context,
    drained: Annotated[
        list[int] | None, typer.Option("--drain", metavar="NODE", min=1, help="As if it were drained; may repeat.")
    ] = None,
    lost: Annotated[
        list[int] | None,
        typer.Option("--lost", metavar="NODE", min=1, help="As if it were away for too long; may repeat."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="COUNT", min=1, max=LISTED_MAX, help="Moves at most.")
    ] = PLANNED_DEFAULT,
) -> None:
    """Show which replicas would be moved, and why. Nothing is changed.

    Without options: what the controller would do as things are, without its pauses and limits.
    """
    session = session_of(context)
    with session.client() as client:
        found = client.cluster.plan(drain=drained or [], lost=lost or [], limit=limit)
    session.output.show(found, *plan_views(found))


@command.command("drain")
def drain(
    context: typer.Context,
    node: NodeArgument,
    is_dry_run: DryRunOption = False,
    yes: YesOption = False,
    is_watched: WatchOption = False,
    interval_s: IntervalOption = INTERVAL_S_DEFAULT,
    looks_max: LooksOption = None,
) -> None:
    """Move everything off a node, and nothing onto it. Once it holds nothing, it can be stopped for good."""
    session = session_of(context)
    with session.client() as client:
        planned = client.cluster.plan(drain=[node], limit=LISTED_MAX)
        if is_dry_run:
            session.output.show(planned, *plan_views(planned))
            return
        if planned.stuck:
            confirm(session, f"{stuck_text(planned)}. Drain node {node} anyway?", is_yes=yes)
        asked = client.cluster.drain(node)
        session.output.note(f"Node {node} is being drained: {count_text(asked.replicas, 'replica')} to be moved.")
        if is_watched:
            _watch_drain(session, client, node, interval_s, looks_max)
        else:
            session.output.show(asked, node_table([asked]))


def _watch_drain(session: Session, client: "Client", node: int, interval_s: float, looks_max: int | None) -> None:
    is_over = watch(
        session,
        client.cluster.status,
        lambda view, seen: view.update(seen, *status_views(seen)),
        interval_s=interval_s,
        looks_max=looks_max,
        is_over=lambda seen: _replicas(seen, node) == 0,
    )
    if is_over:
        session.output.note(f"Node {node} holds nothing any more: it can be stopped for good.")


def _replicas(status: "ClusterStatus", node: int) -> int:
    found: list[ClusterNode] = [each for each in status.nodes if each.node == node]
    return found[0].replicas if found else 0


@command.command("undrain")
def undrain(context: typer.Context, node: NodeArgument) -> None:
    """Let a node that is drained get replicas again."""
    session = session_of(context)
    with session.client() as client:
        client.cluster.stop_draining(node)
    session.output.note(f"Node {node} may get replicas again.")
    session.output.show({"node": node, "draining": False})


@command.command("reassign")
def reassign(
    context: typer.Context,
    topic: TopicArgument,
    partition: PartitionArgument,
    nodes: Annotated[
        str, typer.Argument(metavar="NODES", help="Node ids, the preferred leader first: 2,3,1", show_default=False)
    ],
    is_dry_run: DryRunOption = False,
    is_watched: WatchOption = False,
    interval_s: IntervalOption = INTERVAL_S_DEFAULT,
    looks_max: LooksOption = None,
) -> None:
    """Move a partition's replicas to these nodes. The old ones go when the new ones are in sync."""
    session = session_of(context)
    wanted = parse_numbers(nodes, field="NODES")
    with session.client() as client:
        if is_dry_run:
            from acklog.cluster import MoveOrder

            planned = client.cluster.plan(moves=[MoveOrder(topic, partition, wanted)])
            session.output.show(planned, *plan_views(planned))
            return
        order = client.cluster.reassign(topic, partition, wanted)
        session.output.note(f"{topic}/{partition} is to be on the nodes {nodes_text(wanted)}.")
        if is_watched:
            _watch_move(session, client, topic, partition, wanted, interval_s=interval_s, looks_max=looks_max)
        else:
            session.output.show(order)


def _watch_move(
    session: Session,
    client: "Client",
    topic: str,
    partition: int,
    wanted: list[int],
    *,
    interval_s: float,
    looks_max: int | None,
) -> None:
    def is_over(seen: "PartitionDescription") -> bool:
        return seen.replicas == wanted and seen.moving_to is None

    if watch(
        session,
        lambda: client.topics.partition(topic, partition),
        lambda view, seen: view.update(seen, partition_fields(seen)),
        interval_s=interval_s,
        looks_max=looks_max,
        is_over=is_over,
    ):
        session.output.note(f"{topic}/{partition} has moved.")


@command.command("cancel")
def cancel(context: typer.Context, topic: TopicArgument, partition: PartitionArgument) -> None:
    """Take back the move of a partition that is under way, or was asked for."""
    session = session_of(context)
    with session.client() as client:
        client.cluster.cancel(topic, partition)
    session.output.note(
        f"The move of {topic}/{partition} is taken back. The controller may find the same one again, unless it is "
        "paused: acklog cluster pause"
    )
    session.output.show({"cancelled": {"topic": topic, "partition": partition}})


@command.command("elect-unclean")
def elect_unclean(
    context: typer.Context,
    topic: TopicArgument,
    partition: PartitionArgument,
    node: Annotated[
        int | None,
        typer.Option("--node", metavar="NODE", min=1, help="Whom to elect; else the replica that loses least."),
    ] = None,
    yes: YesOption = False,
) -> None:
    """Elect a replica that was not in sync, where nobody who was is left. Messages are lost.

    First says what would be lost, and asks. Where nobody can be asked, nothing is done without --yes.
    """
    session = session_of(context)
    with session.client() as client:
        plan = client.cluster.plan_unclean(topic, partition, node=node)
        if plan.order is None or not (yes or session.surroundings.stdin.isatty()):
            session.output.show(plan, *unclean_views(plan))
            return
        if not session.output.is_json:
            session.output.show_views(*unclean_views(plan))
        confirm(session, f"{unclean_text(plan)} Do it, for good?", is_yes=yes)
        elected = client.cluster.elect_unclean(topic, partition, plan.order)
    session.output.note(f"Node {plan.order.node} leads {topic}/{partition}.")
    session.output.show(elected)


@command.command("pause")
def pause(context: typer.Context) -> None:
    """Let replicas and preferred leaders rest. Elections, drains and what is asked for go on."""
    session = session_of(context)
    with session.client() as client:
        client.cluster.pause_moves()
    session.output.note("Nothing is moved for repair or balance now. Go on: acklog cluster resume")
    session.output.show({"automaticMoves": False})


@command.command("resume")
def resume(context: typer.Context) -> None:
    """Let the controller move replicas by itself again."""
    session = session_of(context)
    with session.client() as client:
        client.cluster.resume_moves()
    session.output.note("The controller moves replicas by itself again.")
    session.output.show({"automaticMoves": True})


@command.command("decommission")
def decommission(
    context: typer.Context,
    topic: TopicArgument,
    partitions: Annotated[str, typer.Argument(metavar="PARTITIONS", help="Their numbers: 6,7", show_default=False)],
    is_dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Let partitions of a topic take no new messages, for good.

    What they hold is read until retention frees it; then they are gone. Their keys go to the partitions that are left.
    """
    session = session_of(context)
    numbers = parse_numbers(partitions, field="PARTITIONS")
    with session.client() as client:
        found = client.topics.get(topic)
        _check_numbers(found, numbers)
        going = [number for number in numbers if number not in found.decommissioned]
        if is_dry_run:
            session.output.show(*_decommission_plan(found, going))
            return
        what = f"{'partition' if len(numbers) == 1 else 'partitions'} {', '.join(map(str, numbers))} of {topic}"
        if going:
            confirm(session, f"Let {what} take no new messages, for good?", is_yes=yes)
        changed = client.topics.decommission(topic, numbers)
    verb = "takes" if len(numbers) == 1 else "take"
    told = f"{what[:1].upper()}{what[1:]} {verb} no new messages. How far it is: acklog topics show {topic}"
    session.output.note(told)
    session.output.show(changed)


def _check_numbers(topic: "TopicDescription", numbers: list[int]) -> None:
    unknown = [number for number in numbers if number >= topic.partitions]
    if unknown:
        raise UsageError(
            f"{topic.name} has the partitions 0 to {topic.partitions - 1}, not {unknown[0]}", field="PARTITIONS"
        )
    if len({*topic.decommissioned, *numbers}) == topic.partitions:
        raise CommandError(
            f"one partition of {topic.name} at least must go on taking messages",
            hint=f"To remove all: acklog topics delete {topic.name}",
        )


def _decommission_plan(topic: "TopicDescription", going: list[int]) -> tuple[dict[str, object], Table, Sentence]:
    columns = [Column("partition", align="right"), Column("messages", align="right"), Column("then")]
    rows: list[list[Cell | str]] = []
    messages: dict[int, int | None] = {}
    for state in topic.partition_states:
        if state.partition in going:
            known = state.high_watermark is not None and state.log_start is not None
            count = (state.high_watermark or 0) - (state.log_start or 0) if known else None
            messages[state.partition] = count
            what = "no new messages; gone soon" if count == 0 else "no new messages; gone when retention has freed them"
            rows.append([str(state.partition), "unknown" if count is None else f"{count:,}", what])
    left = [n for n in range(topic.partitions) if n not in going and n not in topic.decommissioned]
    document: dict[str, object] = {
        "topic": topic.name,
        "partitions": [{"partition": number, "messages": count} for number, count in messages.items()],
        "left": left,
    }
    told = f"{count_text(len(left), 'partition')} of {topic.name} would go on, and take the keys of these."
    return document, Table(columns, rows, empty="They are decommissioned already."), Sentence(told, "muted")
