"""Knowing that a client has gone while its request waits: leases must not be given to nobody."""

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from starlette.types import Receive

from app.gateway.shutdown import Shutdown
from app.http.exchange.caller_standing import RequestStanding

_Result = TypeVar("_Result")


class ClientWatch:
    """Watches one request's connection, the server's shutdown, and whether who asks is still let in, until the
    `async with` block ends, or beyond it after `hand_over`.

    The request's body must have been read before: what still comes in is dropped.
    """

    def __init__(self, receive: Receive, shutdown: Shutdown, standing: RequestStanding) -> None:
        self._receive = receive
        self._shutdown = shutdown
        self._standing = standing
        self._refusal: Exception | None = None
        self._waiting: asyncio.Task[Any] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._is_handed_over = False
        self.is_gone = False

    async def __aenter__(self) -> "ClientWatch":
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None or not self._is_handed_over:
            await self.close()

    def hand_over(self) -> "ClientWatch":
        """The answer goes on watching when the block has ended, and closes the watch itself."""
        self._is_handed_over = True
        return self

    async def close(self) -> None:
        watching, self._watching = self._watching, None
        if watching is not None:
            watching.cancel()
            [outcome] = await asyncio.gather(watching, return_exceptions=True)  # who is cancelled meanwhile stays so
            if isinstance(outcome, Exception):
                raise outcome

    async def wait(self, work: Coroutine[Any, Any, _Result]) -> _Result | None:
        """What `work` returns; None when it was given up because the client is gone or the server stops. Raises what
        `standing` refuses with (ServerError UNAUTHENTICATED, TOKEN_EXPIRED) where who asks is not let in any more."""
        waiting: asyncio.Task[_Result] = asyncio.get_running_loop().create_task(work)
        self._waiting = waiting
        stops = self._shutdown.subscribe(self._give_up), self._standing.watch(self._refuse)
        if self.is_gone or self._shutdown.has_begun:
            self._give_up()
        try:
            return await waiting
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            if self._refusal is not None:
                raise self._refusal from None
            return None
        finally:
            for stop in stops:
                stop()
            self._waiting = None

    async def _watch(self) -> None:
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                break
        self.is_gone = True
        self._give_up()

    def _refuse(self, error: Exception) -> None:
        self._refusal = error
        self._give_up()

    def _give_up(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
