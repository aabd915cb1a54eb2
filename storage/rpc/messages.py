"""What a gateway and a storage node say to each other. Values only; `storage.rpc.framing` puts them on a connection.

Every request names partitions by (topic id, partition). `deadline_ms` fields are durations that the caller still has.
A failed request is answered by an ServerError; results inside a response carry a code per item.
"""

import msgspec

from acklog.wire.batch import DedupKey
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from storage.rpc.membership_messages import Ownership
from storage.rpc.producer_epoch import ProducerEpoch
from storage.rpc.receive_attempt import ReceiveAttempt

ACKS_ALL = -1
ANY_MAPPING = -1


class _Message(msgspec.Struct, array_like=True, gc=False):
    """Positional on the wire, so fields are only ever added at the end."""


# --- produce -------------------------------------------------------------------------------------------------


class ProduceRequest(_Message):
    """Append one unstamped batch. `acks` is ACKS_ALL, or the number of replicas, the leader among them, or 0.

    The batch is handed over: the node stamps it in place. `is_retry`: the same bytes, with the same producer id and
    sequence, were sent before, and nobody knows what became of them. `mapping` is that of the topic by which the
    partition was chosen for a batch with keys, or ANY_MAPPING. PRODUCER_FENCED: `producer` was opened again since.
    `traces`: what this is a part of (`cluster.ports.tracing`); nodes that trace nothing pass it over.
    """

    topic_id: str
    partition: int
    batch: bytearray
    acks: int = ACKS_ALL
    timeout_ms: int = 10_000
    is_retry: bool = False
    mapping: int = ANY_MAPPING
    producer: ProducerEpoch | None = None
    traces: list[str] = []


class KeyedResult(_Message):
    """What the window knows of the run of `count` records at `index`: stored from `offset` of the partition's `log` on
    before, or (`conflict`) its key was used with another content."""

    index: int
    offset: int
    leader_epoch: int
    conflict: bool = False
    count: int = 1
    log: int = 0


class ProduceResponse(_Message):
    """`base_offset` is -1 where `known` is not empty: the caller sends the rest again without those runs."""

    base_offset: int
    leader_epoch: int
    append_time_ms: int
    known: list[KeyedResult] = []


class KnownKeysRequest(_Message):
    """What the partition's dedup window knows of the keys of runs with `count` records together. It is answered
    once the leader knows `mapping` and `producer`: nothing by an earlier one is taken from then on.
    """

    topic_id: str
    partition: int
    keys: list[DedupKey]
    count: int
    mapping: int
    timeout_ms: int = 10_000
    producer: ProducerEpoch | None = None


class KnownKeysResponse(_Message):
    """The committed ones, as in `ProduceResponse`."""

    known: list[KeyedResult] = []


# --- receive and settle --------------------------------------------------------------------------------------


class ReceiveRequest(_Message):
    """Lease up to `max_messages` of the topics' partitions that the node leads, waiting up to `wait_ms` for the first.

    `auto_ack`: done (durably) before they are returned. `visibility_ms` None: the group's setting. `claims`: what
    `consumer` owns as the group's coordinator says; an exclusive group gives nothing of other partitions, and without
    claims it raises WRONG_GROUP_MODE. `filter`: only what matches, and no progress (WRONG_GROUP_MODE unless shared).

    `attempt_id`: of one partition only, and remembered. With `max_messages` 0 nothing is leased: what was given by that
    id is given again, by the same receipts, where none of it was settled, extended, or has run out."""

    topic_ids: list[str]
    group_id: str
    consumer: str
    max_messages: int
    max_bytes: int
    wait_ms: int = 0
    visibility_ms: int | None = None
    auto_ack: bool = False
    claims: list[Ownership] = []
    filter: str = ""
    traces: list[str] = []
    attempt_id: str = ""


class DeliveredMessage(_Message):
    """`append_time_ms` is the timestamp of a message whose producer gave none. `receipt` is "" after `auto_ack`.
    `first_failed_ms` is when its first attempt failed, by the wall clock; -1 where none has, or the node is of a
    version that does not say."""

    topic_id: str
    partition: int
    offset: int
    leader_epoch: int
    append_time_ms: int
    attempt: int
    receipt: str
    record: Record
    first_failed_ms: int = -1


