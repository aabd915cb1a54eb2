"""Calls to one node over one connection at a time."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec
import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from cluster.ports.entropy import Entropy
from cluster.tls.peer_identity import PeerIdentity
from storage.rpc import messages, methods
from storage.rpc.client_connection import ClientConnection, ConnectionEndedError, PendingCall
from storage.rpc.framing import Frame, FrameKind, FrameTooLargeError
from storage.rpc.handshake import HandshakeError, Hello
from storage.rpc.methods import MalformedMessageError, Method
from storage.rpc.rpc_settings import RpcClientSettings
from storage.rpc.transport import NodeTransport

logger = structlog.get_logger(__name__)

_Request = TypeVar("_Request", bound=msgspec.Struct)
_Response = TypeVar("_Response", bound=msgspec.Struct)


class RpcChannel:
    """Dials on first use and again after a loss, with a growing pause between failures.

    What a caller learns when no answer came: UNAVAILABLE if the node cannot have got the request; OUTCOME_UNKNOWN if
    it may have got one that changes something; else TIMED_OUT or UNAVAILABLE. Beyond the limits: OVERLOADED.
    `on_lost` hears of every connection that was there and broke, but for the end by `close`. Where the transport proves
    who answers, that has to be `expects`.
    """

    def __init__(
        self,
        transport: NodeTransport,
        address: str,
        *,
        clock: Clock,
        entropy: Entropy,
        settings: RpcClientSettings,
        on_lost: Callable[[], None] | None = None,
        expects: PeerIdentity | None = None,
    ) -> None:
        self._expects = expects
        self._transport = transport
        self._address = address
        self._clock = clock
        self._entropy = entropy
        self._settings = settings
        self._on_lost = on_lost
        self._connection: ClientConnection | None = None
        self._dialling: asyncio.Task[ClientConnection | None] | None = None
        self._dial_failure = ""
        self._was_refused = False
        self._failures = 0
        self._dial_not_before_ms = 0
        self._requests = 0
        self._bytes = 0
        self._is_closed = False

    @property
    def in_flight_requests(self) -> int:
        return self._requests

    @property
    def in_flight_bytes(self) -> int:
        return self._bytes

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    @property
    def was_refused(self) -> bool:
        """The machine answered the last dial, and said that nobody listens there."""
        return self._was_refused

    async def close(self) -> None:
        """End the connection; whoever still waits learns that it is gone."""
        self._is_closed = True
        if self._dialling is not None:
            self._dialling.cancel()
            await asyncio.gather(self._dialling, return_exceptions=True)
        if self._connection is not None:
            self._connection.abort()

    # --- one call ---

    async def call(
        self,
        method: Method[_Request, _Response],
        request: _Request,
        *,
        timeout_ms: int | None = None,
        on_late_answer: Callable[[Frame], None] | None = None,
    ) -> _Response:
        """`timeout_ms` None: that of the settings. `on_late_answer` gets the frame of an answer that comes when its
        caller waits no longer."""
        changes_something = method.changes_something(request)
        body, attachment = method.request.encode(request)
        size_bytes = len(body) + len(attachment)
        timeout_s = (self._settings.request_timeout_ms if timeout_ms is None else timeout_ms) / 1000
        self._admit(size_bytes)
        call: PendingCall | None = None
        connection: ClientConnection | None = None
        try:
            async with asyncio.timeout(timeout_s):
                connection = await self._connected()
                connection.check_speaks(method)
                fitted = method.fitted(request, connection.version)
                if fitted is not request:
                    body, attachment = method.request.encode(fitted)
                call = connection.begin(
                    method.number,
                    body,
                    attachment,
                    on_end=lambda: self._ended(size_bytes),
                    on_late_answer=on_late_answer or _ignore,
                )
                frame = await call.answer
        except ConnectionEndedError as error:
            raise self._unanswered(str(error), was_sent=error.was_sent, changes_something=changes_something) from error
        except FrameTooLargeError as error:
            raise ServerError(ProblemCode.REQUEST_TOO_LARGE, str(error)) from error
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
            raise ServerError(ProblemCode.UNAVAILABLE, "the connection to the node is closed")
        settings = self._settings
        if self._requests >= settings.in_flight_requests_max:
            raise ServerError(
                ProblemCode.OVERLOADED, f"{self._requests} requests to the node are unanswered", retry_after_ms=100
            )
        if self._bytes and self._bytes + size_bytes > settings.in_flight_bytes_max:
            raise ServerError(
                ProblemCode.OVERLOADED, f"{self._bytes} bytes of requests are unanswered", retry_after_ms=100
            )
        self._requests += 1
        self._bytes += size_bytes

    def _ended(self, size_bytes: int) -> None:
        self._requests -= 1
        self._bytes -= size_bytes

    def _timed_out(
        self, connection: ClientConnection | None, call: PendingCall | None, *, changes_something: bool
    ) -> ServerError:
        reason = "its answer did not come in time"
        if connection is not None and call is not None:
            connection.give_up(call)
        if connection is None or call is None or call.sent_at_ms is None:
            return self._unanswered(reason, was_sent=False, changes_something=changes_something)
        connection.abort_if_silent_since(call.sent_at_ms)
        if changes_something:
            return self._unanswered(reason, was_sent=True, changes_something=True)
        return ServerError(ProblemCode.TIMED_OUT, f"the node did not answer: {reason}")

    def _unanswered(self, reason: str, *, was_sent: bool, changes_something: bool) -> ServerError:
        if was_sent and changes_something:
            return ServerError(ProblemCode.OUTCOME_UNKNOWN, f"no answer from the node: {reason}")
        return ServerError(
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
                raise ServerError(
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

    # --- the connection ---

    async def _connected(self) -> ClientConnection:
        if self._connection is not None and self._connection.is_open:
            return self._connection
        if self._dialling is None:
            pause_ms = self._dial_not_before_ms - self._clock.monotonic_ms()
            if pause_ms > 0:
                raise ServerError(
                    ProblemCode.UNAVAILABLE, "the node could not be reached a moment ago", retry_after_ms=pause_ms
                )
            self._dialling = asyncio.get_running_loop().create_task(self._dial())
        [connection] = await asyncio.shield(asyncio.gather(self._dialling, return_exceptions=True))
        if isinstance(connection, Exception):
            raise connection
        if not isinstance(connection, ClientConnection) or not connection.is_open:  # cancelled, maybe before it began
            reason = self._dial_failure or "the connection was closed"
            raise self._unanswered(reason, was_sent=False, changes_something=False)
        return connection

    async def _dial(self) -> ClientConnection | None:
        connection = ClientConnection(clock=self._clock, on_ended=self._connection_ended)
        self._was_refused = False
        try:
            async with asyncio.timeout(self._settings.dial_timeout_ms / 1000):
                await self._transport.dial(self._address, connection)
                await self._greet(connection)
        except (OSError, TimeoutError, ConnectionEndedError, HandshakeError) as error:
            connection.abort()
            self._dial_failure = str(error) or "nobody answers at its address"
            self._was_refused = isinstance(error, ConnectionRefusedError)
            self._back_off()
            logger.warning("rpc.dial_failed", address=self._address, error=self._dial_failure)
            return None
        except asyncio.CancelledError:  # by `close`; whoever waits for the dial is not cancelled, and is told
            connection.abort()
            self._dial_failure = "the connection to the node is closed"
            return None
        finally:
            self._dialling = None
        self._dial_failure = ""
        self._connection = connection
        return connection

    async def _greet(self, connection: ClientConnection) -> None:
        """Agree on a version. Raises HandshakeError, ConnectionEndedError."""
        connection.check_answers_as(self._expects, self._address)
        versions = self._settings.versions
        body, _ = methods.HELLO.request.encode(Hello(versions.oldest, versions.newest, self._settings.is_node))
        call = connection.begin(methods.HELLO.number, body, b"", on_end=_nothing, on_late_answer=_ignore)
        try:
            frame = await call.answer
            if frame.kind is FrameKind.FAILURE:
                raise HandshakeError(methods.FAILURE.decode(frame.body, frame.attachment).detail)
            welcome = methods.HELLO.response.decode(frame.body, frame.attachment)
        except MalformedMessageError as error:
            raise HandshakeError(f"its answer to the hello cannot be read: {error}") from error
        if not versions.oldest <= welcome.version <= versions.newest:
            raise HandshakeError(f"it chose version {welcome.version} of the protocol, which was not offered")
        connection.version = welcome.version

    def _connection_ended(self, connection: ClientConnection) -> None:
        if self._connection is not connection:  # it was not even greeted
            return
        self._connection = None
        if connection.has_answered:
            self._failures = 0
            self._dial_not_before_ms = 0
        else:  # a node that accepts and hangs up is no better than one that is not there
            self._back_off()
        if self._on_lost is not None and not self._is_closed:
            self._on_lost()

    def _back_off(self) -> None:
        settings = self._settings
        pause_ms = min(settings.backoff_max_ms, settings.backoff_min_ms * 2 ** min(self._failures, 20))
        self._failures += 1
        jitter = 0.5 + self._entropy.fraction() / 2
        self._dial_not_before_ms = self._clock.monotonic_ms() + int(pause_ms * jitter)


def _ignore(frame: Frame) -> None:
    """An answer that nobody waits for, and that holds nothing to be given back."""


def _nothing() -> None:
    """The hello counts as nobody's request."""
