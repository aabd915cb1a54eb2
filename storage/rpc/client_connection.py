"""One connection to a storage node: many calls at once, each answered in its own time."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from cluster.tls.peer_identity import PeerIdentity
from storage.rpc.framing import REQUEST_ID_MAX, Buffer, Frame, FrameDecoder, FrameKind, encode_frame
from storage.rpc.handshake import HandshakeError
from storage.rpc.methods import Method
from storage.rpc.transport import Stream

logger = structlog.get_logger(__name__)


class ConnectionEndedError(Exception):
    """No answer will come on this connection any more. `was_sent`: the node may have got the request."""

    def __init__(self, reason: str, *, was_sent: bool) -> None:
        super().__init__(reason)
        self.was_sent = was_sent


class PendingCall:
    """A request that awaits its answer. `on_end` runs exactly once, when the node owes nothing for it any more."""

    __slots__ = ("answer", "buffers", "end", "method", "on_late_answer", "request_id", "sent_at_ms")

    def __init__(
        self,
        *,
        method: int,
        request_id: int,
        buffers: list[Buffer],
        answer: "asyncio.Future[Frame]",
        on_end: Callable[[], None],
        on_late_answer: Callable[[Frame], None],
    ) -> None:
        self.method = method
        self.request_id = request_id
        self.buffers = buffers
        self.answer = answer
        self.sent_at_ms: int | None = None
        self.on_late_answer = on_late_answer
        self.end = on_end

    @property
    def was_sent(self) -> bool:
        return self.sent_at_ms is not None


class ClientConnection:
    """Implements `storage.rpc.transport.StreamHandler`.

    Calls beyond what the stream takes wait here unsent, in order; the owner bounds their number and bytes.
    """

    def __init__(self, *, clock: Clock, on_ended: Callable[["ClientConnection"], None]) -> None:
        self._clock = clock
        self._on_ended = on_ended
        self._decoder = FrameDecoder()
        self._stream: Stream | None = None
        self._calls: dict[int, PendingCall] = {}
        self._unsent: deque[PendingCall] = deque()
        self._is_paused = False
        self._last_id = 0
        self._last_received_ms = 0
        self.version = 0
        """Of the protocol, from the greeting on."""
        self.has_answered = False
        """A request after the greeting."""

    @property
    def is_open(self) -> bool:
        return self._stream is not None

    @property
    def identity(self) -> PeerIdentity | None:
        """Who the other end has proved to be; None where nobody proves anything, or it is gone."""
        return None if self._stream is None else self._stream.identity

    def check_answers_as(self, expected: PeerIdentity | None, address: str) -> None:
        """Before anything is said: another process of the cluster, too, may have been given the address, or taken it.
        Raises HandshakeError."""
        found = self.identity
        if found is not None and expected is not None and found != expected:
            raise HandshakeError(f"{expected} was to answer at {address}, and {found} did")

    def check_speaks(self, method: Method[Any, Any]) -> None:
        """Raises ServerError UNSUPPORTED where the node's version does not know the call."""
        if self.version < method.since:
            raise ServerError(
                ProblemCode.UNSUPPORTED,
                f"the node speaks version {self.version} of the protocol, and `{method.name}` came with version "
                f"{method.since}: upgrade it first",
            )

    # --- calls ---

    def begin(
        self,
        method: int,
        body: Buffer,
        attachment: Buffer,
        *,
        on_end: Callable[[], None],
        on_late_answer: Callable[[Frame], None],
    ) -> PendingCall:
        """Send a request, now or when the stream takes it. Its answer fails with ConnectionEndedError."""
        request_id = self._next_id()
        call = PendingCall(
            method=method,
            request_id=request_id,
            buffers=encode_frame(
                FrameKind.REQUEST, method=method, request_id=request_id, body=body, attachment=attachment
            ),
            answer=asyncio.get_running_loop().create_future(),
            on_end=on_end,
            on_late_answer=on_late_answer,
        )
        self._calls[request_id] = call
        self._unsent.append(call)
        self._send()
        return call

    def give_up(self, call: PendingCall) -> None:
        """The caller waits no longer. The node is told, so that a long poll leases nothing for nobody."""
        if call.answer.done() and not call.answer.cancelled():
            if call.answer.exception() is None:
                call.on_late_answer(call.answer.result())
            return
        call.answer.cancel()
        if call.was_sent and self._stream is not None:
            self._stream.write(encode_frame(FrameKind.CANCEL, method=call.method, request_id=call.request_id))
        elif self._calls.pop(call.request_id, None) is not None:
            if call in self._unsent:
                self._unsent.remove(call)
            call.end()

    def abort_if_silent_since(self, moment_ms: int) -> None:
        """A peer that has said nothing since is taken for gone: the connection may be half open."""
        if self._last_received_ms <= moment_ms and self._stream is not None:
            logger.warning("rpc.peer_is_silent", peer=self._stream.peer)
            self._stream.abort()

    def abort(self) -> None:
        if self._stream is not None:
            self._stream.abort()

    def _next_id(self) -> int:
        while True:
            self._last_id = self._last_id % REQUEST_ID_MAX + 1
            if self._last_id not in self._calls:
                return self._last_id

    def _send(self) -> None:
        while self._unsent and not self._is_paused and self._stream is not None:
            call = self._unsent.popleft()
            call.sent_at_ms = self._clock.monotonic_ms()
            buffers, call.buffers = call.buffers, []
            self._stream.write(buffers)

    # --- what the stream says ---

    def stream_began(self, stream: Stream) -> None:
        self._stream = stream

    def bytes_received(self, data: bytes) -> None:
        self._last_received_ms = self._clock.monotonic_ms()
        for frame in self._decoder.feed(data):
            self._answered(frame)
        if self._decoder.fault is not None:
            self._distrust(self._decoder.fault)

    def writing_paused(self) -> None:
        self._is_paused = True

    def writing_resumed(self) -> None:
        self._is_paused = False
        self._send()

    def stream_ended(self, error: Exception | None) -> None:
        self._stream = None
        reason = str(error) if error is not None else "the connection was closed"
        calls = list(self._calls.values())
        self._calls.clear()
        self._unsent.clear()
        self._on_ended(self)
        for call in calls:
            if not call.answer.done():
                call.answer.set_exception(ConnectionEndedError(reason, was_sent=call.was_sent))
                call.answer.exception()  # seen, also if the caller is leaving at this moment
            call.end()

    def _answered(self, frame: Frame) -> None:
        if frame.kind in (FrameKind.REQUEST, FrameKind.CANCEL):
            self._distrust(f"the node sent a frame of kind {frame.kind.name}")
            return
        call = self._calls.pop(frame.request_id, None)
        if call is None or not call.was_sent:
            self._distrust(f"the node answered request {frame.request_id}, which is not open")
            return
        self.has_answered |= bool(self.version)
        if call.answer.done():
            call.on_late_answer(frame)
        else:
            call.answer.set_result(frame)
        call.end()

    def _distrust(self, fault: str) -> None:
        if self._stream is not None:
            logger.error("rpc.protocol_fault", peer=self._stream.peer, fault=fault)
            self._stream.abort()
