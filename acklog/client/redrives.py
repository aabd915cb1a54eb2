"""Dead letters that are sent back, without `await`. What each method does stands with its twin in `async_redrives`."""

from collections.abc import Callable, Sequence

from acklog.client.async_redrives import AsyncRedrives
from acklog.client.background import Background
from acklog.redrives import RedriveJob


class Redrives:
    """`client.redrives`. Every method raises AcklogError. The group is whose progress says which letters are handled:
    that whose letters they are, or any other that reads them."""

    def __init__(self, background: Background, twin: Callable[[], AsyncRedrives]) -> None:
        self._run = background.run
        self._twin = twin

    def start(
        self,
        group: str,
        *,
        topic: str | None = None,
        to: str | None = None,
        filter: str | None = None,
        message_ids: Sequence[str] | None = None,
        rate_per_second: int | None = None,
    ) -> RedriveJob:
        """Send letters of `topic` back, each once, to where they came from or all `to` one topic; the server goes on
        with it by itself. `topic` may be left out where the group has one of its own. All letters that the group has
        not handled, unless a `filter` or `message_ids` say which.

        Raises GroupNotFound, TopicNotFound, MessageNotFound, InvalidFilter, RedriveUnderWay, TooManyRedrives.
        """
        return self._run(
            lambda: self._twin().start(
                group, topic=topic, to=to, filter=filter, message_ids=message_ids, rate_per_second=rate_per_second
            )
        )

    def list(self, group: str) -> "list[RedriveJob]":
        """The group's jobs, the newest first. Raises GroupNotFound."""
        return self._run(lambda: self._twin().list(group))

    def get(self, group: str, job_id: str) -> RedriveJob:
        """How far the job is. Raises RedriveNotFound."""
        return self._run(lambda: self._twin().get(group, job_id))

    def cancel(self, group: str, job_id: str) -> RedriveJob:
        """Nothing more is begun of the job; one that is over stays as it was. Raises RedriveNotFound."""
        return self._run(lambda: self._twin().cancel(group, job_id))
