"""An embedded server in the test's own process and loop, called by TLS; and a listener that does what a test wants."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from app.http.application import create_server_app
from app.http.protocol.server_protocol import make_server_protocol
from storage.node.partition.node_settings import NodeSettings
from tests.support.server_in_process import served


class TlsServer:
    """`callers` has the serial number of each connection's certificate, None for none, in their order."""

    def __init__(self, port: int, callers: list[str | None]) -> None:
        self.port = port
        self.url = f"https://localhost:{port}"
        self.callers = callers


@asynccontextmanager
async def tls_served(directory: Path, context: ssl.SSLContext | None) -> AsyncIterator[TlsServer]:
    """What is loaded into the context later counts for new connections. Without a context it speaks no TLS."""
    async with served(directory, NodeSettings()) as server:
        application = create_server_app(server.embedded.gateway)
        config = uvicorn.Config(
            application.asgi,
            http=make_server_protocol(server.embedded.gateway.settings, short_ways=application.short_ways),
            lifespan="off",
            ws="none",
            log_config=None,
        )
        config.load()
        state, make = ServerState(), config.http_protocol_class
        callers: list[str | None] = []
        transports: list[asyncio.Transport] = []

        class Noted(make):  # type: ignore[misc, valid-type]
            def connection_made(self, transport: Any) -> None:
                shown = transport.get_extra_info("peercert")
                callers.append(shown["serialNumber"] if shown else None)
                transports.append(transport)
                super().connection_made(transport)

        def connect() -> Any:
            return Noted(config=config, server_state=state, app_state={})

        async with _listening(connect, context) as port:
            try:
                yield TlsServer(port, callers)
            finally:
                for transport in transports:
                    transport.abort()


@asynccontextmanager
async def answering(answer: bytes, context: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """The port of a listener that says `answer` to whatever comes first, and ends the connection."""

    class Once(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            assert isinstance(self.transport, asyncio.Transport)
            self.transport.write(answer)
            self.transport.close()

    async with _listening(Once, context) as port:
        yield port


@asynccontextmanager
async def _listening(connect: Callable[[], Any], context: ssl.SSLContext | None) -> AsyncIterator[int]:
    listener = await asyncio.get_running_loop().create_server(connect, "localhost", 0, ssl=context, family=2)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
