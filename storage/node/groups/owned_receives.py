"""Receives of exclusive groups in one partition: for who owns it, and one at a time.

One at a time, as what did not fit into an answer goes back: another receive that came between would have got what is
behind it. Nor does the partition change hands while its owner's messages are being read.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from cluster.model.values import GroupSettings
from cluster.ports.clock import Clock
from storage.delivery.group_in_partition import ClaimDecision, GroupInPartition
from storage.delivery.handover import ClaimVerdict, OwnershipClaim
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.groups.delivery_steps import DeliverySteps
from storage.node.groups.leased_receives import NOTHING, LeasedReceives, Share
from storage.rpc.messages import ReceiveRequest


class OwnedShare(NamedTuple):
    """`verdict` is why there may be nothing; `needed` as in `ClaimDecision`."""

    share: Share
    verdict: ClaimVerdict
    needed: int = 0


class OwnedReceives:
    """Of one partition. `on_returned(group_id)` is called when it has changed hands."""

    def __init__(
        self,
        receives: LeasedReceives,
        delivery: DeliveryHost,
        steps: DeliverySteps,
        *,
        clock: Clock,
        on_returned: Callable[[str], None],
    ) -> None:
        self._receives = receives
        self._delivery = delivery
        self._steps = steps
        self._clock = clock
        self._on_returned = on_returned
        self._turns: dict[str, asyncio.Lock] = {}

    def forget(self, group_id: str) -> None:
        self._turns.pop(group_id, None)

    async def give(
        self,
        state: GroupInPartition,
        claim: OwnershipClaim,
        request: ReceiveRequest,
        settings: GroupSettings,
        max_messages: int,
        max_bytes: int,
        is_first: bool,
        wall: int,
    ) -> OwnedShare:
        """As `LeasedReceives.give`, for who owns the partition. It may change hands by this. Raises ServerError, also
        what the append of a record raises."""
        async with self._turns.setdefault(state.group_id, asyncio.Lock()):
            decision = await self._claimed(state, claim)
            if decision.verdict is not ClaimVerdict.OWNED:
                return OwnedShare(NOTHING, decision.verdict, decision.needed)
            share = await self._receives.give(state, request, settings, max_messages, max_bytes, is_first, wall)
            return OwnedShare(share, decision.verdict)

    async def claim(self, state: GroupInPartition, claim: OwnershipClaim) -> ClaimVerdict:
        """For who does something else than to receive. It may change hands by this. Raises ServerError as `give`."""
        async with self._turns.setdefault(state.group_id, asyncio.Lock()):
            return (await self._claimed(state, claim)).verdict

    async def _claimed(self, state: GroupInPartition, claim: OwnershipClaim) -> ClaimDecision:
        """Once nothing is left to be written for it."""
        while True:
            now_ms, wall_now_ms = self._clock.monotonic_ms(), self._clock.now_ms()
            decision = state.claim(claim, now_ms=now_ms, wall_now_ms=wall_now_ms)
            if not decision.records:
                self._steps.arm()  # a handover has a deadline
                return decision
            *before, claimed = decision.records
            for record in before:
                self._delivery.write(record)
            await self._delivery.commit(claimed)
            self._on_returned(state.group_id)
