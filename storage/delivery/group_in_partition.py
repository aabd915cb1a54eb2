"""One group in one partition, of whatever mode: what its host asks of it, and what it answers.

Every method but `apply` and `abort` decides: it looks at the state and answers, with a record where the answer must
survive. The host writes the record to the partition's delivery log and then calls `apply`, or `abort` if that failed;
only after `apply` the decision is true. No clock, no randomness, no I/O: times are monotonic milliseconds unless they
are called wall time.
"""

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from acklog.wire.problems import ProblemCode
from cluster.model.values import GroupMode, GroupSettings
from storage.delivery.blocked_offsets import BlockedOffset, BlockedVerdict
from storage.delivery.candidates import CandidateIndex, WantedRange
from storage.delivery.done_elsewhere import DoneElsewhere
from storage.delivery.failures import FailureHistory
from storage.delivery.group_progress import GroupTotals
from storage.delivery.group_snapshot import CommittedPosition, GroupSnapshot
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.handover import ClaimVerdict, OwnershipClaim
from storage.delivery.leases import Lease
from storage.delivery.message_view import MessageStatus
from storage.delivery.position_commit import CommitDecision
from storage.delivery.receipts import ReceiptClaim
from storage.delivery.records import Acked, Claimed, DeadLettered, GroupRecord, Jumped, Returned, Skipped, Sought

_RecordT = TypeVar("_RecordT", Acked, Returned)
_DEFAULT_SETTINGS = GroupSettings()
_NO_HISTORY = FailureHistory()


class GroupTerms(NamedTuple):
    """How a group reads: what its selection and its decisions go by."""

    mode: GroupMode = GroupMode.SHARED
    settings: GroupSettings = _DEFAULT_SETTINGS


class ReceiveDecision(msgspec.Struct, gc=False):
    """`leases` are to be read and given out. `skipped` is to be recorded, whether there are leases or not; what a
    filter passes over is not in it before it is time. `wanted` is what the group has to see to go on. Where one of
    these two is there, asking again may find more."""

    leases: list[Lease]
    skipped: Skipped | None = None
    wanted: WantedRange | None = None


class SettleDecision(NamedTuple, Generic[_RecordT]):
    """A result per item, in order, None for success; and the record that makes the successes true, if one is needed."""

    results: list[ProblemCode | None]
    record: _RecordT | None


class DueLetter(NamedTuple):
    """A message for the dead-letter topic. In each `generation`, which is that of the last seek, it may die once. It is
    so as its attempts are used up, or its time to live `is_expired`."""

    offset: int
    attempts: int
    generation: int
    history: FailureHistory = _NO_HISTORY
    is_expired: bool = False


class ClaimDecision(NamedTuple):
    """`records` make it true that the partition changes hands: they are to be committed in one batch, in their order;
    then the claim is asked again. `needed`: where it is FENCED, the lowest ownership that would not have been."""

    verdict: ClaimVerdict
    records: Sequence[Returned | Claimed] = ()
    needed: int = 0


class GroupInPartition(Protocol):
    """`GroupDelivery` and `Settlement` say of each call what it does for groups that lease message by message."""

    @property
    def group_id(self) -> str: ...
    @property
    def state(self) -> PartitionGroupState: ...
    @property
    def progress(self) -> int: ...
    @property
    def elsewhere(self) -> DoneElsewhere: ...
    @property
    def generation(self) -> int: ...
    @property
    def done_above_count(self) -> int: ...
    @property
    def in_flight_count(self) -> int: ...
    def in_flight_of(self, consumer: str) -> int: ...
    @property
    def delayed_count(self) -> int: ...
    @property
    def totals(self) -> GroupTotals: ...
    @property
    def committed(self) -> CommittedPosition | None: ...

    @property
    def passes_damage(self) -> bool:
        """Whether what is behind a message that cannot be read, or is to be a dead letter, is given out before that."""
        ...

    def claim(self, claim: OwnershipClaim | None, *, now_ms: int, wall_now_ms: int) -> ClaimDecision:
        """Whether who comes with this claim (None: with none) may receive now."""
        ...

    def fencing_problem(self, claim: OwnershipClaim | None) -> ProblemCode | None:
        """Why who comes with this claim may not set the group's position: MEMBER_FENCED, or UNAVAILABLE while the
        partition changes hands; None if he may."""
        ...

    def follow(self, terms: GroupTerms) -> None:
        """The group reads by these from now on; what is decided already stays as it is. Whoever asks it to decide says
        them before: a group that comes out of a log or a snapshot has none."""
        ...

    def receive(
        self,
        candidates: CandidateIndex,
        *,
        consumer: str,
        max_messages: int,
        visibility_ms: int,
        readable_end: int,
        now_ms: int,
    ) -> ReceiveDecision: ...
    def empty_reason(self, *, readable_end: int, now_ms: int) -> str: ...
    def record_passed_over(self) -> Skipped | None:
        """What the group's filter has passed over and no record says yet. To be called at `next_deadline`, and before
        anything that lies behind it is settled."""
        ...

    def release(self, items: Iterable[ReceiptClaim]) -> None: ...
    def outlive(self, items: Iterable[ReceiptClaim], *, wall_now_ms: int) -> Skipped | Returned | None: ...
    def ack(self, items: Iterable[ReceiptClaim], *, readable_end: int) -> SettleDecision[Acked]: ...
    def nack(
        self,
        items: Iterable[ReceiptClaim],
        *,
        delay_ms: int | None,
        jitter: float,
        readable_end: int,
        wall_now_ms: int,
        reason: str = "",
    ) -> SettleDecision[Returned]: ...
    def extend(
        self,
        items: Iterable[ReceiptClaim],
        *,
        visibility_ms: int,
        readable_end: int,
        now_ms: int,
        wall_now_ms: int,
    ) -> SettleDecision[Returned]: ...
    def expire(self, *, now_ms: int, wall_now_ms: int, limit: int) -> Returned | None: ...
    def dead_letters(self, *, limit: int, now_ms: int) -> list[DueLetter]: ...
    def dead_lettered(self, offsets: Iterable[int]) -> DeadLettered: ...
    def dead_letter_failed(self, offsets: Iterable[int], *, retry_at_ms: int) -> None: ...
    @property
    def blocked_count(self) -> int: ...
    def blocked(self, *, at_or_above: int, limit: int) -> list[BlockedOffset]: ...
    def release_blocked(self, offset: int, *, wall_now_ms: int) -> BlockedVerdict[Returned]: ...
    def skip_blocked(self, offset: int) -> BlockedVerdict[Skipped]: ...
    def seek(self, offset: int) -> Sought: ...
    def commit(self, position: CommittedPosition, *, expected: int | None) -> CommitDecision: ...
    def undone_below(self, offset: int) -> int: ...

    def advance_log_start(self, log_start: int, *, deleted_below: int) -> Jumped | None: ...
    def next_deadline(self) -> int | None: ...
    def describe(self, offset: int, *, readable_end: int, now_ms: int) -> MessageStatus: ...
    def apply(self, record: GroupRecord, *, now_ms: int, wall_now_ms: int) -> None: ...
    def abort(self, record: GroupRecord, *, now_ms: int) -> None: ...
    def snapshot(self) -> GroupSnapshot: ...
    def restore(self, snapshot: GroupSnapshot, *, now_ms: int, wall_now_ms: int) -> None: ...
    def check_invariants(self) -> None: ...
