"""Streams over TCP whose ends prove to each other who they are."""

import asyncio
import errno
import socket
from collections.abc import Callable

from cluster.tls.peer_tls import PeerTls
from cluster.tls.tls_listener import OpeningFailure, TlsListener, TlsListenerSettings
from storage.rpc.tcp_stream import TcpStream
from storage.rpc.tcp_transport import BACKLOG, address_of, parse_address
from storage.rpc.transport import Listener, StreamHandler


class TlsTransport:
    """`storage.rpc.transport.NodeTransport` with TLS, or on the way to it. `on_refused` hears of every connection that
    came to nothing."""

    def __init__(
        self,
        tls: PeerTls,
        *,
        now_ms: Callable[[], int],
        on_refused: Callable[[OpeningFailure, str], None],
        opening_max: int,
    ) -> None:
        self._tls = tls
        self._now_ms = now_ms
        self._on_refused = on_refused
        self._settings = TlsListenerSettings(takes_clear=tls.use.takes_clear, opening_max=opening_max)

    async def dial(self, address: str, handler: StreamHandler) -> None:
        host, port = parse_address(address)
        loop = asyncio.get_running_loop()
        if not self._tls.use.is_dialled:
            await loop.create_connection(lambda: TcpStream(handler), host, port)
            return
        await loop.create_connection(
            lambda: TcpStream(handler),
            host,
            port,
            ssl=self._tls.dialling.context,
            server_hostname=host,
            ssl_shutdown_timeout=self._settings.shutdown_timeout_ms / 1000,
        )

    async def listen(self, address: str, accept: Callable[[], StreamHandler]) -> Listener:
        host, port = parse_address(address)
        listening = await _listening_socket(host, port)
        return _TlsListening(
            TlsListener(
                listening,
                lambda: TcpStream(accept()),
                context=lambda: self._tls.accepting.context,
                now_ms=self._now_ms,
                settings=self._settings,
                on_refused=self._on_refused,
            )
        )


async def _listening_socket(host: str, port: int) -> socket.socket:
    """Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    if not found:
        raise OSError(errno.EADDRNOTAVAIL, f"{host!r} is no address")
    family, kind, protocol, _, address = found[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening


class _TlsListening:
    def __init__(self, listener: TlsListener) -> None:
        self._listener = listener
        host, port, *_ = listener.sockets[0].getsockname()
        self._address = address_of(host, port)

    @property
    def address(self) -> str:
        return self._address

    async def close(self) -> None:
        self._listener.close()