class ReceiveResponse(_Message):
    """Why there are no messages says `reason`: EMPTY, BLOCKED, DELAYED, ALL_LEASED, PAUSED, IN_FLIGHT_LIMIT(_PER_KEY),
    FENCED, SHUTTING_DOWN. `overtaken` are the claims that are, each with the ownership that it would need.
    `attempt`: of a request with an `attempt_id` that got something."""

    messages: list[DeliveredMessage]
    reason: str = ""
    overtaken: list[Ownership] = []
    attempt: ReceiveAttempt | None = None


class SettleItem(_Message):
    """A delivery to settle: what its receipt says. With `attempt` 0 the message itself is meant (ack by messageId)."""

    offset: int
    generation: int
    leader_epoch: int
    attempt: int


class SettleRequest(_Message):
    """Acknowledge, give back, extend or release deliveries of one group in one partition.

    `action`: "ack"; "nack" (`delay_ms`: -1 means by the group's back-off); "extend" (`visibility_ms` from now);
    "release" (the answer could not be written: the lease returns and the attempt does not count). `reason` goes with a
    nack, and is left out by nodes that do not know it.
    """

    topic_id: str
    partition: int
    group_id: str
    action: str
    items: list[SettleItem]
    delay_ms: int = -1
    visibility_ms: int = 0
    reason: str = ""
    traces: list[str] = []


class SettleResponse(_Message):
    """A result per item, in order: "" for success, else the name of a ProblemCode. `repeated` of the successes are acks
    of what had been done before."""

    results: list[str]
    repeated: int = 0


# --- look ------------------------------------------------------------------------------------------------------


class RecordsRequest(_Message):
    """Raw batches from `offset` on (or the first appended at or after `time_ms`, if that is not -1), committed ones
    only, waiting up to `wait_ms` when there is nothing yet. At least one batch is returned where there is one, also
    beyond `max_bytes`. `any_replica`: a follower may answer, too, with what it knows to be committed; one that is
    behind `offset` raises UNAVAILABLE after a moment. `leader_epoch`: the reader was given everything below `offset` by
    an answer of this epoch; -1 where it does not say. `filter`: only batches that hold a match; others are passed."""

    topic_id: str
    partition: int
    offset: int
    time_ms: int = -1
    max_bytes: int = 4 * 1024 * 1024
    wait_ms: int = 0
    any_replica: bool = False
    leader_epoch: int = -1
    filter: str = ""


class RecordsResponse(_Message):
    """`batches` holds whole stamped batches; the first may begin before `offset`, the asked-for one.

    `next_offset` is where to go on, with `leader_epoch`: that of the replica that answers; -1 from one of a version
    that does not say.
    """

    batches: bytes
    offset: int
    next_offset: int
    log_start: int
    high_watermark: int
    leader_epoch: int = -1


class PositionsRequest(_Message):
    """The log's bounds and every group's progress, for lag and administration; and of one group how old its oldest
    message is that is not done, and up to `consumers_max` names of who receives for it from this node."""

    topic_id: str
    partition: int
    group_id: str = ""
    consumers_max: int = 0


class CommittedOffset(_Message):
    """The last commit of the group's reader, as `CommitRequest` has it; None after a seek."""

    offset: int
    leader_epoch: int
    metadata: str


class GroupPosition(_Message):
    """`progress` is the first offset not done; `done_above` counts the done ones above it, `lost` those that were
    removed before they were done, `deleted` of them on purpose (else by retention). `generation` is the group's number
    of seeks (-1: an earlier version). `oldest_append_ms`: when the first message was appended that is not done, of the
    group that was asked for; -1 where all are done, or it cannot be told. `blocked` messages wait for a person's
    decision, of `expired` ones the time to live was over before the group had done them."""

    group_id: str
    progress: int
    done_above: int
    in_flight: int
    delayed: int
    dead_lettered: int
    lost: int = 0
    generation: int = -1
    committed: CommittedOffset | None = None
    oldest_append_ms: int = -1
    blocked: int = 0
    expired: int = 0
    consumers: list[str] = []
    deleted: int = 0


