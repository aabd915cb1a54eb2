"""From leases to messages: what a partition gives to one receive."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from cluster.errors import ServerError
from cluster.model.values import GroupSettings
from cluster.ports.clock import Clock
from storage.delivery.group_delivery import GroupDelivery
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.leases import Lease
from storage.delivery.passed_over import pass_over_gap
from storage.delivery.receipts import ReceiptClaim
from storage.delivery.records import unpack_ranges
from storage.node.groups.delivery_host import DeliveryHost
from storage.node.groups.delivery_steps import DeliverySteps
from storage.node.groups.lease_finder import LeaseFinder
from storage.node.groups.lease_reader import LeaseReader, ReadLeases
from storage.node.partition.node_settings import NodeSettings
from storage.node.partition.partition_host import PartitionHost
from storage.node.partition.record_reader import RecordReader
from storage.rpc.messages import DeliveredMessage, ReceiveRequest, SettleItem

_EXPIRED_STEP = 10
"""So many times as many messages are looked at as before, where all that were seen had expired."""


class Share(NamedTuple):
    """What one partition gives to a receive."""

    messages: list[DeliveredMessage]
    size_bytes: int
    may_have_more: bool


NOTHING = Share([], 0, False)


class LeasedReceives:
    """Of one partition. `on_returned(group_id, partition)` is called when a group may have something to deliver
    again."""

    def __init__(
        self,
        host: PartitionHost,
        delivery: DeliveryHost,
        reader: RecordReader,
        steps: DeliverySteps,
        *,
        clock: Clock,
        settings: NodeSettings,
        on_returned: Callable[[str, int], None],
    ) -> None:
        self._host = host
        self._delivery = delivery
        self._leased = LeaseReader(host, reader, clock)
        self._finder = LeaseFinder(
            host,
            delivery,
            reader,
            clock=clock,
            settings=settings,
            on_more=lambda group_id: on_returned(group_id, host.partition),
        )
        self._steps = steps
        self._clock = clock
        self._damaged_batches_max = settings.damaged_batches_per_receive_max
        self._expired_per_look_max = settings.expired_per_look_max
        self._expired_max = settings.expired_per_receive_max
        self._on_returned = on_returned

    async def give(
        self,
        state: GroupInPartition,
        request: ReceiveRequest,
        settings: GroupSettings,
        max_messages: int,
        max_bytes: int,
        is_first: bool,
        wall: int,
    ) -> Share:
        """Lease messages below `wall` and read them. The first message of an answer is given whatever its size. What
        compaction has removed, or has expired, is passed over, durably, before anything behind it is given; a long run
        of what has expired in steps that grow.

        Raises ServerError: RECORDS_CORRUPT (the damaged messages stay leased, so that they are tried again later, and
        do not hide the others from groups that pass them), STORAGE_FAILED, UNAVAILABLE (this leader may be over).
        """
        visibility_ms = settings.visibility_ms if request.visibility_ms is None else request.visibility_ms
        damage, wanted, has_more, is_passing = None, max_messages, False, False
        rounds, expired = 0, 0
        while rounds < self._damaged_batches_max and expired < self._expired_max:
            leases, has_more = await self._find(state, request, settings, wanted, visibility_ms, wall)
            if not leases:
                is_passing = False
                break
            self._steps.arm_at(self._clock.monotonic_ms() + visibility_ms)
            found = await self._read(request, state, settings, leases, max_messages, max_bytes, is_first)
            is_passing = bool(found.removed or found.expired)
            if found.messages or (found.damage is None and not is_passing):
                may_have_more = bool(found.surplus) or len(leases) == wanted
                return Share(found.messages, found.size_bytes, may_have_more)
            expired += len(found.expired)
            if found.expired:
                wanted = max(min(wanted * _EXPIRED_STEP, self._expired_per_look_max), max_messages)
                damage = found.damage or damage
            else:
                rounds, damage = rounds + 1, found.damage
                wanted = max_messages + found.damaged_behind
        if damage is not None:
            raise damage
        if is_passing:
            self._on_returned(state.group_id, self._host.partition)  # it gives way, and goes on later
        return Share([], 0, True) if has_more or is_passing else NOTHING

    async def _find(
        self,
        state: GroupInPartition,
        request: ReceiveRequest,
        settings: GroupSettings,
        wanted: int,
        visibility_ms: int,
        wall: int,
    ) -> tuple[list[Lease], bool]:
        """Leases, and whether a filter of the request's own has more to look at: such a group knows no wall."""
        filters = () if settings.filter is None else (settings.filter,)
        if request.filter:
            assert isinstance(state, GroupDelivery), "a group that takes filters of calls leases message by message"
            filters = (*filters, request.filter)
            return await self._finder.find_matching(state, request.consumer, wanted, visibility_ms, filters=filters)
        leases = await self._finder.find(
            state, request.consumer, wanted, visibility_ms, wall, filters=filters, header=settings.fair_by_header
        )
        if filters:
            self._steps.arm()  # what was passed over is to be recorded
        return leases, False

    def release(self, state: GroupInPartition, items: Sequence[ReceiptClaim]) -> None:
        """Nobody has seen these leases: their attempts do not count."""
        state.release(items)
        self._on_returned(state.group_id, self._host.partition)

    async def _read(
        self,
        request: ReceiveRequest,
        state: GroupInPartition,
        settings: GroupSettings,
        leases: list[Lease],
        max_messages: int,
        max_bytes: int,
        is_first: bool,
    ) -> ReadLeases:
        """What is given of the leased messages; what does not fit is given back and its attempt does not count."""
        try:
            found = await self._leased.read(
                state, settings, leases, max_messages=max_messages, max_bytes=max_bytes, is_first=is_first
            )
            if found.removed:
                self._delivery.record_passed_over(state)
                await self._delivery.commit(pass_over_gap(state.state, found.removed))
                self._on_returned(state.group_id, self._host.partition)
            if found.expired:
                await self._outlive(state, found.expired)
        except (ServerError, asyncio.CancelledError):
            self.release(state, leases)
            raise
        if found.surplus:
            self.release(state, found.surplus)
        try:
            if request.auto_ack:
                return found._replace(messages=await self._ack_delivered(state, found.messages))
            self._check_still_sure(state, leases)
        except asyncio.CancelledError:
            self.release(state, leases)
            raise
        return found

    async def _outlive(self, state: GroupInPartition, expired: Sequence[Lease]) -> None:
        """What has expired is nobody's any more: durably so before anything behind it is given out (rule R41). Raises
        ServerError: what the append of a record raises."""
        record = state.outlive(expired, wall_now_ms=self._clock.now_ms())
        if record is None:
            return
        self._delivery.record_passed_over(state)
        await self._delivery.commit(record)
        self._steps.arm()  # what becomes a dead letter is due
        self._on_returned(state.group_id, self._host.partition)  # there is room again

    def _check_still_sure(self, state: GroupInPartition, leases: list[Lease]) -> None:
        """The process may have stood still while it read."""
        try:
            self._delivery.check_sure()
        except ServerError:
            self.release(state, leases)
            raise

    async def _ack_delivered(self, state: GroupInPartition, read: list[DeliveredMessage]) -> list[DeliveredMessage]:
        """At most once: done, durably, before anybody sees the messages. Those that this did, and no others: a lease
        may have run out while they were read, and somebody else has got them, or has done them."""
        items = [item_of(message.receipt) for message in read]
        settlement = state.ack(items, readable_end=self._host.readable_end)
        if settlement.record is None:
            return []
        self._delivery.record_passed_over(state)
        await self._delivery.commit(settlement.record)
        self._on_returned(state.group_id, self._host.partition)  # what was behind it in an order may go
        for message in read:
            message.receipt = ""
        runs = list(unpack_ranges(settlement.record.runs))
        if sum(end - start for start, end in runs) == len(read):
            return read
        done = {offset for start, end in runs for offset in range(start, end)}
        return [message for message in read if message.offset in done]


def item_of(receipt_text: str) -> SettleItem:
    parts = receipt_text.split("-")
    return SettleItem(int(parts[3]), int(parts[5]), int(parts[6]), int(parts[7]))
