"""Streams over TCP, in clear. An address is `host:port`. This, `tls_transport` and `tcp_stream` are the only modules of
the storage node that touch sockets."""

import asyncio
from collections.abc import Callable

from storage.rpc.tcp_stream import TcpStream
from storage.rpc.transport import Listener, StreamHandler

BACKLOG = 256


class TcpTransport:
    """`storage.rpc.transport.NodeTransport` over TCP."""

    async def dial(self, address: str, handler: StreamHandler) -> None:
        host, port = parse_address(address)
        await asyncio.get_running_loop().create_connection(lambda: TcpStream(handler), host, port)

    async def listen(self, address: str, accept: Callable[[], StreamHandler]) -> Listener:
        host, port = parse_address(address)
        server = await asyncio.get_running_loop().create_server(
            lambda: TcpStream(accept()), host, port, backlog=BACKLOG
        )
        return _TcpListener(server)


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[IPv6]:port`; raises ValueError."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{address!r} is not an address of the form host:port")
    return host.removeprefix("[").removesuffix("]"), int(port)


def address_of(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _TcpListener:
    def __init__(self, server: asyncio.Server) -> None:
        self._server = server
        host, port, *_ = server.sockets[0].getsockname()
        self._address = address_of(host, port)

    @property
    def address(self) -> str:
        return self._address

    async def close(self) -> None:
        self._server.close()
