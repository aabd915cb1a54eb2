"""Counting requests: a plain ASGI layer, because a framework's middleware class costs more than a whole send."""

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.gateway.bounded_names import OTHER
from app.gateway.metrics import Metrics

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


OnRefused = Callable[[Scope, int, bytes], None]
"""Told of a request that was refused, and of its answer's status and body."""

GONE_STATUS = 499
REFUSED_STATUSES = frozenset({401, 403})

STREAM = "acklog.stream"
"""What a request's scope has, before its answer begins, whose answer has no end of its own."""


class ObservedApplication:
    """Notes route, method, status and duration of every request. A client that was gone before the answer counts as
    status 499, as nginx has it. A stream is noted when it begins: how long it lasts is no duration of a request."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, on_refused: OnRefused) -> None:
        self._app = app
        self._metrics = metrics
        self._on_refused = on_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = GONE_STATUS
        is_counted = False
        loop = asyncio.get_running_loop()
        begin = loop.time()

        async def observed_send(message: Message) -> None:
            nonlocal status, is_counted
            if message["type"] == "http.response.start":
                status = message["status"]
                if STREAM in scope:
                    is_counted = True
                    self._count(scope, status, loop.time() - begin)
            elif status in REFUSED_STATUSES:
                self._on_refused(scope, status, message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, observed_send)
        except Exception:
            status = 500
            raise
        finally:
            if not is_counted:
                self._count(scope, status, loop.time() - begin)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", OTHER)
        method = scope["method"] if scope["method"] in _METHODS else OTHER
        self._metrics.count_request(route, method, status, seconds)
