"""A server that says back what it is told, behind a listener with TLS, and clients of it."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import cast

from cluster.tls.contexts import ClientCertificates, http_server_context
from cluster.tls.current_context import CurrentContext
from cluster.tls.tls_files import TlsFiles
from cluster.tls.tls_listener import OpeningFailure, TlsListener, TlsListenerSettings
from tests.support.authority import OwnAuthority
from tests.support.own_authority import NOW_MS

HOST = "127.0.0.1"
PATIENCE_S = 20
CLEAR_ANSWER = b"this is not for you"


class Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's inherit from nothing of asyncio

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


class EchoServer:
    """Made by `echo_server`. `refused` holds what came to nothing, in order; `now_ms` is its time."""

    def __init__(self, context: CurrentContext, settings: TlsListenerSettings) -> None:
        self.context = context
        self.now_ms = NOW_MS
        self.refused: list[tuple[OpeningFailure, str]] = []
        self._heard = asyncio.Event()
        listener = socket.create_server((HOST, 0))
        self.port = int(listener.getsockname()[1])
        self.listener = TlsListener(
            listener,
            Echo,
            context=lambda: context.context,
            now_ms=lambda: self.now_ms,
            settings=replace(settings, clear_answer=CLEAR_ANSWER),
            on_refused=self._note,
        )

    def _note(self, refusal: OpeningFailure, why: str) -> None:
        self.refused.append((refusal, why))
        self._heard.set()

    async def refusals(self, count: int) -> list[tuple[OpeningFailure, str]]:
        """Once there are so many."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self.refused) < count:
                self._heard.clear()
                await self._heard.wait()
        return self.refused

    # --- clients ---

    async def connect(
        self, tls: ssl.SSLContext | None, *, server_hostname: str = "localhost"
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(PATIENCE_S):
            name = None if tls is None else server_hostname
            return await asyncio.open_connection(HOST, self.port, ssl=tls, server_hostname=name)

    async def ask(self, tls: ssl.SSLContext | None, text: bytes = b"anybody?") -> bytes:
        """What is answered on a connection of its own, b"" for a refusal in TLS 1.3: there a client learns of it with
        the first answer. Raises OSError."""
        reader, writer = await self.connect(tls)
        try:
            writer.write(text)
            async with asyncio.timeout(PATIENCE_S):
                return await reader.read(len(text))
        finally:
            writer.transport.abort()


@asynccontextmanager
async def echo_server(
    files: TlsFiles,
    *,
    clients: ClientCertificates = ClientCertificates.NONE,
    settings: TlsListenerSettings | None = None,
) -> AsyncIterator[EchoServer]:
    context = CurrentContext(files, partial(http_server_context, client_certificates=clients))
    server = EchoServer(context, settings or TlsListenerSettings(takes_clear=False))
    try:
        yield server
    finally:
        server.listener.close()


def client_context(authority: OwnAuthority, files: TlsFiles | None = None) -> ssl.SSLContext:
    """Of somebody who believes `authority`, and shows the certificate in `files`."""
    context = ssl.create_default_context(cafile=str(authority.ca_file))
    if files is not None:
        context.load_cert_chain(files.certificate, files.key)
    return context
