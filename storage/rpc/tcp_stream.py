"""One end of a stream over TCP, with TLS or without."""

import asyncio
from collections.abc import Sequence
from typing import cast

from cluster.tls.peer_identity import PeerIdentity, identity_in
from storage.rpc.framing import Buffer
from storage.rpc.transport import StreamHandler

WRITE_BUFFER_BYTES_MAX = 4 * 1024 * 1024
"""Unsent bytes of one stream beyond which its handler is told to pause."""


class TcpStream(asyncio.Protocol):
    """Implements `storage.rpc.transport.Stream`."""

    def __init__(self, handler: StreamHandler) -> None:
        self._handler = handler
        self._transport: asyncio.Transport | None = None
        self._peer = "?"
        self._identity: PeerIdentity | None = None

    # --- what asyncio calls ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES_MAX)
        name = transport.get_extra_info("peername")
        self._peer = f"{name[0]}:{name[1]}" if name else "?"
        if transport.get_extra_info("ssl_object") is not None:
            self._identity = identity_in(transport.get_extra_info("peercert"))
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

    @property
    def identity(self) -> PeerIdentity | None:
        return self._identity

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
