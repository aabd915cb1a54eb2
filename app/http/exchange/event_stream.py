"""An answer that goes on for as long as somebody listens: server-sent events."""

import asyncio
from contextlib import AbstractContextManager

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from acklog.wire.problems import ProblemCode
from app.calls.streams import Talk
from app.events.event_text import COMMENT, event
from app.gateway.shutdown import Shutdown
from app.http.exchange.caller_standing import RequestStanding
from app.http.exchange.client_watch import ClientWatch
from app.http.exchange.observation import STREAM
from app.http.exchange.request import RequestHeaders
from cluster.errors import ServerError

EVENT_STREAM = "text/event-stream"
LAST_EVENT_ID = b"last-event-id"
LAST_WORD_MS = 1_000
"""How long a client has to take all that was said, with the last event: who does not read keeps no stop waiting."""
CONNECTION = "acklog.connection"
"""What a request's scope has, where there is one: the transport."""
_HEADERS = [
    (b"content-type", EVENT_STREAM.encode()),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # proxies that know it do not hold events back
]

_encode = msgspec.json.Encoder().encode


def last_event_id(headers: RequestHeaders) -> str | None:
    return headers.get(LAST_EVENT_ID)


class EventStreamResponse(Response):
    """`talk` says what there is to say, as fast as the client takes it; `place` is one of those that there are for
    streams, and raises ServerError where there is none."""

    def __init__(
        self,
        talk: Talk,
        *,
        place: AbstractContextManager[None],
        shutdown: Shutdown,
        standing: RequestStanding,
    ) -> None:
        self._talk = talk
        self._place = place
        self._shutdown = shutdown
        self._standing = standing
        self.status_code = 200
        self.background = None
        self.raw_headers = list(_HEADERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises ServerError before the answer begins."""
        if self._shutdown.has_begun:
            raise ServerError(ProblemCode.SHUTTING_DOWN, "the server is shutting down")
        with self._place:
            scope[STREAM] = True
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with ClientWatch(receive, self._shutdown, self._standing) as watch:
                end = await self._end_of(watch, send)
                if not watch.is_gone:
                    await self._say_last(scope, send, end)

    async def _end_of(self, watch: ClientWatch, send: Send) -> dict[str, str]:
        """Talk until it ends: why."""

        async def say(piece: bytes) -> None:
            await send({"type": "http.response.body", "body": piece, "more_body": True})

        async def talk() -> str:
            await say(COMMENT)  # the head goes out with it: whoever asked knows at once that the stream has begun
            return await self._talk(say)

        try:
            return {"reason": await watch.wait(talk()) or "shutdown"}
        except ServerError as error:
            reason = "rights" if error.code is ProblemCode.FORBIDDEN else "token"
            return {"reason": reason, "code": error.code.name}

    async def _say_last(self, scope: Scope, send: Send, end: dict[str, str]) -> None:
        connection: asyncio.Transport | None = scope.get(CONNECTION)
        if connection is not None:
            asyncio.get_running_loop().call_later(LAST_WORD_MS / 1000, _hang_up_on_who_does_not_read, connection)
        await send({"type": "http.response.body", "body": event("end", _encode(end)), "more_body": False})


def _hang_up_on_who_does_not_read(connection: asyncio.Transport) -> None:
    """A close waits until all was taken. Where all was, the connection is the next request's."""
    if connection.is_closing() or connection.get_write_buffer_size():
        connection.abort()
