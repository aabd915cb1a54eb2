"""Byte streams in memory: cut anywhere, slow, broken at will."""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Sequence

from cluster.tls.peer_identity import PeerIdentity
from storage.rpc.framing import Buffer
from storage.rpc.transport import Listener, StreamHandler

WINDOW_BYTES = 64 * 1024


class MemoryTransport:
    """`storage.rpc.transport.NodeTransport`. `cuts` decides where bytes are cut; None passes each write as it is."""

    def __init__(self, *, cuts: random.Random | None = None, window_bytes: int = WINDOW_BYTES) -> None:
        self.cuts = cuts
        self.window_bytes = window_bytes
        self.streams: list[MemoryStream] = []
        self.dials = 0
        self.is_cut = False
        self.hang = False
        self.dialling: PeerIdentity | None = None
        self.answering: PeerIdentity | None = None
        """What each end proves to be, from now on."""
        self._accepts: dict[str, Callable[[], StreamHandler]] = {}

    async def dial(self, address: str, handler: StreamHandler) -> None:
        self.dials += 1
        await asyncio.sleep(0)
        if self.hang:
            await asyncio.get_running_loop().create_future()
        accept = self._accepts.get(address)
        if self.is_cut:
            raise ConnectionResetError(address)
        if accept is None:
            raise ConnectionRefusedError(address)
        near, far = MemoryStream(self, handler, peer=address), MemoryStream(self, accept(), peer="client")
        near.identity, far.identity = self.answering, self.dialling
        near.other, far.other = far, near
        self.streams += [near, far]
        far.handler.stream_began(far)
        near.handler.stream_began(near)

    async def listen(self, address: str, accept: Callable[[], StreamHandler]) -> Listener:
        self._accepts[address] = accept
        return _MemoryListener(self, address)

    def forget(self, address: str) -> None:
        self._accepts.pop(address, None)


class _MemoryListener:
    def __init__(self, transport: MemoryTransport, address: str) -> None:
        self._transport = transport
        self.address = address

    async def close(self) -> None:
        self._transport.forget(self.address)


class MemoryStream:
    """One end. `other` is the peer's."""

    other: "MemoryStream"
    identity: PeerIdentity | None = None

    def __init__(self, transport: MemoryTransport, handler: StreamHandler, *, peer: str) -> None:
        self.handler = handler
        self.peer = peer
        self.is_ended = False
        self.is_reading_paused = False
        self._transport = transport
        self._incoming: deque[bytes] = deque()
        self._incoming_bytes = 0
        self._writer_is_paused = False
        self._is_delivering = False
        self._is_finished = False  # the other end wrote its last byte

    def write(self, buffers: Sequence[Buffer]) -> None:
        if not self.is_ended:
            self.other._take(b"".join(buffers))

    def pause_reading(self) -> None:
        self.is_reading_paused = True

    def resume_reading(self) -> None:
        self.is_reading_paused = False
        self._schedule()

    def close(self) -> None:
        self.other._is_finished = True
        self.other._schedule()
        self.end(None)

    def abort(self) -> None:
        self.other.end(ConnectionResetError("the peer is gone"))
        self.end(None)

    def end(self, error: Exception | None) -> None:
        if not self.is_ended:
            self.is_ended = True
            asyncio.get_running_loop().call_soon(self.handler.stream_ended, error)

    def _take(self, data: bytes) -> None:
        if self.is_ended or not data:
            return
        self._incoming.append(data)
        self._incoming_bytes += len(data)
        if self._incoming_bytes > self._transport.window_bytes and not self._writer_is_paused:
            self._writer_is_paused = True
            self.other.handler.writing_paused()
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_delivering and not self.is_ended:
            self._is_delivering = True
            asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        self._is_delivering = False
        if self.is_ended or self.is_reading_paused:
            return
        if self._incoming:
            self.handler.bytes_received(self._next_chunk())
            if self._writer_is_paused and self._incoming_bytes <= self._transport.window_bytes // 2:
                self._writer_is_paused = False
                if not self.other.is_ended:
                    self.other.handler.writing_resumed()
        if self._incoming:
            self._schedule()
        elif self._is_finished:
            self.end(None)
            self.other.end(None)

    def _next_chunk(self) -> bytes:
        data = self._incoming.popleft()
        if self._transport.cuts is not None and len(data) > 1:
            cut = self._transport.cuts.randint(1, min(len(data), self._transport.cuts.choice((3, 50, 100_000))))
            if cut < len(data):
                self._incoming.appendleft(data[cut:])
            data = data[:cut]
        self._incoming_bytes -= len(data)
        return data
