"""The least that any HTTP server in Python can do: uvloop for the sockets, httptools for the requests, and a fixed
answer once all of a request has come."""

import asyncio
from typing import cast

import httptools
import uvloop

from loadtests.canned import STORED, answer_head

_STORED = answer_head(201, len(STORED)) + STORED
_READY = answer_head(200, 0)


class BareProtocol(asyncio.Protocol):
    """POST: 201 and what Acklog says to a send. Anything else: 200 and nothing."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not a subclass

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            assert self._transport is not None
            self._transport.abort()

    def on_message_complete(self) -> None:
        assert self._transport is not None
        self._transport.write(_STORED if self._parser.get_method() == b"POST" else _READY)


def serve(port: int) -> None:
    """Until the process is ended."""
    uvloop.run(_serve(port))


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(BareProtocol, "127.0.0.1", port, backlog=4096)
    await server.serve_forever()
