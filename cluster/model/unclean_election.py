"""Unclean election: an operator has a replica elected that was not in sync, as nobody who was is left (rule R9).

Pure. Never decided by the controller: it loses what was acknowledged. Whoever writes what is decided here guards it
with the revision that it was decided on, with the registration of whom it elects, and with the absence of everybody
who could be elected without a loss (rules R8, R17).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import NodeRegistration, PartitionState, UncleanElection


@dataclass(frozen=True, slots=True)
class LogReach:
    """How far one log of a replica goes. `last_epoch` is that of its last record, -1 where that is not known; below
    `high_watermark` it knows everything to be committed."""

    log_start: int
    log_end: int
    last_epoch: int
    high_watermark: int


@dataclass(frozen=True, slots=True)
class ReplicaReport:
    """What a node says of its replica, in the life and with the directory that it says so from."""

    node: int
    incarnation: int
    directory_id: str
    messages: LogReach
    delivery: LogReach
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class Loss:
    """Messages from `log_end` on are lost, below `lost_below` as far as is known. `unasked` are nodes that may have had
    more: they were in sync, and nobody can ask them."""

    log_end: int
    lost_below: int
    unasked: tuple[int, ...]


def refuse_while_clean(state: PartitionState, living: Mapping[int, NodeRegistration]) -> None:
    """Raises ServerError CLEAN_ELECTION_POSSIBLE: there is a leader, or somebody may be elected without a loss."""
    leader = living.get(state.leader)
    if leader is not None and leader.incarnation == state.leader_incarnation and state.leader in state.isr:
        raise _clean(f"node {state.leader} leads the partition, and lives")
    for node in state.isr:
        if node in living and state.directory_of(node) in {"", living[node].directory_id}:
            raise _clean(f"node {node} is in sync and registered: the controller elects it")


def why_not(report: ReplicaReport, state: PartitionState, living: Mapping[int, NodeRegistration]) -> str | None:
    """Why this replica cannot be elected; None where it can."""
    registration = living.get(report.node)
    if report.node not in state.replicas:
        return "it holds no replica"
    if registration is None:
        return "it is not registered"
    if (report.incarnation, report.directory_id) != (registration.incarnation, registration.directory_id):
        return "it was started again meanwhile"
    if state.directory_of(report.node) not in {"", registration.directory_id}:
        return "its data directory is a new one: its replica begins anew"
    if report.is_damaged:
        return "its copy is damaged"
    if registration.has_impaired_storage:
        return "its disk takes nothing now"
    if report.messages.log_end == 0:
        return "its log is empty: it has begun anew, or never got anything"
    return None


def longest(reports: Iterable[ReplicaReport]) -> ReplicaReport | None:
    """Whoever loses least: by the epoch of the last message, then by how far the messages go, then the deliveries."""
    return max(
        reports,
        key=lambda each: (
            each.messages.last_epoch,
            each.messages.log_end,
            each.delivery.last_epoch,
            each.delivery.log_end,
            -each.node,
        ),
        default=None,
    )


def loss_by(
    chosen: ReplicaReport, reports: Iterable[ReplicaReport], state: PartitionState, known_ends: Iterable[int] = ()
) -> Loss:
    """What is lost when `chosen` is elected. `known_ends` are offsets that were committed, by what groups have done."""
    asked = list(reports)
    ends = [end for each in asked for end in (each.messages.log_end, each.messages.high_watermark)]
    as_before = {each.node for each in asked if state.directory_of(each.node) in {"", each.directory_id}}
    unasked = set(state.isr).difference(as_before)
    log_end = chosen.messages.log_end
    return Loss(log_end, max([log_end, *ends, *known_ends]), tuple(sorted(unasked)))


def elected_unclean(state: PartitionState, chosen: ReplicaReport, loss: Loss, *, now_ms: int) -> PartitionState:
    """`chosen` leads, alone in sync, from the next leader epoch on; the mark of it stays."""
    before = 0 if state.unclean_election is None else state.unclean_election.count
    epoch = state.leader_epoch + 1
    directories = tuple(
        chosen.directory_id if node == chosen.node else state.directory_of(node) for node in state.replicas
    )
    return replace(
        state,
        leader=chosen.node,
        leader_incarnation=chosen.incarnation,
        leader_epoch=epoch,
        partition_epoch=state.partition_epoch + 1,
        isr=(chosen.node,),
        directories=directories,
        given_up_by=(),
        damaged=(),
        unclean_election=UncleanElection(before + 1, epoch, chosen.node, loss.log_end, loss.lost_below, now_ms),
    )


def _clean(detail: str) -> ServerError:
    return ServerError(ProblemCode.CLEAN_ELECTION_POSSIBLE, f"Nobody is elected who was not in sync: {detail}.")
