"""Dead letters that are sent back, for `await`."""

from collections.abc import Sequence

from acklog.client import redrive_calls
from acklog.client.caller import Caller
from acklog.redrives import RedriveJob


class AsyncRedrives:
    """`client.redrives`. Every method raises AcklogError. The group is whose progress says which letters are handled:
    that whose letters they are, or any other that reads them."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def start(
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
        call = redrive_calls.start_redrive(
            group, topic=topic, to=to, filter=filter, message_ids=message_ids, rate_per_second=rate_per_second
        )
        return await self._caller.perform(call)

    async def list(self, group: str) -> "list[RedriveJob]":
        """The group's jobs, the newest first. Raises GroupNotFound."""
        return (await self._caller.perform(redrive_calls.list_redrives(group))).jobs

    async def get(self, group: str, job_id: str) -> RedriveJob:
        """How far the job is. Raises RedriveNotFound."""
        return await self._caller.perform(redrive_calls.get_redrive(group, job_id))

    async def cancel(self, group: str, job_id: str) -> RedriveJob:
        """Nothing more is begun of the job; one that is over stays as it was. Raises RedriveNotFound."""
        return await self._caller.perform(redrive_calls.cancel_redrive(group, job_id))
