"""The live leases of a group: which message is with which consumer until when.

Leases made by one call share one `LeaseBatch`, and only that has a deadline: leasing a thousand messages costs one heap
entry and one dictionary update.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec

from storage.delivery.deadlines import Deadlines

ATTEMPTS_SPAN = 1024
"""More than a message can have attempts that count. A receipt says how many there were, plus this for each time that
leases of the group had ended uncounted before: so its lease differs from every earlier one of its message."""


def counted_attempt(attempt: int) -> int:
    """Which attempt it is of those that count, by what its receipt says."""
    return attempt if attempt <= ATTEMPTS_SPAN else (attempt - 1) % ATTEMPTS_SPAN + 1


class Lease(msgspec.Struct, frozen=True, gc=False):
    """One delivery of one message: with topic, partition and group, what its receipt says."""

    offset: int
    attempt: int
    generation: int
    leader_epoch: int


class LeaseBatch:
    """Messages that were leased together, at the same attempt, as their receipts have it. `offsets` may still name some
    that have left."""

    __slots__ = ("attempt", "consumer", "deadline_ms", "leader_epoch", "live_count", "offsets", "serial")

    def __init__(
        self,
        serial: int,
        offsets: Sequence[int],
        *,
        attempt: int,
        leader_epoch: int,
        consumer: str,
        deadline_ms: int,
    ) -> None:
        self.serial = serial
        self.offsets = offsets
        self.attempt = attempt
        self.leader_epoch = leader_epoch
        self.consumer = consumer
        self.deadline_ms = deadline_ms
        self.live_count = len(offsets)


class LeaseListener(Protocol):
    """Is told of every change but `clear`."""

    def granted(self, offsets: Sequence[int]) -> None: ...
    def ended(self, offset: int) -> None: ...


class LeaseTable:
    """`by_offset` is for reading only."""

    def __init__(self) -> None:
        self.by_offset: dict[int, LeaseBatch] = {}
        self._deliveries: dict[int, LeaseBatch] = {}
        self._deadlines = Deadlines()
        self._last_serial = 0
        self._by_consumer: dict[str, int] | None = None
        self._listener: LeaseListener | None = None
        self._is_counted = False  # by either: one look for each of a thousand leases that end

    def __len__(self) -> int:
        return len(self.by_offset)

    def grant(
        self, offsets: Sequence[int], *, attempt: int, leader_epoch: int, consumer: str, deadline_ms: int
    ) -> LeaseBatch:
        """Lease offsets (at least one) that are not leased. The caller does not change the sequence afterwards."""
        self._last_serial += 1
        delivery = LeaseBatch(
            self._last_serial,
            offsets,
            attempt=attempt,
            leader_epoch=leader_epoch,
            consumer=consumer,
            deadline_ms=deadline_ms,
        )
        self.by_offset.update(dict.fromkeys(offsets, delivery))
        self._deliveries[delivery.serial] = delivery
        self._deadlines.set(delivery.serial, deadline_ms)
        if self._is_counted:
            self._count_granted(offsets, consumer)
        return delivery

    def remove(self, offset: int) -> LeaseBatch | None:
        """End the lease of `offset`, if there is one."""
        delivery = self.by_offset.pop(offset, None)
        if delivery is None:
            return None
        delivery.live_count -= 1
        self._tidy(delivery)
        if self._is_counted:
            self._count_ended(offset, delivery.consumer)
        return delivery

    def remove_all(self, offsets: Iterable[int]) -> None:
        """End the leases of these, as far as there are any. Those of one delivery are mostly in a row."""
        pop, is_counted = self.by_offset.pop, self._is_counted
        last: LeaseBatch | None = None
        for offset in offsets:
            delivery = pop(offset, None)
            if delivery is None:
                continue
            delivery.live_count -= 1
            if delivery is not last:
                if last is not None:
                    self._tidy(last)
                last = delivery
            if is_counted:
                self._count_ended(offset, delivery.consumer)
        if last is not None:
            self._tidy(last)

    def _tidy(self, delivery: LeaseBatch) -> None:
        """One long lease must not keep the memory of a thousand that are over; a `range` needs none."""
        if not delivery.live_count:
            del self._deliveries[delivery.serial]
            self._deadlines.discard(delivery.serial)
        elif type(delivery.offsets) is list and 2 * delivery.live_count < len(delivery.offsets):
            delivery.offsets = [each for each in delivery.offsets if self.by_offset.get(each) is delivery]

    def tell(self, listener: LeaseListener | None) -> None:
        """Who keeps count of what is leased from now on, if anybody does."""
        self._listener = listener
        self._is_counted = listener is not None or self._by_consumer is not None

    def _count_granted(self, offsets: Sequence[int], consumer: str) -> None:
        if self._by_consumer is not None:
            self._by_consumer[consumer] = self._by_consumer.get(consumer, 0) + len(offsets)
        if self._listener is not None:
            self._listener.granted(offsets)

    def _count_ended(self, offset: int, consumer: str) -> None:
        if self._by_consumer is not None:
            self._by_consumer[consumer] -= 1
            if not self._by_consumer[consumer]:
                del self._by_consumer[consumer]
        if self._listener is not None:
            self._listener.ended(offset)

    def held_by(self, consumer: str) -> int:
        """Leases of a consumer. They are counted from the first question on: who does not limit them pays nothing."""
        if self._by_consumer is None:
            self._by_consumer = self._counted_by_consumer()
            self._is_counted = True
        return self._by_consumer.get(consumer, 0)

    def _counted_by_consumer(self) -> dict[str, int]:
        counted: dict[str, int] = {}
        for delivery in self._deliveries.values():
            counted[delivery.consumer] = counted.get(delivery.consumer, 0) + delivery.live_count
        return counted

    def overdue(self, now_ms: int) -> Iterator[tuple[int, LeaseBatch]]:
        """Leases whose deadline has passed. A delivery that was iterated to its end is not offered again before
        `rearm` names one of its messages."""
        while (serial := self._deadlines.first_due(now_ms)) is not None:
            delivery = self._deliveries[serial]
            for offset in delivery.offsets:
                if self.by_offset.get(offset) is delivery:
                    yield offset, delivery
            self._deadlines.discard(serial)

    def rearm(self, offset: int) -> None:
        """The expiry of this message was not done after all; offer it again."""
        delivery = self.by_offset.get(offset)
        if delivery is not None:
            self._deadlines.set(delivery.serial, delivery.deadline_ms)

    def next_deadline(self) -> int | None:
        return self._deadlines.next()

    def clear(self) -> None:
        self.by_offset.clear()
        self._deliveries.clear()
        self._by_consumer = None
        self._is_counted = self._listener is not None
        self._deadlines.clear()

    def check_invariants(self) -> None:
        live: dict[int, int] = {}
        for offset, delivery in self.by_offset.items():
            assert offset in delivery.offsets, f"offset {offset} is leased by a delivery that does not name it"
            live[delivery.serial] = live.get(delivery.serial, 0) + 1
        counted = {serial: delivery.live_count for serial, delivery in self._deliveries.items()}
        assert live == counted, "a delivery's count of live leases is wrong"
        assert self._by_consumer in (None, self._counted_by_consumer()), "a consumer's leases are miscounted"
