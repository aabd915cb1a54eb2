"""What machines do, and what their logs look like, in words that a reader judges the protocol by.

A log is written as its epochs: `1[a b |] 2[c (d)]` has `a b` of epoch 1, all of it committed as far as its replica
knows (the bar is the high watermark), and of epoch 2 `c` and `d`, which is not durable yet.
"""

from collections.abc import Sequence

from storage.log.leader_epochs import UNKNOWN_EPOCH
from storage.log.log_table import LogKind
from storage.replication.assignment import NO_EPOCH, Assignment
from storage.replication.divergence import LogPosition
from storage.replication.follower_events import (
    Contradiction,
    HighWatermarkLearned,
    LookForLeader,
    RaiseLogStart,
    RestartLog,
    TruncateLog,
)
from storage.replication.leader_events import (
    AcksReached,
    AcksUnknown,
    ChangeIsr,
    ForgetHandOvers,
    HandOver,
    HighWatermarkAdvanced,
    ReadAssignment,
    Service,
    ServiceChanged,
)
from storage.replication.messages import LogAnswer, PartitionAnswer
from storage.replication.replica_events import GiveUpPlace, ReplicaEffect, Role, RoleTaken
from tests.property.replication.model_log import Record

SERVICES = {
    Service.STARTING: "does not know yet what is committed",
    Service.SERVING: "serves",
    Service.ISOLATED: "is isolated, and takes nothing",
    Service.STEPPED_DOWN: "steps down",
}
ROLES = {Role.LEADER: "leads in epoch", Role.FOLLOWER: "follows in epoch", Role.NONE: "has no role in epoch"}


class Names:
    """Records are named in scripts, and are numbers in logs."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def number_of(self, name: str) -> int:
        if name not in self._names:
            self._names.append(name)
        return self._names.index(name)

    def of(self, values: Sequence[int]) -> str:
        return " ".join(self._names[value] for value in values)

    def log(
        self, records: Sequence[Record], *, log_start: int = 0, high_watermark: int | None = None, durable_end: int
    ) -> str:
        pieces: list[list[str]] = []
        epoch = NO_EPOCH
        for offset in range(log_start, len(records)):
            record = records[offset]
            if record.epoch != epoch:
                epoch = record.epoch
                pieces.append([f"{epoch}["])
                if offset == high_watermark == log_start:
                    pieces[-1].append("|")
            name = self._names[record.value]
            pieces[-1].append(name if offset < durable_end else f"({name})")
            if offset + 1 == high_watermark:
                pieces[-1].append("|")
        removed = [f"..{log_start}"] if log_start else []
        shown = [f"{head}{' '.join(rest)}]" for head, *rest in pieces]
        return " ".join([*removed, *(shown or ["[]"])])


def told(effect: ReplicaEffect) -> str | None:
    """None: it shows elsewhere."""
    match effect:
        case RoleTaken():
            return f"{ROLES[effect.role]} {effect.leader_epoch}"
        case ServiceChanged():
            return SERVICES[effect.service]
        case HighWatermarkAdvanced():
            return f"commits {_of(effect.log)}up to {effect.high_watermark}"
        case HighWatermarkLearned():
            return f"knows {_of(effect.log)}up to {effect.high_watermark} to be committed"
        case AcksReached():
            return f"acknowledges {_tokens(effect.tokens)}"
        case AcksUnknown():
            return f"does not know what becomes of {_tokens(effect.tokens)}"
        case ChangeIsr():
            isr = _nodes(member.node_id for member in effect.change.isr)
            return f"wants the ISR to be {isr}, if the key is still at revision {effect.change.expected_revision}"
        case ReadAssignment():
            return "wants to read the key"
        case HandOver():
            heard = f"hears {_nodes(effect.heard)}" if effect.heard else "hears nobody"
            return f"wants to hand its leadership over: {heard}"
        case ForgetHandOvers():
            return "wants hand-overs to be forgotten"
        case GiveUpPlace():
            return f"wants to give up its place, where {effect.isr_floor} others are in sync"
    return _told_of_following(effect)


def _told_of_following(effect: ReplicaEffect) -> str | None:
    match effect:
        case TruncateLog():
            return f"cuts {_of(effect.log)}at {effect.offset}"
        case RestartLog():
            return f"drops {_of(effect.log) or 'its log '}and begins anew at {effect.offset}"
        case RaiseLogStart():
            return f"may remove {_of(effect.log)}below {effect.offset}"
        case LookForLeader():
            return "looks for its leader"
        case Contradiction():
            return f"STANDS STILL, and changes nothing: {effect.reason}"
    return None


def asked(positions: Sequence[LogPosition]) -> str:
    """What a fetch says."""
    said = [f"{_of(number)}{_position(each)}" for number, each in enumerate(positions) if not number or each.offset]
    return "; ".join(said)


def answered(answer: PartitionAnswer, batches: Sequence[str]) -> str:
    """`batches` are the names of the records that come with it, per log."""
    if answer.refusal:
        return f"refused: {answer.refusal}, it is in epoch {answer.leader_epoch}"
    said = []
    for number, (log, names) in enumerate(zip(answer.logs, batches, strict=True)):
        if not number or log.leader_end:
            said.append(_of(number) + _answer(log, names))
    return "; ".join(said)


def _answer(log: LogAnswer, names: str) -> str:
    if log.restart is not None:
        return f"begin anew at {log.restart.offset}"
    if log.diverged is not None:
        return f"epoch {log.diverged.epoch} ends at {log.diverged.end_offset}"
    return f"{names or 'nothing new'}, committed {log.high_watermark}"


def key(assignment: Assignment) -> str:
    leader = f"leader {assignment.leader}" if assignment.has_leader else "no leader"
    isr = _nodes(member.node_id for member in assignment.isr)
    given_up = f", given up by {_nodes(assignment.given_up_by)}" if assignment.given_up_by else ""
    return f"key  revision {assignment.revision}: epoch {assignment.leader_epoch}, {leader}, ISR {isr}{given_up}"


def _position(position: LogPosition) -> str:
    if position.last_epoch == UNKNOWN_EPOCH:
        return f"from {position.offset}"
    return f"from {position.offset}, behind epoch {position.last_epoch}"


def _of(log: int) -> str:
    return "" if log == LogKind.MESSAGES else "delivery "


def _tokens(tokens: Sequence[int]) -> str:
    return " ".join(f"#{token}" for token in tokens)


def _nodes(nodes: object) -> str:
    return " ".join(str(node) for node in nodes)  # type: ignore[attr-defined]
