"""Planted bugs of exclusive groups in a partition: `tests.sim.cluster.mutants` has them all."""

from collections.abc import Sequence

import pytest

from acklog.wire.problems import ProblemCode
from storage.delivery.candidates import CandidateIndex
from storage.delivery.exclusive_delivery import ExclusiveDelivery
from storage.delivery.group_in_partition import ClaimDecision
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.handover import ClaimVerdict, Handover, OwnershipClaim
from storage.delivery.in_order_selection import InOrderSelection
from storage.delivery.receipts import ReceiptClaim
from storage.delivery.selection import Picked


def claims_are_volatile(patch: pytest.MonkeyPatch) -> None:
    """Whose a partition is stands in the leader's memory alone."""
    original = ExclusiveDelivery.claim

    def claim(self: ExclusiveDelivery, claim: OwnershipClaim | None, *, now_ms: int, wall_now_ms: int) -> ClaimDecision:
        decision = original(self, claim, now_ms=now_ms, wall_now_ms=wall_now_ms)
        for record in decision.records:
            self.apply(record, now_ms=now_ms, wall_now_ms=wall_now_ms)
        return ClaimDecision(ClaimVerdict.OWNED) if decision.records else decision

    patch.setattr(ExclusiveDelivery, "claim", claim)


def lower_ownerships_are_served(patch: pytest.MonkeyPatch) -> None:
    """A member that was deposed goes on receiving, beside the one that owns the partition now."""
    original = Handover.judge

    def judge(
        self: Handover, claim: OwnershipClaim, *, is_anything_out: bool, rebalance_timeout_ms: int, now_ms: int
    ) -> ClaimVerdict:
        verdict = original(
            self,
            claim,
            is_anything_out=is_anything_out,
            rebalance_timeout_ms=rebalance_timeout_ms,
            now_ms=now_ms,
        )
        return ClaimVerdict.OWNED if verdict is ClaimVerdict.FENCED else verdict

    patch.setattr(Handover, "judge", judge)


def owners_are_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    """A claim is granted while leases of the owner before are out."""
    original = Handover.judge

    def judge(
        self: Handover, claim: OwnershipClaim, *, is_anything_out: bool, rebalance_timeout_ms: int, now_ms: int
    ) -> ClaimVerdict:
        return original(self, claim, is_anything_out=False, rebalance_timeout_ms=rebalance_timeout_ms, now_ms=now_ms)

    patch.setattr(Handover, "judge", judge)


def void_acks_are_answered(patch: pytest.MonkeyPatch) -> None:
    """An ack is taken under the old generation while the claim that ends it is written before it."""

    def refusals(self: ExclusiveDelivery, items: Sequence[ReceiptClaim]) -> list[ProblemCode | None]:
        return [None for _ in items]

    patch.setattr(ExclusiveDelivery, "_refusals", refusals)


def what_is_behind_stays_out(patch: pytest.MonkeyPatch) -> None:
    """What is given back comes again by itself: the leases behind it go on, and so does the partition."""
    original = InOrderSelection.pick

    def pick(
        self: InOrderSelection,
        state: PartitionGroupState,
        candidates: CandidateIndex,
        *,
        room: int,
        readable_end: int,
    ) -> Picked:
        returned = state.take_returned(room)
        picked = original(self, state, candidates, room=room - len(returned), readable_end=readable_end)
        return picked._replace(again=[*returned, *picked.again])

    patch.setattr(InOrderSelection, "pick", pick)
    patch.setattr(ExclusiveDelivery, "_rewind", lambda self, offset: None)


def rewinds_lose_an_offset(patch: pytest.MonkeyPatch) -> None:
    """The partition is taken back to just behind what was given back."""
    original = PartitionGroupState.rewind
    patch.setattr(PartitionGroupState, "rewind", lambda self, offset: original(self, offset + 1))


def lost_answers_hold_up_nothing(patch: pytest.MonkeyPatch) -> None:
    """An owner that asks again gets what is behind a run that it may never have seen."""
    patch.setattr(ExclusiveDelivery, "_is_unconfirmed", lambda self: False)


def leases_run_out_unnoticed(patch: pytest.MonkeyPatch) -> None:
    """What is behind a lease that has run out goes on until a step finds the time to look."""
    patch.setattr(ExclusiveDelivery, "_is_overdue", lambda self, now_ms: False)
