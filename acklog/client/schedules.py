"""Messages that are sent again and again, without `await`. What each method does stands with its twin in
`async_schedules`."""

from collections.abc import Callable

from acklog.client.async_schedules import AsyncSchedules
from acklog.client.background import Background
from acklog.client.delivery_time import DeliverAt
from acklog.messages import OutgoingMessage
from acklog.recurring import RecurringMessage


class Schedules:
    """`client.schedules`. Every method raises AcklogError."""

    def __init__(self, background: Background, twin: Callable[[], AsyncSchedules]) -> None:
        self._run = background.run
        self._twin = twin

    def create(
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
        return self._run(
            lambda: self._twin().create(
                topic,
                name,
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
        )

    def update(
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
        return self._run(
            lambda: self._twin().update(
                topic,
                name,
                message=message,
                cron=cron,
                time_zone=time_zone,
                every_seconds=every_seconds,
                missed=missed,
                grace_seconds=grace_seconds,
                is_paused=is_paused,
                start_at=start_at,
                end_at=end_at,
            )
        )

    def pause(self, topic: str, name: str) -> RecurringMessage:
        """Nothing is sent until it is resumed, and nothing is missed by it. Raises ScheduleNotFound."""
        return self._run(lambda: self._twin().pause(topic, name))

    def resume(self, topic: str, name: str) -> RecurringMessage:
        """It goes on from now. Raises ScheduleNotFound."""
        return self._run(lambda: self._twin().resume(topic, name))

    def get(self, topic: str, name: str) -> RecurringMessage:
        """With its message. Raises ScheduleNotFound."""
        return self._run(lambda: self._twin().get(topic, name))

    def list(self, topic: str) -> "list[RecurringMessage]":
        """All of the topic by name, without their messages."""
        return self._run(lambda: self._twin().list(topic))

    def delete(self, topic: str, name: str) -> None:
        """Nothing is sent any more; one that is not there is fine."""
        self._run(lambda: self._twin().delete(topic, name))
