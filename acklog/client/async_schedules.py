"""Messages that are sent again and again, for `await`."""

from acklog.client import recurring_calls
from acklog.client.caller import Caller
from acklog.client.delivery_time import DeliverAt
from acklog.messages import OutgoingMessage
from acklog.recurring import RecurringMessage

PAGE_LENGTH = 1000


class AsyncSchedules:
    """`client.schedules`. Every method raises AcklogError."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def create(
        self,
        topic: str,
        name: str,
        message: OutgoingMessage,
        *,
        cron: str | None = None,
        time_zone: str | None = None,
        every_seconds: float | None = None,
        missed: str | None = None,
        grace_seconds: float | None = None,
        is_paused: bool | None = None,
        start_at: DeliverAt | None = None,
        end_at: DeliverAt | None = None,
    ) -> RecurringMessage:
        """Have the message sent by `cron` (in `time_zone`, else UTC) or each `every_seconds`. One that is there already
        with these settings is fine. Raises ScheduleExists, InvalidCron, TooManySchedules."""
        [message] = await self._caller.encrypted(topic, [message])
        settings = recurring_calls.settings_of(
            message,
            cron=cron,
            time_zone=time_zone,
            every_seconds=every_seconds,
            missed=missed,
            grace_seconds=grace_seconds,
            is_paused=is_paused,
            start_at=start_at,
            end_at=end_at,
        )
        return await self._caller.perform(recurring_calls.put_recurring(topic, name, settings))

    async def update(
        self,
        topic: str,
        name: str,
        *,
        message: OutgoingMessage | None = None,
        cron: str | None = None,
        time_zone: str | None = None,
        every_seconds: float | None = None,
        missed: str | None = None,
        grace_seconds: float | None = None,
        is_paused: bool | None = None,
        start_at: DeliverAt | None = None,
        end_at: DeliverAt | None = None,
    ) -> RecurringMessage:
        """Change what is named. Raises ScheduleNotFound, InvalidCron."""
        if message is not None:
            [message] = await self._caller.encrypted(topic, [message])
        settings = recurring_calls.settings_of(
            message,
            cron=cron,
            time_zone=time_zone,
            every_seconds=every_seconds,
            missed=missed,
            grace_seconds=grace_seconds,
            is_paused=is_paused,
            start_at=start_at,
            end_at=end_at,
        )
        return await self._caller.perform(recurring_calls.update_recurring(topic, name, settings))

    async def pause(self, topic: str, name: str) -> RecurringMessage:
        """Nothing is sent until it is resumed, and nothing is missed by it. Raises ScheduleNotFound."""
        return await self.update(topic, name, is_paused=True)

    async def resume(self, topic: str, name: str) -> RecurringMessage:
        """It goes on from now. Raises ScheduleNotFound."""
        return await self.update(topic, name, is_paused=False)

    async def get(self, topic: str, name: str) -> RecurringMessage:
        """With its message. Raises ScheduleNotFound."""
        return await self._caller.perform(recurring_calls.get_recurring(topic, name))

    async def list(self, topic: str) -> "list[RecurringMessage]":
        """All of the topic by name, without their messages."""
        found: list[RecurringMessage] = []
        after: str | None = None
        while True:
            page = await self._caller.perform(recurring_calls.list_recurring(topic, limit=PAGE_LENGTH, after=after))
            found += page.schedules
            after = page.next
            if after is None:
                return found

    async def delete(self, topic: str, name: str) -> None:
        """Nothing is sent any more; one that is not there is fine."""
        await self._caller.perform(recurring_calls.delete_recurring(topic, name))
