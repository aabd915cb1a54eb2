"""Backups and restores, for `await`: what `acklog.backup` is made of."""

import sys

from acklog.client.call import Call, Result
from acklog.client.caller import Caller


class AsyncCopies:
    """`client.copies`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def perform(self, call: Call[Result]) -> Result:
        """One of the calls of `acklog.client.copy_calls`, each of which may be made again: batches have their offsets.
        So only the timeout bounds the tries, and work of hours outlives a server that starts again. Raises
        AcklogError."""
        return await self._caller.perform(call, retries_max=sys.maxsize)
