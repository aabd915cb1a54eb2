"""What is to be seen later, without `await`. What each method does stands with its twin in `async_scheduled`."""

from collections.abc import Callable

from acklog.client.async_scheduled import AsyncScheduled
from acklog.client.background import Background
from acklog.client.delivery_time import DeliverAt
from acklog.scheduled import ScheduledMessage


class Scheduled:
    """`client.scheduled`. Every method raises AcklogError."""

    def __init__(self, background: Background, twin: Callable[[], AsyncScheduled]) -> None:
        self._run = background.run
        self._twin = twin

    def list(
        self, topic: str, *, since: DeliverAt | None = None, before: DeliverAt | None = None, limit: int = 1000
    ) -> "list[ScheduledMessage]":
        """Up to `limit` messages in the order of time, without their bodies: those that are due from `since` on and
        before `before`."""
        return self._run(lambda: self._twin().list(topic, since=since, before=before, limit=limit))

    def count(self, topic: str) -> int:
        """How many messages of the topic are to be seen later."""
        return self._run(lambda: self._twin().count(topic))

    def get(self, topic: str, schedule_id: str) -> ScheduledMessage:
        """The message with its body; or, once it was due, its `message_id`. Raises MessageNotFound."""
        return self._run(lambda: self._twin().get(topic, schedule_id))

    def cancel(self, topic: str, schedule_id: str) -> ScheduledMessage:
        """The message will not be seen; to ask again is fine. Raises ScheduleOver for one that was due already."""
        return self._run(lambda: self._twin().cancel(topic, schedule_id))

    def move(
        self,
        topic: str,
        schedule_id: str,
        *,
        delay_seconds: float | None = None,
        deliver_at: DeliverAt | None = None,
    ) -> ScheduledMessage:
        """The message will be seen at another time, so long from now or then. Raises ScheduleOver."""
        return self._run(
            lambda: self._twin().move(topic, schedule_id, delay_seconds=delay_seconds, deliver_at=deliver_at)
        )
