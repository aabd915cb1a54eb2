"""How a partition of an exclusive group goes from one owner to the next.

The group's coordinator numbers the owners of a partition, and whoever receives says by which number. The highest number
that was seen counts, from the moment when it was seen: the owner before gets nothing more. What it has in hand it may
still settle, until nothing is left, or the group's `rebalance_timeout_ms` is over, or the coordinator knows that it is
gone, as is everybody between it and the one that claims. Then a record says whose the partition is, and begins a
generation: every receipt of before is stale.
"""

from enum import Enum
from typing import NamedTuple

from storage.delivery.group_progress import GroupProgress
from storage.delivery.records import Claimed


class OwnershipClaim(NamedTuple):
    """Every owner from `gone_since` on and before this one has left, or its session is over; every one from
    `left_since` on has left. Below 0: nobody has said."""

    member: str
    ownership: int
    gone_since: int = -1
    left_since: int = -1

    def says_gone(self, ownership: int) -> bool:
        return 0 <= self.gone_since <= ownership

    def says_left(self, ownership: int) -> bool:
        return 0 <= self.left_since <= ownership


class ClaimVerdict(Enum):
    OWNED = "owned"
    WAITING = "waiting"
    """For the owner before, or for the record of this claim."""
    DUE = "due"
    """The partition may change hands now."""
    FENCED = "fenced"
    """It is, or will be, somebody else's."""


class Handover:
    """Of one group in one partition. Who owns it for sure is in the group's progress; a handover under way is in memory
    only: after a failover the claim comes again, and the owner before has nothing in hand."""

    def __init__(self, progress: GroupProgress) -> None:
        self.writing: Claimed | None = None
        self._progress = progress
        self._seen = progress.owner.ownership
        self._begun_ms = 0
        self._is_over = False  # the owner before is gone, or had its time: it is not waited for

    @property
    def is_under_way(self) -> bool:
        return self._seen > self._progress.owner.ownership

    def judge(
        self, claim: OwnershipClaim, *, is_anything_out: bool, rebalance_timeout_ms: int, now_ms: int
    ) -> ClaimVerdict:
        owner = self._progress.owner
        if claim.ownership < max(self._seen, owner.ownership):
            return ClaimVerdict.FENCED
        if claim.ownership == owner.ownership:
            return ClaimVerdict.OWNED if claim.member == owner.member else ClaimVerdict.FENCED
        self._see(claim, now_ms)
        self.pass_time(now_ms, rebalance_timeout_ms)
        if self.writing is not None:
            return ClaimVerdict.WAITING
        return ClaimVerdict.DUE if self._is_over or not is_anything_out else ClaimVerdict.WAITING

    def needed(self, claim: OwnershipClaim) -> int:
        """The lowest ownership that would not be fenced, of a claim that is: its number was given to another member as
        well where it is the highest."""
        seen = max(self._seen, self._progress.owner.ownership)
        return seen + 1 if claim.ownership == seen else seen

    def deadline_ms(self, rebalance_timeout_ms: int) -> int | None:
        """Until when the owner before may keep what it has, if it is not over."""
        if not self.is_under_way or self._is_over:
            return None
        return self._begun_ms + rebalance_timeout_ms

    def pass_time(self, now_ms: int, rebalance_timeout_ms: int) -> None:
        deadline_ms = self.deadline_ms(rebalance_timeout_ms)
        if deadline_ms is not None and now_ms >= deadline_ms:
            self._is_over = True

    def applied(self, record: Claimed) -> None:
        self.writing = None
        self._seen = max(self._seen, record.ownership)
        self._is_over = False

    def aborted(self) -> None:
        """Whoever claims the partition may try again."""
        self.writing = None

    def _see(self, claim: OwnershipClaim, now_ms: int) -> None:
        if claim.ownership > self._seen:
            if not self.is_under_way:
                self._begun_ms = now_ms
            self._seen = claim.ownership
        if claim.says_gone(self._progress.owner.ownership):
            self._is_over = True
