"""Streams over Unix sockets, between the processes of one server. An address is a name in the directory of them."""

import asyncio
from collections.abc import Callable

import structlog

from storage.rpc.socket_directory import SocketDirectory, is_own_user
from storage.rpc.tcp_stream import TcpStream
from storage.rpc.transport import Listener, StreamHandler

_log = structlog.get_logger(__name__)


class UnixTransport:
    """`storage.rpc.transport.NodeTransport` for one machine and one user."""

    def __init__(self, directory: SocketDirectory) -> None:
        self._directory = directory

    async def dial(self, address: str, handler: StreamHandler) -> None:
        path = self._directory.address(address)
        await asyncio.get_running_loop().create_unix_connection(lambda: TcpStream(handler), path)

    async def listen(self, address: str, accept: Callable[[], StreamHandler]) -> Listener:
        listening = self._directory.listen(address)
        server = await asyncio.get_running_loop().create_unix_server(lambda: _AcceptedStream(accept()), sock=listening)
        return _UnixListener(address, server)


class _AcceptedStream(TcpStream):
    """One that somebody else's process has dialled ends before its handler hears of it."""

    def __init__(self, handler: StreamHandler) -> None:
        super().__init__(handler)
        self._is_admitted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._is_admitted = is_own_user(transport.get_extra_info("socket"))
        if self._is_admitted:
            super().connection_made(transport)
        else:
            _log.warning("local_connection_refused", reason="it comes from another user's process")
            transport.close()

    def data_received(self, data: bytes) -> None:
        if self._is_admitted:
            super().data_received(data)

    def connection_lost(self, error: Exception | None) -> None:
        if self._is_admitted:
            super().connection_lost(error)


class _UnixListener:
    def __init__(self, address: str, server: asyncio.Server) -> None:
        self._address = address
        self._server = server

    @property
    def address(self) -> str:
        return self._address

    async def close(self) -> None:
        self._server.close()
