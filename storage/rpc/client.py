"""A storage node at the other end of a connection, as if it were here."""

import asyncio
from typing import Any, TypeVar

import msgspec
import structlog

from acklog.wire.problems import ProblemCode
from cluster.clock import Clock
from cluster.entropy import Entropy
from cluster.errors import AcklogError
from storage.rpc import messages, methods
from storage.rpc.client_connection import Call, ClientConnection, ConnectionEndedError
from storage.rpc.framing import Frame, FrameKind, FrameTooLargeError
from storage.rpc.methods import MalformedMessageError, Method
from storage.rpc.release import release_requests
from storage.rpc.settings import RpcClientSettings
from storage.rpc.transport import Transport

logger = structlog.get_logger(__name__)

_Request = TypeVar("_Request", bound=msgspec.Struct)
_Response = TypeVar("_Response", bound=msgspec.Struct)


class RemoteNode:
    """NodeApi over a Transport. Dials on first use and again after a loss, with a growing pause between failures.

    What a caller learns when no answer came: UNAVAILABLE if the node cannot have got the request; OUTCOME_UNKNOWN if
    it may have got one that changes something; else TIMED_OUT or UNAVAILABLE. Beyond the limits: OVERLOADED.
    """

    def __init__(
        self, transport: Transport, address: str, *, clock: Clock, entropy: Entropy, settings: RpcClientSettings
    ) -> None:
        self._transport = transport
        self._address = address
        self._clock = clock
        self._entropy = entropy
        self._settings = settings
        self._connection: ClientConnection | None = None
        self._dialling: asyncio.Task[ClientConnection | None] | None = None
        self._failures = 0
        self._dial_not_before_ms = 0
        self._requests = 0
        self._bytes = 0
        self._releases: dict[asyncio.Task[None], None] = {}
        self._is_closed = False

    @property
    def in_flight_requests(self) -> int:
        return self._requests

    @property
    def in_flight_bytes(self) -> int:
        return self._bytes

    async def close(self) -> None:
        """End the connection; whoever still waits learns that it is gone."""
        self._is_closed = True
        tasks: list[asyncio.Task[Any]] = list(self._releases)
        if self._dialling is not None:
            tasks.append(self._dialling)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._connection is not None:
            self._connection.abort()

    # --- NodeApi ---

    async def produce(self, request: messages.ProduceRequest) -> messages.ProduceResponse:
        timeout_ms = request.timeout_ms + self._settings.produce_margin_ms
        return await self._call(methods.PRODUCE, request, timeout_ms=timeout_ms, changes_something=True)

    async def receive(self, request: messages.ReceiveRequest) -> messages.ReceiveResponse:
        timeout_ms = request.wait_ms + self._settings.request_timeout_ms
        return await self._call(methods.RECEIVE, request, timeout_ms=timeout_ms, changes_something=request.auto_ack)

    async def settle(self, request: messages.SettleRequest) -> messages.SettleResponse:
        return await self._call(methods.SETTLE, request, changes_something=True)

    async def inspect(self, request: messages.InspectRequest) -> messages.InspectResponse:
        return await self._call(methods.INSPECT, request, changes_something=False)

    async def records(self, request: messages.RecordsRequest) -> messages.RecordsResponse:
        timeout_ms = request.wait_ms + self._settings.request_timeout_ms
        return await self._call(methods.RECORDS, request, timeout_ms=timeout_ms, changes_something=False)

    async def positions(self, request: messages.PositionsRequest) -> messages.PositionsResponse:
        return await self._call(methods.POSITIONS, request, changes_something=False)

    async def seek(self, request: messages.SeekRequest) -> messages.SeekResponse:
        return await self._call(methods.SEEK, request, changes_something=not request.dry_run)

    # --- one call ---

    async def _call(
        self,
        method: Method[_Request, _Response],
        request: _Request,
        *,
        changes_something: bool,
        timeout_ms: int | None = None,
    ) -> _Response:
        body, attachment = method.request.encode(request)
        size_bytes = len(body) + len(attachment)
        timeout_s = (self._settings.request_timeout_ms if timeout_ms is None else timeout_ms) / 1000
        self._admit(size_bytes)
        call: Call | None = None
        connection: ClientConnection | None = None
        try:
            async with asyncio.timeout(timeout_s):
                connection = await self._connected()
                call = connection.begin(
                    method.number,
                    body,
                    attachment,
                    on_end=lambda: self._ended(size_bytes),
                    on_late_answer=lambda frame: self._too_late(method, frame),
                )
                frame = await call.answer
        except ConnectionEndedError as error:
            raise self._unanswered(str(error), was_sent=error.was_sent, changes_something=changes_something) from error
        except FrameTooLargeError as error:
            raise AcklogError(ProblemCode.REQUEST_TOO_LARGE, str(error)) from error
        except TimeoutError as error:
            raise self._timed_out(connection, call, changes_something=changes_something) from error
        except asyncio.CancelledError:
            if connection is not None and call is not None:
                connection.give_up(call)
            raise
        finally:
            if call is None:
                self._ended(size_bytes)
        return self._read(method, frame, connection, changes_something=changes_something)

    def _admit(self, size_bytes: int) -> None:
        if self._is_closed:
            raise AcklogError(ProblemCode.UNAVAILABLE, "the connection to the node is closed")
        settings = self._settings
        if self._requests >= settings.in_flight_requests_max:
            raise AcklogError(
                ProblemCode.OVERLOADED, f"{self._requests} requests to the node are unanswered", retry_after_ms=100
            )
        if self._bytes and self._bytes + size_bytes > settings.in_flight_bytes_max:
            raise AcklogError(
                ProblemCode.OVERLOADED, f"{self._bytes} bytes of requests are unanswered", retry_after_ms=100
            )
        self._requests += 1
        self._bytes += size_bytes

    def _ended(self, size_bytes: int) -> None:
        self._requests -= 1
        self._bytes -= size_bytes

    def _timed_out(
        self, connection: ClientConnection | None, call: Call | None, *, changes_something: bool
    ) -> AcklogError:
        reason = "its answer did not come in time"
        if connection is not None and call is not None:
            connection.give_up(call)
        if connection is None or call is None or call.sent_at_ms is None:
            return self._unanswered(reason, was_sent=False, changes_something=changes_something)
        connection.abort_if_silent_since(call.sent_at_ms)
        if changes_something:
            return self._unanswered(reason, was_sent=True, changes_something=True)
        return AcklogError(ProblemCode.TIMED_OUT, f"the node did not answer: {reason}")

    def _unanswered(self, reason: str, *, was_sent: bool, changes_something: bool) -> AcklogError:
        if was_sent and changes_something:
            return AcklogError(ProblemCode.OUTCOME_UNKNOWN, f"no answer from the node: {reason}")
        return AcklogError(
            ProblemCode.UNAVAILABLE,
            f"the node cannot be reached: {reason}",
            retry_after_ms=max(self._settings.backoff_min_ms, self._dial_not_before_ms - self._clock.monotonic_ms()),
        )

    def _read(
        self,
        method: Method[_Request, _Response],
        frame: Frame,
        connection: ClientConnection,
        *,
        changes_something: bool,
    ) -> _Response:
        try:
            if frame.kind is FrameKind.RESPONSE:
                return method.response.decode(frame.body, frame.attachment)
            if frame.kind is FrameKind.FAILURE:
                failure = methods.FAILURE.decode(frame.body, frame.attachment)
                raise AcklogError(
                    messages.failure_code(failure.code),
                    failure.detail,
                    field=failure.field,
                    retry_after_ms=failure.retry_after_ms,
                    extra=failure.extra,
                )
        except MalformedMessageError as error:
            connection.abort()
            logger.exception("rpc.malformed_answer", method=method.name)
            raise self._unanswered(
                "its answer cannot be read", was_sent=True, changes_something=changes_something
            ) from error
        raise self._unanswered("the node gave up", was_sent=True, changes_something=changes_something)

    # --- answers that nobody waits for ---

    def _too_late(self, method: Method[_Request, _Response], frame: Frame) -> None:
        """Leases in an answer that crossed the caller's leaving go back at once."""
        if frame.kind is not FrameKind.RESPONSE or method.number != methods.RECEIVE.number or self._is_closed:
            return
        try:
            response = methods.RECEIVE.response.decode(frame.body, frame.attachment)
        except MalformedMessageError:
            logger.exception("rpc.malformed_answer", method=method.name)
            return
        for request in release_requests(response):
            task = asyncio.get_running_loop().create_task(self._release(request))
            self._releases[task] = None
            task.add_done_callback(self._releases.pop)

    async def _release(self, request: messages.SettleRequest) -> None:
        try:
            await self.settle(request)
        except AcklogError as error:  # the leases end by themselves, later
            logger.info("rpc.release_failed", error=str(error), leases=len(request.items))

    # --- the connection ---

    async def _connected(self) -> ClientConnection:
        if self._connection is not None and self._connection.is_open:
            return self._connection
        if self._dialling is None:
            pause_ms = self._dial_not_before_ms - self._clock.monotonic_ms()
            if pause_ms > 0:
                raise AcklogError(
                    ProblemCode.UNAVAILABLE, "the node could not be reached a moment ago", retry_after_ms=pause_ms
                )
            self._dialling = asyncio.get_running_loop().create_task(self._dial())
        connection = await asyncio.shield(self._dialling)
        if connection is None or not connection.is_open:
            raise self._unanswered("nobody answers at its address", was_sent=False, changes_something=False)
        return connection

    async def _dial(self) -> ClientConnection | None:
        connection = ClientConnection(clock=self._clock, on_ended=self._connection_ended)
        try:
            async with asyncio.timeout(self._settings.dial_timeout_ms / 1000):
                await self._transport.dial(self._address, connection)
        except (OSError, TimeoutError) as error:
            connection.abort()
            self._back_off()
            logger.warning("rpc.dial_failed", address=self._address, error=str(error))
            return None
        except asyncio.CancelledError:
            connection.abort()
            raise
        finally:
            self._dialling = None
        self._connection = connection
        return connection

    def _connection_ended(self, connection: ClientConnection) -> None:
        if connection.has_answered:
            self._failures = 0
            self._dial_not_before_ms = 0
        else:  # a node that accepts and hangs up is no better than one that is not there
            self._back_off()
        if self._connection is connection:
            self._connection = None

    def _back_off(self) -> None:
        settings = self._settings
        pause_ms = min(settings.backoff_max_ms, settings.backoff_min_ms * 2 ** min(self._failures, 20))
        self._failures += 1
        jitter = 0.5 + self._entropy.fraction() / 2
        self._dial_not_before_ms = self._clock.monotonic_ms() + int(pause_ms * jitter)
