"""Other protocols on the gateway's own port: requests that are theirs go to them, all others to the application."""

from collections.abc import Callable, Sequence
from typing import Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from app.http.exchange.http_services import HttpServices
from app.http.protocol.short_way import ShortWays


class FrontDoor(Protocol):
    """An ASGI application of its own, on the gateway's services."""

    @property
    def short_ways(self) -> ShortWays:
        """What they do not take, the door does."""
        ...

    def takes(self, scope: Scope) -> bool:
        """Whether the request, by its head alone, is one of this protocol. It may have no other meaning to the API."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...


MakeFrontDoor = Callable[[HttpServices], FrontDoor]


class FrontDoors:
    """An ASGI application around `app`."""

    def __init__(self, app: ASGIApp, doors: Sequence[FrontDoor]) -> None:
        self._app = app
        self._doors = doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for door in self._doors:
                if door.takes(scope):
                    await door(scope, receive, send)
                    return
        await self._app(scope, receive, send)
