"""What a gateway asks of a partition's schedule, beside sending to it."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.node.replicas.led_partition import Partition
from storage.node.schedule.schedule_host import ScheduleHost
from storage.replication.leadership import UNAVAILABLE_RETRY_MS, confirm
from storage.rpc.messages import ProduceRequest, ProduceResponse
from storage.rpc.schedule_messages import (
    CANCELLED,
    DELIVERED,
    SCHEDULED,
    AdoptRequest,
    AdoptResponse,
    ScheduledItem,
    ScheduledListRequest,
    ScheduledListResponse,
    ScheduledRequest,
    ScheduledResponse,
)
from storage.schedule.changes import Cancelled, Moved, first_name
from storage.schedule.entries import Due, Key, ScheduledEntry, SettledEntry
from storage.schedule.schedule_index import IndexFailedError
from storage.schedule.schedule_settings import ScheduleSettings


class ScheduleCalls:
    """Each raises ServerError. What is answered holds all that was committed when the call came."""

    def __init__(
        self, partition: Callable[[str, int], Awaitable[Partition]], *, clock: Clock, settings: ScheduleSettings
    ) -> None:
        self._partition = partition
        self._clock = clock
        self._settings = settings
        self._under_way: dict[asyncio.Task[ScheduledItem], None] = {}

    async def schedule(self, request: ProduceRequest) -> ProduceResponse:
        """A batch of messages that are to be seen later."""
        return await (await self._partition(request.topic_id, request.partition)).schedule.scheduled.produce(request)

    async def adopt(self, request: AdoptRequest) -> AdoptResponse:
        """What another partition hands over. The caller bounds the time."""
        host = (await self._partition(request.topic_id, request.partition)).schedule
        await host.wait_open()
        return await host.adoptions.adopt(request)

    async def call(self, request: ScheduledRequest) -> ScheduledResponse:
        host = (await self._partition(request.topic_id, request.partition)).schedule
        try:
            async with asyncio.timeout(request.timeout_ms / 1000):
                await self._catch_up(host)
                if request.action == "look":
                    return ScheduledResponse(await self._look(host, request))
                return ScheduledResponse(await self._change_to_the_end(host, request))
        except TimeoutError:
            if request.action == "look":
                raise _not_in_time(ProblemCode.TIMED_OUT) from None
            raise _not_in_time(ProblemCode.OUTCOME_UNKNOWN) from None
        except IndexFailedError as error:
            raise _being_made_anew(error) from error

    async def list(self, request: ScheduledListRequest) -> ScheduledListResponse:
        host = (await self._partition(request.topic_id, request.partition)).schedule
        limit = min(request.limit, self._settings.page_messages_max)
        since = Key(request.since_ms, request.since_order)
        try:
            async with asyncio.timeout(request.timeout_ms / 1000):
                await self._catch_up(host)
                if not host.pending:
                    return ScheduledListResponse([])
                entries = await host.keeper.page(since, before_ms=request.before_ms, limit=limit + 1)
                found = await host.keeper.read(entries[:limit])
        except TimeoutError:
            raise _not_in_time(ProblemCode.TIMED_OUT) from None
        except IndexFailedError as error:
            raise _being_made_anew(error) from error
        items = [_item_of(due) for due in sorted(found, key=lambda due: due.entry.key)]
        for item in items:
            assert item.record is not None
            item.record = msgspec.structs.replace(item.record, body=b"")
        return ScheduledListResponse(items, len(entries) > limit, host.pending)

    async def _catch_up(self, host: ScheduleHost) -> None:
        await confirm(host.leadership)  # a later leader may have stored what is not there (rule R35)
        await host.wait_ready()
        await host.keeper.wait_applied(host.scheduled.high_watermark)

    async def _look(self, host: ScheduleHost, request: ScheduledRequest) -> ScheduledItem:
        found = await self._found(host, request)
        if isinstance(found, SettledEntry):
            return _item_of_settled(found)
        read = await host.keeper.read([found])
        if not read:
            raise _unreadable()
        return _item_of(read[0])

    async def _change_to_the_end(self, host: ScheduleHost, request: ScheduledRequest) -> ScheduledItem:
        """Who gives up waiting does not end it: until it is known whether the change is in the log, nothing else is
        decided about the message."""
        task = asyncio.get_running_loop().create_task(self._change(host, request))
        self._under_way[task] = None
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: "asyncio.Task[ScheduledItem]") -> None:
        del self._under_way[task]
        if not task.cancelled():
            task.exception()  # who waited was told, if somebody did

    async def _change(self, host: ScheduleHost, request: ScheduledRequest) -> ScheduledItem:
        """One decision about a message at a time; none about one that is on its way to the messages."""
        async with host.turns.changing(request.offset):
            found = await self._found(host, request)
            if isinstance(found, SettledEntry):
                item = _item_of_settled(found)
                if item.state == CANCELLED and request.action == "cancel":
                    return item
                raise _over(item)
            if not host.near.begin_change(request.offset):
                raise ServerError(
                    ProblemCode.SCHEDULE_OVER, "It is due, and being delivered.", retry_after_ms=UNAVAILABLE_RETRY_MS
                )
            try:
                if request.action == "cancel":
                    await host.keeper.wait_applied(await host.writer.write(Cancelled(request.offset)))
                    return ScheduledItem(found.id, found.epoch, CANCELLED)
                if not await host.keeper.read([found]):
                    raise _unreadable()
                due_ms = request.at_ms if request.at_ms >= 0 else self._clock.now_ms() + request.delay_ms
                end = await host.writer.write(Moved(request.offset, due_ms))
                await host.keeper.wait_applied(end)
                return ScheduledItem(found.id, found.epoch, SCHEDULED, due_ms, size_bytes=found.size_bytes)
            finally:
                host.near.end_change(request.offset)
                host.wake()

    async def _found(self, host: ScheduleHost, request: ScheduledRequest) -> ScheduledEntry | SettledEntry:
        found = await host.keeper.find(request.offset) if host.keeper.has_any else None
        if found is None and host.keeper.may_have_lost(request.offset):
            raise ServerError(
                ProblemCode.RECORDS_CORRUPT,
                "Part of the schedule cannot be read, and what it said of this message may be in there.",
            )
        if found is None or found.epoch != request.leader_epoch:
            detail = "No such message is scheduled, or it was delivered long ago."
            raise ServerError(ProblemCode.MESSAGE_NOT_FOUND, detail)
        return found


def _item_of(due: Due) -> ScheduledItem:
    entry, record = due
    bare = msgspec.structs.replace(record, schedule=None)
    size_bytes = len(record.body)
    item = ScheduledItem(entry.id, entry.epoch, SCHEDULED, entry.due_ms, entry.order, size_bytes, bare)
    item.name = first_name(record)
    return item


def _item_of_settled(found: SettledEntry) -> ScheduledItem:
    if found.message_offset < 0:
        return ScheduledItem(found.id, found.epoch, CANCELLED)
    if found.partition >= 0:
        item = ScheduledItem(found.id, found.epoch, DELIVERED, partition=found.partition)
        item.there_offset, item.there_epoch = found.message_offset, found.message_epoch
        return item
    return ScheduledItem(
        found.id, found.epoch, DELIVERED, message_offset=found.message_offset, message_epoch=found.message_epoch
    )


def _over(item: ScheduledItem) -> ServerError:
    if item.state == CANCELLED:
        return ServerError(ProblemCode.SCHEDULE_OVER, "It was cancelled.", extra={"state": CANCELLED})
    if item.partition >= 0:
        return ServerError(ProblemCode.SCHEDULE_OVER, "It was due, and went to the partition that it belongs to.")
    extra: dict[str, object] = {
        "state": DELIVERED,
        "messageOffset": item.message_offset,
        "messageEpoch": item.message_epoch,
    }
    return ServerError(ProblemCode.SCHEDULE_OVER, "It was due, and is delivered.", extra=extra)


def _unreadable() -> ServerError:
    return ServerError(ProblemCode.RECORDS_CORRUPT, "The scheduled message cannot be read.")


def _not_in_time(code: ProblemCode) -> ServerError:
    return ServerError(code, "The schedule did not answer in time.", retry_after_ms=UNAVAILABLE_RETRY_MS)


def _being_made_anew(error: IndexFailedError) -> ServerError:
    detail = f"The index of what is scheduled is being made anew: {error}"
    return ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=1000)
