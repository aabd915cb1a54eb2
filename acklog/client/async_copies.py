"""Backups and restores, for `await`: what `acklog.backup` is made of."""

from acklog.client.call import Call, Result
from acklog.client.caller import Caller


class AsyncCopies:
    """`client.copies`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def perform(self, call: Call[Result]) -> Result:
        """One of the calls of `acklog.client.copy_calls`. Raises AcklogError."""
        return await self._caller.perform(call)
