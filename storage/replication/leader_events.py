"""What a leader is told (events) and what it asks its host to do (effects). Logs are named by their number."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from storage.replication.assignment import Assignment, ReplicaIdentity
from storage.replication.divergence import Diverged, LogPosition, Restart
from storage.replication.isr import ChangeOutcome, IsrChange
from storage.replication.replication_settings import TopicReplication


class Service(Enum):
    """What a leader does for clients. In every state it gives readers what is below the high watermark."""

    STARTING = "starting"  # the high watermark has not reached the log end at the election
    SERVING = "serving"
    ISOLATED = "isolated"  # neither the coordination store nor enough followers are heard
    STEPPED_DOWN = "steppedDown"


class Refusal(Enum):
    """Why an append is not taken. All of them pass, or another node takes it."""

    NOT_SERVING = "notServing"
    NOT_ENOUGH_REPLICAS = "notEnoughReplicas"
    TOO_MANY_WAITING = "tooManyWaiting"


class FetchRefusal(Enum):
    """Why a leader answers a fetch with nothing. The values travel on the wire."""

    FENCED_EPOCH = "fencedEpoch"  # the asker's epoch is over
    UNKNOWN_EPOCH = "unknownEpoch"  # the asker knows a later epoch than this node
    STALE_INCARNATION = "staleIncarnation"  # the asker has begun anew since
    NOT_A_REPLICA = "notAReplica"
    NOT_LEADER = "notLeader"


# --- events ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LogsMoved:
    """Something was written to the logs or made durable."""


LOGS_MOVED = LogsMoved()
"""One of every append."""


@dataclass(frozen=True, slots=True)
class AckAwaited:
    """The append that ends at `next_offset` is written. `acks` is ACKS_ALL or a number of replicas, at least 1."""

    log: int
    next_offset: int
    acks: int
    token: int


@dataclass(frozen=True, slots=True)
class FollowerFetched:
    """A follower asks for what is behind `positions`, one per log."""

    follower: ReplicaIdentity
    leader_epoch: int
    positions: tuple[LogPosition, ...]


@dataclass(frozen=True, slots=True)
class FollowersHeard:
    """When each node last sent a fetch of a session that includes this partition, in this epoch. Needed where
    AskWhoIsHeard asks for it, when a node that was silent for `contact_ms` fetches again, and, more often than that,
    while the coordination store is away."""

    at_ms: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class IsrChangeEnded:
    serial: int
    outcome: ChangeOutcome
    revision: int = -1


@dataclass(frozen=True, slots=True)
class AssignmentSeen:
    """The partition's key, as read or watched. Old news does no harm."""

    assignment: Assignment


@dataclass(frozen=True, slots=True)
class AssignmentUnreadable:
    """What `ReadAssignment` asked for could not be read."""


@dataclass(frozen=True, slots=True)
class CoordinationChanged:
    """Whether this node's registration is valid: without it nothing may be expected of the coordination store."""

    is_reachable: bool


@dataclass(frozen=True, slots=True)
class TopicChanged:
    topic: TopicReplication


@dataclass(frozen=True, slots=True)
class NodesImpaired:
    """These nodes say that their disks take nothing at present; all others do."""

    nodes: frozenset[int]


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The machine's deadline is due."""


LeaderEvent = (
    LogsMoved
    | AckAwaited
    | FollowerFetched
    | FollowersHeard
    | IsrChangeEnded
    | AssignmentSeen
    | AssignmentUnreadable
    | CoordinationChanged
    | TopicChanged
    | NodesImpaired
    | TimePassed
)


# --- effects ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LogVerdict:
    """`parting` says how the follower gets back on the leader's path; None: it may read from its position on."""

    position: LogPosition
    parting: Diverged | Restart | None


@dataclass(frozen=True, slots=True)
class FetchVerdict:
    """The answer to FollowerFetched: `refusal`, or one verdict per log."""

    follower: ReplicaIdentity
    leader_epoch: int
    refusal: FetchRefusal | None = None
    logs: tuple[LogVerdict, ...] = ()


class HighWatermarkAdvanced(NamedTuple):
    """One of every append: made in a quarter of the time that a frozen dataclass takes."""

    log: int
    high_watermark: int


@dataclass(frozen=True, slots=True)
class AcksReached:
    """These appends are durable on as many replicas as they asked for."""

    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AcksUnknown:
    """This leader will never know: a later one may keep these appends, or not."""

    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChangeIsr:
    """Do the change in the coordination store; answer with IsrChangeEnded."""

    change: IsrChange


@dataclass(frozen=True, slots=True)
class AskWhoIsHeard:
    """A follower lacks nothing, but was not heard lately, as far as the machine knows: fetches without news are not
    told to it. Answer with FollowersHeard. Always the last effect of a step."""


@dataclass(frozen=True, slots=True)
class ReadAssignment:
    """Read the partition's key, not from a copy; answer with AssignmentSeen or AssignmentUnreadable."""


@dataclass(frozen=True, slots=True)
class ServiceChanged:
    service: Service


@dataclass(frozen=True, slots=True)
class HandOver:
    """This leader cannot commit: give the leadership to another member of the ISR that may be able to, in a transaction
    that takes the next leader epoch. `heard` are the replicas that this leader still hears. What came of it the
    assignments tell; until then it is asked for again."""

    isr_floor: int
    heard: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ForgetHandOvers:
    """Who has handed the leadership over has been in sync again for long: it may be preferred as before."""


LeaderEffect = (
    FetchVerdict
    | HighWatermarkAdvanced
    | AcksReached
    | AcksUnknown
    | ChangeIsr
    | AskWhoIsHeard
    | HandOver
    | ForgetHandOvers
    | ReadAssignment
    | ServiceChanged
)
