"""What is to be seen later, for `await`."""

from collections.abc import AsyncIterator

from acklog.client import scheduled_calls
from acklog.client.caller import Caller
from acklog.client.delivery_time import DeliverAt
from acklog.scheduled import ScheduledMessage

PAGE_LENGTH = 1000


class AsyncScheduled:
    """`client.scheduled`. Every method raises AcklogError."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def list(
        self, topic: str, *, since: DeliverAt | None = None, before: DeliverAt | None = None, limit: int = 1000
    ) -> "list[ScheduledMessage]":
        """Up to `limit` messages in the order of time, without their bodies: those that are due from `since` on and
        before `before`."""
        return [message async for message in self._pages(topic, since, before, limit)]

    async def _pages(
        self, topic: str, since: DeliverAt | None, before: DeliverAt | None, limit: int
    ) -> AsyncIterator[ScheduledMessage]:
        cursor: str | None = None
        while limit > 0:
            length = min(limit, PAGE_LENGTH)
            call = scheduled_calls.list_scheduled(topic, since=since, before=before, limit=length, cursor=cursor)
            page = await self._caller.perform(call)
            for message in page.scheduled:
                yield message
            limit -= length
            cursor = page.next
            if cursor is None:
                return

    async def count(self, topic: str) -> int:
        """How many messages of the topic are to be seen later."""
        call = scheduled_calls.list_scheduled(topic, since=None, before=None, limit=1, cursor=None)
        return (await self._caller.perform(call)).pending

    async def get(self, topic: str, schedule_id: str) -> ScheduledMessage:
        """The message with its body; or, once it was due, its `message_id`. Raises MessageNotFound."""
        return await self._caller.perform(scheduled_calls.get_scheduled(topic, schedule_id))

    async def cancel(self, topic: str, schedule_id: str) -> ScheduledMessage:
        """The message will not be seen; to ask again is fine. Raises ScheduleOver for one that was due already."""
        return await self._caller.perform(scheduled_calls.cancel_scheduled(topic, schedule_id))

    async def move(
        self,
        topic: str,
        schedule_id: str,
        *,
        delay_seconds: float | None = None,
        deliver_at: DeliverAt | None = None,
    ) -> ScheduledMessage:
        """The message will be seen at another time, so long from now or then. Raises ScheduleOver."""
        call = scheduled_calls.move_scheduled(topic, schedule_id, delay_seconds=delay_seconds, deliver_at=deliver_at)
        return await self._caller.perform(call)
