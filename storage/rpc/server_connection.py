"""One connection of a gateway or another node to this one: many requests at once, each answered when it is done."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.tls.peer_identity import PeerIdentity, PeerKind
from storage.rpc import messages
from storage.rpc.coordination_api import CoordinationApi
from storage.rpc.coordination_methods import COORDINATION_METHODS
from storage.rpc.framing import (
    FRAME_BYTES_MAX,
    HELLO_FRAME_BYTES_MAX,
    Buffer,
    Frame,
    FrameDecoder,
    FrameKind,
    encode_frame,
)
from storage.rpc.handshake import Welcome
from storage.rpc.methods import FAILURE, HELLO, NODE_METHODS, PEER_METHODS, MalformedMessageError, Method
from storage.rpc.node_api import NodeApi
from storage.rpc.peer_api import PeerApi
from storage.rpc.peer_rights import fault_of_call, fault_of_hello
from storage.rpc.release import release_requests
from storage.rpc.rpc_settings import RpcServerSettings
from storage.rpc.stranger_log import StrangerLog
from storage.rpc.transport import Stream

logger = structlog.get_logger(__name__)


class _Call(NamedTuple):
    method: Method[Any, Any]
    function: Callable[[Any], Awaitable[Any]]


def _calls_of(api: NodeApi | PeerApi | CoordinationApi, methods: dict[int, Method[Any, Any]]) -> dict[int, _Call]:
    return {number: _Call(method, getattr(api, method.name)) for number, method in methods.items()}


@dataclass(slots=True, eq=False)
class _Serving:
    """A request being served. `is_unwanted`: its caller gave up or is gone. `may_have_happened`: it has begun, and may
    leave something behind however it ends."""

    task: asyncio.Task[list[Buffer]]
    size_bytes: int
    is_unwanted: bool = False
    may_have_happened: bool = False

    def give_up(self) -> None:
        """Once only: a second cancel would hit the returning of leases."""
        if not self.is_unwanted:
            self.is_unwanted = True
            self.task.cancel()


class ServerConnection:
    """Implements `storage.rpc.transport.StreamHandler`.

    The first request is the hello, which settles the version. Back-pressure: while too many requests are being served,
    or the peer does not read its answers, the stream is not read. What one read brought beyond the limit waits in
    `_waiting`; cancels overtake it.
    """

    def __init__(
        self,
        node: NodeApi,
        peer: PeerApi | None,
        coordination: CoordinationApi | None,
        *,
        settings: RpcServerSettings,
        log: StrangerLog,
        on_began: Callable[["ServerConnection"], None],
        on_introduced: Callable[["ServerConnection", PeerKind], bool],
        on_ended: Callable[["ServerConnection"], None],
    ) -> None:
        self._node = node
        self._log = log
        self._on_introduced = on_introduced
        self._kind = PeerKind.STRANGER
        self._identity: PeerIdentity | None = None
        self._hello_timer: asyncio.TimerHandle | None = None
        self._asked_ms = 0.0
        self._calls = _calls_of(node, NODE_METHODS)
        if peer is not None:
            self._calls |= _calls_of(peer, PEER_METHODS)
        if coordination is not None:
            self._calls |= _calls_of(coordination, COORDINATION_METHODS)
        self._version = 0  # of the protocol; none before the hello
        self._settings = settings
        self._on_began = on_began
        self._on_ended = on_ended
        self._decoder = FrameDecoder(frame_bytes_max=HELLO_FRAME_BYTES_MAX)
        self._stream: Stream | None = None
        self._serving: dict[int, _Serving] = {}
        self._serving_bytes = 0
        self._waiting: deque[Frame] = deque()
        self._is_writing_paused = False
        self._is_reading_paused = False

    @property
    def serving(self) -> int:
        return len(self._serving)

    async def close(self) -> None:
        self._waiting.clear()
        tasks = [serving.task for serving in self._serving.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._stream is not None:
            self._stream.close()

    # --- what the stream says ---

    def stream_began(self, stream: Stream) -> None:
        self._stream = stream
        self._identity = stream.identity
        loop = asyncio.get_running_loop()
        self._hello_timer = loop.call_later(self._settings.hello_timeout_ms / 1000, self._hello_is_late)
        self._on_began(self)

    def bytes_received(self, data: bytes) -> None:
        self._asked_ms = asyncio.get_running_loop().time() * 1000
        for frame in self._decoder.feed(data):
            if frame.kind is FrameKind.REQUEST:
                self._waiting.append(frame)
            elif frame.kind is FrameKind.CANCEL:
                self._cancel(frame.request_id)
            else:
                self._distrust(f"the peer sent a frame of kind {frame.kind.name}")
        if self._decoder.fault is not None:
            self._distrust(self._decoder.fault)
        self._serve_waiting()

    def writing_paused(self) -> None:
        self._is_writing_paused = True
        self._serve_waiting()

    def writing_resumed(self) -> None:
        self._is_writing_paused = False
        self._serve_waiting()

    def stream_ended(self, error: Exception | None) -> None:
        self._stream = None
        self._stop_hello_timer()
        self._waiting.clear()
        for serving in self._serving.values():
            serving.give_up()
        self._on_ended(self)

    # --- its slot ---

    def idle_since_ms(self) -> float | None:
        return None if self._serving or self._waiting else self._asked_ms

    def make_room(self) -> None:
        if self._stream is not None:
            self._stream.abort()

    def _hello_is_late(self) -> None:
        self._hello_timer = None
        self._distrust(f"the peer did not introduce itself within {self._settings.hello_timeout_ms} ms")

    def _stop_hello_timer(self) -> None:
        if self._hello_timer is not None:
            self._hello_timer.cancel()
            self._hello_timer = None

    def _introduced(self, kind: PeerKind) -> bool:
        """Whether there is room for it; if not it has been hung up on."""
        if self._on_introduced(self, kind):
            self._kind = kind
            return True
        self._waiting.clear()
        if self._stream is not None:
            self._stream.abort()
        return False

    # --- requests ---

    def _serve_waiting(self) -> None:
        while self._waiting and self._has_room(self._waiting[0].size_bytes):
            self._serve(self._waiting.popleft())
        must_pause = bool(self._waiting) or self._is_writing_paused
        if self._stream is not None and must_pause != self._is_reading_paused:
            self._is_reading_paused = must_pause
            if must_pause:
                self._stream.pause_reading()
            else:
                self._stream.resume_reading()

    def _has_room(self, size_bytes: int) -> bool:
        if self._is_writing_paused:
            return False
        if not self._serving:
            return True
        return (
            len(self._serving) < self._settings.requests_per_connection_max
            and self._serving_bytes + size_bytes <= self._settings.request_bytes_per_connection_max
        )

    def _serve(self, frame: Frame) -> None:
        if frame.request_id in self._serving:
            self._distrust(f"the peer used request id {frame.request_id} twice at once")
            return
        if not self._version:
            self._greet(frame)
            return
        known = self._calls.get(frame.method)
        if known is None or known.method.since > self._version:
            self._write(_failure(frame.request_id, ServerError(ProblemCode.UNSUPPORTED, "the node has no such call")))
            return
        method = known.method
        if method.number in PEER_METHODS and self._kind is not PeerKind.NODE and not self._introduced(PeerKind.NODE):
            return  # a node of a release that did not say that it is one
        try:
            request = method.request.decode(frame.body, frame.attachment)
        except MalformedMessageError as error:
            self._log.warn("rpc.malformed_request", method=method.name, reason=str(error))
            self._write(_failure(frame.request_id, ServerError(ProblemCode.UNSUPPORTED, str(error))))
            return
        fault = fault_of_call(self._identity, method, request)
        if fault is not None:
            self._log.warn("rpc.call_refused", method=method.name, reason=fault)
            self._write(_failure(frame.request_id, ServerError(ProblemCode.FORBIDDEN, fault)))
            return
        task = asyncio.get_running_loop().create_task(self._answer(frame.request_id, known, request))
        self._serving[frame.request_id] = _Serving(task, frame.size_bytes)
        self._serving_bytes += frame.size_bytes
        task.add_done_callback(lambda done: self._served(frame.request_id, done))

    def _greet(self, frame: Frame) -> None:
        if frame.method != HELLO.number:
            self._distrust("the peer did not begin with a hello")
            return
        try:
            hello = HELLO.request.decode(frame.body, frame.attachment)
        except MalformedMessageError as error:
            self._distrust(str(error))
            return
        fault = fault_of_hello(self._identity, hello)
        if fault is not None:
            self._turn_away(frame, "rpc.peer_refused", fault)
            return
        ours = self._settings.versions
        version = ours.common_with(hello)
        if version is not None:
            self._stop_hello_timer()
            if not self._introduced(PeerKind.NODE if hello.is_node else PeerKind.GATEWAY):
                return
            self._version = version
            self._decoder.allow(FRAME_BYTES_MAX)
            body, _ = HELLO.response.encode(Welcome(version))
            self._write(encode_frame(FrameKind.RESPONSE, request_id=frame.request_id, body=body))
            return
        refusal = (
            f"the node speaks versions {ours.oldest} to {ours.newest} of the protocol, and who dialled it "
            f"{hello.oldest} to {hello.newest}: upgrade the older one"
        )
        self._turn_away(frame, "rpc.no_common_version", refusal)

    def _turn_away(self, frame: Frame, event: str, reason: str) -> None:
        """Whoever has not been introduced: it is told why, and hung up on."""
        self._write(_failure(frame.request_id, ServerError(ProblemCode.UNSUPPORTED, reason)))
        self._waiting.clear()
        if self._stream is not None:
            self._log.warn(event, peer=self._stream.peer, reason=reason)
            self._stream.close()

    def _cancel(self, request_id: int) -> None:
        """An answered request stays answered: the peer gives the leases in that answer back itself."""
        serving = self._serving.get(request_id)
        if serving is not None:
            serving.give_up()
            return
        for frame in self._waiting:
            if frame.request_id == request_id:
                self._waiting.remove(frame)
                self._write(encode_frame(FrameKind.CANCELLED, request_id=request_id))
                return

    async def _answer(self, request_id: int, call: _Call, request: Any) -> list[Buffer]:
        """The frame that answers the request; leases in an answer that nobody will read go back to the node."""
        response: Any = None
        self._serving[request_id].may_have_happened = call.method.changes_something(request)
        try:
            response = await call.function(request)
            if not self._serving[request_id].is_unwanted:
                body, attachment = call.method.response.encode(response)
                return encode_frame(FrameKind.RESPONSE, request_id=request_id, body=body, attachment=attachment)
            answer = encode_frame(FrameKind.CANCELLED, request_id=request_id)
        except ServerError as error:
            return _failure(request_id, error)
        except Exception:
            logger.exception("rpc.request_failed", method=call.method.name)
            answer = _failure(request_id, ServerError(ProblemCode.INTERNAL, "the node failed to serve the request"))
        if isinstance(response, messages.ReceiveResponse):
            await self._release(response)
        return answer

    def _served(self, request_id: int, task: "asyncio.Task[list[Buffer]]") -> None:
        """Exactly one answer, also for a task that was cancelled before its first step."""
        serving = self._serving.pop(request_id)
        self._serving_bytes -= serving.size_bytes
        if not task.cancelled():
            answer = task.result()
        elif serving.is_unwanted:
            answer = encode_frame(FrameKind.CANCELLED, request_id=request_id)
        elif serving.may_have_happened:
            detail = "the node is shutting down, and nobody knows what became of the request"
            answer = _failure(request_id, ServerError(ProblemCode.OUTCOME_UNKNOWN, detail))
        else:
            answer = _failure(request_id, ServerError(ProblemCode.SHUTTING_DOWN, "the node is shutting down"))
        self._write(answer)
        self._serve_waiting()

    async def _release(self, response: messages.ReceiveResponse) -> None:
        for request in release_requests(response):
            try:
                await self._node.settle(request)
            except ServerError as error:  # the leases end by themselves, later
                logger.info("rpc.release_failed", error=str(error), leases=len(request.items))

    def _write(self, buffers: list[Buffer]) -> None:
        if self._stream is not None:
            self._stream.write(buffers)

    def _distrust(self, fault: str) -> None:
        if self._stream is not None:
            self._log.warn("rpc.protocol_fault", peer=self._stream.peer, fault=fault)
            self._stream.abort()


def _failure(request_id: int, error: ServerError) -> list[Buffer]:
    failure = messages.Failure(error.code.name, error.detail, error.field, error.retry_after_ms, error.extra or None)
    body, _ = FAILURE.encode(failure)
    return encode_frame(FrameKind.FAILURE, request_id=request_id, body=body)
