"""Receives by an id that are made again: from one partition, the same messages by the same receipts."""

from collections.abc import Sequence

from cluster.model.values import Group
from cluster.ports.clock import Clock
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.receive_attempts import ReceiveAttempts, ReceivedBefore
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.groups.delivery_steps import DeliverySteps
from storage.node.groups.lease_reader import LeaseReader
from storage.rpc.messages import DeliveredMessage, ReceiveRequest, ReceiveResponse
from storage.rpc.receive_attempt import ReceiveAttempt

_NOTHING = ReceiveResponse([], "EMPTY")


class RepeatedReceives:
    """Of one partition, for all its groups. What is given again was seen by somebody, perhaps: it is never released, as
    the next lease would have the same receipt."""

    def __init__(self, delivery: DeliveryHost, leased: LeaseReader, steps: DeliverySteps, clock: Clock) -> None:
        self._delivery = delivery
        self._leased = leased
        self._steps = steps
        self._clock = clock
        self._of_groups: dict[str, ReceiveAttempts] = {}

    def note(
        self, request: ReceiveRequest, group: Group, messages: Sequence[DeliveredMessage]
    ) -> ReceiveAttempt | None:
        """All that the request gets was leased just now."""
        state = self._delivery.state.as_it_is_set(group)
        if state is None:
            return None
        received = ReceivedBefore(self._clock.now_ms(), _visibility_ms(request, group))
        offsets = [message.offset for message in messages]
        self._attempts(state).note(request.attempt_id, offsets, received, now_ms=self._clock.monotonic_ms())
        return ReceiveAttempt(*received)

    async def give(self, request: ReceiveRequest, group: Group) -> ReceiveResponse:
        """What the first receive by the request's id got, hidden for as long again; nothing where that cannot be.
        Raises ServerError: STORAGE_FAILED, UNAVAILABLE (this leader may be over)."""
        state = self._delivery.state.as_it_is_set(group)
        if state is None or state.group_id not in self._of_groups:
            return _NOTHING
        attempts = self._attempts(state)
        found = attempts.find(request.attempt_id, now_ms=self._clock.monotonic_ms())
        if found is None:
            return _NOTHING
        received, leases = found
        read = await self._leased.read(
            state, group.settings, leases, max_messages=len(leases), max_bytes=request.max_bytes, is_first=True
        )
        if len(read.messages) != len(leases):
            return _NOTHING  # some of it has expired, or is not there any more
        self._delivery.check_sure()
        now_ms = self._clock.monotonic_ms()
        deadline_ms = now_ms + _visibility_ms(request, group)
        if not attempts.renew(request.attempt_id, deadline_ms=deadline_ms, now_ms=now_ms):
            return _NOTHING
        self._steps.arm_at(deadline_ms)
        return ReceiveResponse(read.messages, attempt=ReceiveAttempt(*received))

    def forget(self, group_id: str) -> None:
        self._of_groups.pop(group_id, None)

    def _attempts(self, group: GroupInPartition) -> ReceiveAttempts:
        attempts = self._of_groups.get(group.group_id)
        if attempts is None:
            attempts = self._of_groups[group.group_id] = ReceiveAttempts(group.state)
        return attempts


def _visibility_ms(request: ReceiveRequest, group: Group) -> int:
    return group.settings.visibility_ms if request.visibility_ms is None else request.visibility_ms
