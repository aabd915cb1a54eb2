"""An application that is made when somebody needs it: the framework and all endpoints are half of a start's work.

It is made by the first request that it is for, or once a server has been up for a while. So a server that is short of
time has it later, and one that runs for long has loaded all of its code before somebody upgrades what is on the disk.
"""

import asyncio
from collections.abc import Callable
from typing import cast

from starlette.types import ASGIApp, Receive, Scope, Send

from app.gateway.dependencies import InThread
from app.http.exchange.problems import problem_of
from cluster.ports.clock import Clock

MADE_AFTER_MS = 10_000


class LaterApplication:
    """An ASGI application. `make` blocks for some tenths of a second, `in_thread` where there is one; it touches
    nothing that the event loop does. `on_end` is told that the server stops."""

    def __init__(
        self, make: Callable[[], ASGIApp], *, in_thread: InThread | None, clock: Clock, on_end: Callable[[], None]
    ) -> None:
        self._make = make
        self._in_thread = in_thread
        self._clock = clock
        self._on_end = on_end
        self._made: ASGIApp | None = None
        self._making: asyncio.Task[ASGIApp] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        try:
            application = self._made or await self._application()
        except Exception as error:  # nothing of the API is there yet that would answer
            await problem_of(error)(scope, receive, send)
            return
        await application(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """The lifespan of ASGI: a message at the start, and one at the end."""
        await receive()
        warming = asyncio.create_task(self._warm(), name="application")
        await send({"type": "lifespan.startup.complete"})
        await receive()
        warming.cancel()
        self._on_end()
        await send({"type": "lifespan.shutdown.complete"})

    async def _warm(self) -> None:
        await self._clock.sleep(MADE_AFTER_MS)
        await self._application()

    async def _application(self) -> ASGIApp:
        """Made once, for all who ask meanwhile; who goes away does not end it. What failed is tried again."""
        if self._in_thread is None:
            self._made = self._make()
            return self._made
        if self._making is None:
            self._making = asyncio.create_task(self._made_in(self._in_thread), name="making the application")
        return await asyncio.shield(self._making)

    async def _made_in(self, in_thread: InThread) -> ASGIApp:
        try:
            made = cast(ASGIApp, await in_thread(self._make))
        finally:
            self._making = None
        self._made = made
        return made
