"""Streams over TCP: the only module of the storage node that touches sockets. An address is `host:port`."""

import asyncio
from collections.abc import Callable, Sequence
from typing import cast

from storage.rpc.framing import Buffer
from storage.rpc.transport import Listener, StreamHandler

WRITE_BUFFER_BYTES_MAX = 4 * 1024 * 1024
"""Unsent bytes of one stream beyond which its handler is told to pause."""
BACKLOG = 256


class TcpTransport:
    """`storage.rpc.transport.NodeTransport` over TCP."""

    async def dial(self, address: str, handler: StreamHandler) -> None:
        host, port = parse_address(address)
        await asyncio.get_running_loop().create_connection(lambda: _TcpStream(handler), host, port)

    async def listen(self, address: str, accept: Callable[[], StreamHandler]) -> Listener:
        host, port = parse_address(address)
        server = await asyncio.get_running_loop().create_server(
            lambda: _TcpStream(accept()), host, port, backlog=BACKLOG
        )
        return _TcpListener(server)


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[IPv6]:port`; raises ValueError."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{address!r} is not an address of the form host:port")
    return host.removeprefix("[").removesuffix("]"), int(port)


class _TcpListener:
    def __init__(self, server: asyncio.Server) -> None:
        self._server = server
        host, port, *_ = server.sockets[0].getsockname()
        self._address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def address(self) -> str:
        return self._address

    async def close(self) -> None:
        self._server.close()


class _TcpStream(asyncio.Protocol):
    """Implements `storage.rpc.transport.Stream`."""

    def __init__(self, handler: StreamHandler) -> None:
        self._handler = handler
        self._transport: asyncio.Transport | None = None
        self._peer = "?"

    # --- what asyncio calls ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES_MAX)
        name = transport.get_extra_info("peername")
        self._peer = f"{name[0]}:{name[1]}" if name else "?"
        self._handler.stream_began(self)

    def data_received(self, data: bytes) -> None:
        self._handler.bytes_received(data)

    def eof_received(self) -> bool:
        return False  # a half-closed peer reads no answers: close

    def pause_writing(self) -> None:
        self._handler.writing_paused()

    def resume_writing(self) -> None:
        self._handler.writing_resumed()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._handler.stream_ended(error)

    # --- the port ---

    @property
    def peer(self) -> str:
        return self._peer

    def write(self, buffers: Sequence[Buffer]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(buffers)

    def pause_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
