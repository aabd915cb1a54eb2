"""Planted bugs of groups that block: `tests.sim.cluster.mutants` has them all."""

from typing import Any

import pytest

from storage.delivery.blocked_offsets import BlockedOffsets, BlockedVerdict
from storage.delivery.candidates import CandidateIndex
from storage.delivery.group_delivery import GroupDelivery
from storage.delivery.group_in_partition import ReceiveDecision
from storage.delivery.group_state import PartitionGroupState
from storage.delivery.records import DEAD_LETTER, Returned, Skipped
from storage.delivery.settlement import Settlement
from storage.node.blocked_calls import BlockedCalls


def what_is_blocked_holds_up_nothing(patch: pytest.MonkeyPatch) -> None:
    """R27: what waits for a person lets those behind it pass."""
    original = PartitionGroupState._queue

    def queue(self: PartitionGroupState, offset: int, *arguments: Any, **options: Any) -> None:
        original(self, offset, *arguments, **options)
        if offset in self.blocked:
            self.selection.done(offset, offset + 1)

    patch.setattr(PartitionGroupState, "_queue", queue)


def what_is_blocked_holds_up_all(patch: pytest.MonkeyPatch) -> None:
    """While anything waits for a person, nothing of the partition is delivered, whatever its key."""
    original = GroupDelivery.receive

    def receive(self: GroupDelivery, candidates: CandidateIndex, **options: Any) -> ReceiveDecision:
        return ReceiveDecision([]) if self.blocked_count else original(self, candidates, **options)

    patch.setattr(GroupDelivery, "receive", receive)


def what_is_blocked_becomes_a_letter(patch: pytest.MonkeyPatch) -> None:
    """R29: a message whose lease ran out for the last time is given up, whatever the group wants."""
    original = Settlement.expire

    def expire(self: Settlement, **options: int) -> Returned | None:
        with pytest.MonkeyPatch.context() as within:
            within.setattr("storage.delivery.settlement.BLOCKED", DEAD_LETTER)
            return original(self, **options)

    patch.setattr(Settlement, "expire", expire)


def decisions_are_volatile(patch: pytest.MonkeyPatch) -> None:
    """R41: a skip is true for the leader that was asked, and for none that follows it."""

    async def decide(self: BlockedCalls, partition: Any, group: Any, state: Any, action: str, item: Any) -> None:
        wall_now_ms = self._clock.now_ms()
        if action == "release":
            record = state.release_blocked(item.offset, wall_now_ms=wall_now_ms).record
        else:
            record = state.skip_blocked(item.offset).record
        if record is not None:
            state.apply(record, now_ms=self._clock.monotonic_ms(), wall_now_ms=wall_now_ms)
        partition.groups.something_returned(group.id)

    patch.setattr(BlockedCalls, "_decide", decide)


def skips_pass_over_what_is_behind(patch: pytest.MonkeyPatch) -> None:
    """R41: who skips one message has the next one skipped with it."""
    original = BlockedOffsets.skip

    def skip(self: BlockedOffsets, offset: int) -> BlockedVerdict[Skipped]:
        verdict = original(self, offset)
        if verdict.record is None or offset + 1 >= self._state.cursor:
            return verdict
        self._state.skipping.add(offset + 1, offset + 2)
        return BlockedVerdict(None, Skipped(verdict.record.group_id, verdict.record.generation, [offset, 2]))

    patch.setattr(BlockedOffsets, "skip", skip)