class PositionsResponse(_Message):
    """`clock_ms` is the leader's, `last_append_ms` when the newest message was appended; -1 where an earlier version
    does not say, or there is none. `accepted_end` is where the log ends with all that its leader has begun to append,
    committed or not."""

    log_start: int
    high_watermark: int
    size_bytes: int
    leader_epoch: int
    groups: list[GroupPosition]
    clock_ms: int = -1
    last_append_ms: int = -1
    accepted_end: int = -1


class SeekRequest(_Message):
    """Set a group's progress. `to`: "earliest", "latest", "offset" (`value`), "time" (`value`, ms, by append time) or
    "relative" (`value` messages behind the progress, or before it; the log's bounds end it). An offset beyond the log's
    bounds is refused with OFFSET_OUT_OF_RANGE."""

    topic_id: str
    partition: int
    group_id: str
    to: str
    value: int = -1
    dry_run: bool = False


class SeekResponse(_Message):
    offset: int
    previous: int


class CommitRequest(_Message):
    """Everything below `offset` is done for the group, says a reader that keeps its own position. It had read up to
    there from a leader of `leader_epoch` (-1: it does not say); `metadata` is its own. `expected` is the progress that
    it knows of, without which the group does not go back (-1: it knows none). `ownership` is that of a member of an
    exclusive group (-1: it is none), and the rest as in its claims (`storage.rpc.membership_messages.Ownership`).
    Nothing is changed by OFFSET_OUT_OF_RANGE, LOG_DIVERGED, COMMIT_CONFLICT (extra: progress), CONFLICT, MEMBER_FENCED.
    """

    topic_id: str
    partition: int
    group_id: str
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    expected: int = -1
    member: str = ""
    ownership: int = -1
    is_forced: bool = False
    gone_since: int = -1
    left_since: int = -1


class CommitResponse(_Message):
    """`progress` is where the group is now: at the offset, or behind it where more is done; `previous` where it was."""

    progress: int
    previous: int


class BlockedRequest(_Message):
    """Messages of a group whose attempts are used up, and that wait for a decision. `action` is "list" (of the first
    `limit` at `offset` or above), "release" (its attempts begin anew, and it waits at once) or "skip" (it is done). The
    last two are for one message: that at `offset`, written by a leader of `leader_epoch` (-1: whichever); or, where
    `offset` is -1, those of `key`. Raises NOT_BLOCKED, MESSAGE_NOT_FOUND and CONFLICT; nothing is changed then.
    """

    topic_id: str
    partition: int
    group_id: str
    action: str
    offset: int = -1
    leader_epoch: int = -1
    key: str | None = None
    limit: int = 0


class BlockedItem(_Message):
    """`since_ms` is wall-clock time. `leader_epoch` is its batch's, -1 where the message cannot be read."""

    offset: int
    attempts: int
    since_ms: int
    leader_epoch: int = -1
    key: str | None = None


class BlockedResponse(_Message):
    """What was asked for, as it was before; `count` is how many are blocked in the partition now."""

    messages: list[BlockedItem]
    count: int


# --- a replica, whatever its role -----------------------------------------------------------------------------


class ReplicaReportRequest(_Message):
    """How far this node's replica of the partition goes, whoever leads. Raises PARTITION_NOT_FOUND."""

    topic_id: str
    partition: int


class LogReach(_Message):
    """`last_epoch` is that of the last record, -1 where it is not known."""

    log_start: int
    log_end: int
    last_epoch: int
    high_watermark: int


class ReplicaReportResponse(_Message):
    """What is durable here. `leader_epoch` is the last that the replica has heard of."""

    incarnation: int
    directory_id: str
    leader_epoch: int
    messages: LogReach
    delivery: LogReach
    is_damaged: bool


# --- failures --------------------------------------------------------------------------------------------------


class Failure(_Message):
    """An ServerError on the wire."""

    code: str
    detail: str
    field: str | None = None
    retry_after_ms: int | None = None
    extra: dict[str, object] | None = None


def failure_code(name: str) -> ProblemCode:
    """The catalogue's code of that name; INTERNAL for one that this version does not know."""
    return ProblemCode.__members__.get(name, ProblemCode.INTERNAL)
