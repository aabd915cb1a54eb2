"""Calls to etcd: choose an endpoint, be logged in, send, and do what `CallTries` says about a failure."""

import asyncio
from collections.abc import Callable
from typing import cast

import grpc
import grpc.aio
import structlog

from cluster.etcd import acklog_etcd_pb2 as messages
from cluster.etcd.call_tries import CallKind, CallTries, RefusedError
from cluster.etcd.connections import Connections
from cluster.etcd.endpoint_choice import EndpointChoice
from cluster.etcd.etcd_settings import EtcdSettings, EtcdTls
from cluster.etcd.failures import AccessDeniedError, EtcdFailure, failure_of
from cluster.etcd.methods import AUTHENTICATE, WATCH, AnswerType, EtcdMethod, RequestType
from cluster.etcd.tokens import Token, TokenBox
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationUnavailableError, OutcomeUnknownError
from cluster.ports.entropy import Entropy

_log = structlog.get_logger(__name__)

_HAS_LEADER = ("hasleader", "true")  # a member that lost its leader refuses, instead of keeping us waiting
_NO_TOKEN = Token("")
_ENDPOINT_FAILURES = frozenset({EtcdFailure.NOT_CONNECTED, EtcdFailure.NO_LEADER, EtcdFailure.UNKNOWN})

WatchCall = grpc.aio.StreamStreamCall[messages.WatchRequest, messages.WatchResponse]


class TryFailedError(Exception):
    """One try failed. `token` is what it was sent with, None where it was not sent."""

    def __init__(self, failure: EtcdFailure, message: str, token: Token | None = None) -> None:
        super().__init__(message)
        self.failure = failure
        self.token = token


class EtcdClient:
    """Knows no keys and no leases: only how to get a request to etcd, and its answer back. `on_call` is told the method
    of each call, by its name, and how many seconds it took, whatever became of it. `tls` is as of `Connections`."""

    def __init__(
        self,
        settings: EtcdSettings,
        *,
        clock: Clock,
        entropy: Entropy,
        on_call: Callable[[str, float], None],
        tls: Callable[[], EtcdTls | None],
    ) -> None:
        self._on_call = on_call
        self._settings = settings
        self._clock = clock
        self._entropy = entropy
        self._connections = Connections(settings, tls)
        self._tokens = TokenBox(has_user=settings.user is not None)
        self._login = asyncio.Lock()
        self._calls = 0
        self._is_closed = False
        count = len(settings.endpoints)
        self._choice = EndpointChoice(count, settings.endpoint_rest, first=int(entropy.fraction() * count))

    @property
    def has_user(self) -> bool:
        return self._settings.user is not None

    def check_open(self) -> None:
        if self._is_closed:
            raise CoordinationUnavailableError("the store is closed")

    async def close(self) -> None:
        """Every later call raises CoordinationUnavailableError."""
        self._is_closed = True
        await self._connections.close(grace_ms=self._settings.close_grace_ms)

    # --- calls ---

    async def call(
        self,
        method: EtcdMethod[RequestType, AnswerType],
        request: RequestType,
        kind: CallKind,
        *,
        timeout_ms: int | None = None,
    ) -> AnswerType:
        """Raises RefusedError, AccessDeniedError, CoordinationUnavailableError; OutcomeUnknownError unless a read.

        When the caller is cancelled, a write may have been done, or be done later.
        """
        self.check_open()
        if self._calls >= self._settings.calls_max:
            raise CoordinationUnavailableError(f"{self._calls} calls to etcd are under way already")
        self._calls += 1
        began_ms = self._clock.monotonic_ms()
        try:
            return await self._tried(method, request, kind, timeout_ms=timeout_ms)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._is_closed or task is None or task.cancelling():
                raise
            if kind is CallKind.READ:  # gRPC cancels what is under way on a closed channel, not our caller
                raise CoordinationUnavailableError("the store is closed") from None
            raise OutcomeUnknownError("the store was closed before etcd answered") from None
        finally:
            self._calls -= 1
            self._on_call(method.name, (self._clock.monotonic_ms() - began_ms) / 1000)

    async def _tried(
        self,
        method: EtcdMethod[RequestType, AnswerType],
        request: RequestType,
        kind: CallKind,
        *,
        timeout_ms: int | None = None,
    ) -> AnswerType:
        tries = CallTries(self._settings, kind, started_ms=self._clock.monotonic_ms(), timeout_ms=timeout_ms)
        while True:
            try:
                return await self._try(method, request, tries)
            except TryFailedError as failed:
                now_ms = self._clock.monotonic_ms()
                again = tries.failed(failed.failure, str(failed), now_ms=now_ms, jitter=self._entropy.fraction())
                if again.needs_login:
                    self._drop(failed.token)
            if again.delay_ms:
                await self._clock.sleep(again.delay_ms)
            self.check_open()

    async def _try(
        self, method: EtcdMethod[RequestType, AnswerType], request: RequestType, tries: CallTries
    ) -> AnswerType:
        left_ms = tries.left_ms(self._clock.monotonic_ms())
        token = _NO_TOKEN if method.path == AUTHENTICATE.path else await self._token(timeout_ms=left_ms)
        endpoint = self._choice.choose(self._clock.monotonic_ms())
        channel = await self._connected(endpoint, timeout_ms=tries.timeout_ms(self._clock.monotonic_ms()))
        timeout_s = tries.timeout_ms(self._clock.monotonic_ms()) / 1000
        if timeout_s <= 0:
            raise TryFailedError(EtcdFailure.NOT_CONNECTED, "no time was left to send it")
        try:
            answer = await _answer(channel, method, request, timeout_s=timeout_s, metadata=_metadata(token))
        except grpc.aio.AioRpcError as error:
            failure = failure_of(error.code(), error.details() or "")
            self._note(endpoint, failure)
            message = f"{error.details() or error.code().name} ({self._settings.endpoints[endpoint]})"
            raise TryFailedError(failure, message, token) from error
        self._choice.succeeded(endpoint)
        return answer

    # --- watches ---

    async def open_watch(self) -> tuple[WatchCall, int, Token]:
        """A stream, the endpoint it goes to, and the token it was opened with. The caller cancels the call.

        Raises TryFailedError, CoordinationUnavailableError.
        """
        self.check_open()
        token = await self._token(timeout_ms=self._settings.request_timeout_ms)
        endpoint = self._choice.choose(self._clock.monotonic_ms())
        channel = await self._connected(endpoint, timeout_ms=self._settings.connect_timeout_ms)
        multi = channel.stream_stream(
            WATCH.path,
            request_serializer=WATCH.request.SerializeToString,
            response_deserializer=WATCH.answer.FromString,
        )
        return cast(WatchCall, multi(metadata=_metadata(token))), endpoint, token

    def watch_failed(self, endpoint: int, failure: EtcdFailure) -> None:
        self._note(endpoint, failure)

    def token_refused(self, token: Token | None) -> None:
        self._drop(token)

    # --- inside ---

    async def _connected(self, endpoint: int, *, timeout_ms: int) -> grpc.aio.Channel:
        channel = await self._connections.connect(endpoint, timeout_ms=timeout_ms)
        if channel is None:
            self._note(endpoint, EtcdFailure.NOT_CONNECTED)
            raise TryFailedError(EtcdFailure.NOT_CONNECTED, f"no connection to {self._settings.endpoints[endpoint]}")
        return channel

    def _note(self, endpoint: int, failure: EtcdFailure) -> None:
        if failure not in _ENDPOINT_FAILURES or self._is_closed:
            return
        if self._choice.failed(endpoint, self._clock.monotonic_ms()):
            _log.info("etcd_endpoint_failed", endpoint=self._settings.endpoints[endpoint], failure=failure.name)

    async def _token(self, *, timeout_ms: int) -> Token:
        """Raises TryFailedError. Who comes while somebody logs in waits for that login."""
        token = self._tokens.current
        if token is not None:
            return token
        try:
            async with asyncio.timeout(timeout_ms / 1000), self._login:
                return self._tokens.current or self._tokens.put(await self._log_in())
        except TimeoutError:
            raise TryFailedError(EtcdFailure.NOT_CONNECTED, "the login took too long") from None
        except AccessDeniedError as error:
            raise TryFailedError(EtcdFailure.WRONG_PASSWORD, str(error)) from error
        except CoordinationUnavailableError as error:
            raise TryFailedError(EtcdFailure.NOT_CONNECTED, f"no login: {error}") from error

    async def _log_in(self) -> str:
        user = self._settings.user
        assert user is not None, "who has no user needs no token"
        request = messages.AuthenticateRequest(name=user.name, password=user.password)
        try:
            answer = await self._tried(AUTHENTICATE, request, CallKind.READ)
        except RefusedError as error:
            if error.failure is EtcdFailure.AUTHENTICATION_OFF:
                return ""
            raise AccessDeniedError(f"no login as {user.name!r}: {error}") from error
        return answer.token

    def _drop(self, token: Token | None) -> None:
        if not self.has_user:
            raise AccessDeniedError("etcd asks who we are: give it a user and password")
        if token is not None:
            self._tokens.drop(token)


def _metadata(token: Token) -> grpc.aio.Metadata:
    return grpc.aio.Metadata(_HAS_LEADER, ("token", token.text)) if token.text else grpc.aio.Metadata(_HAS_LEADER)


async def _answer(
    channel: grpc.aio.Channel,
    method: EtcdMethod[RequestType, AnswerType],
    request: RequestType,
    *,
    timeout_s: float,
    metadata: grpc.aio.Metadata,
) -> AnswerType:
    """Raises AioRpcError."""
    serialize, parse = method.request.SerializeToString, method.answer.FromString
    if not method.streams:
        unary = channel.unary_unary(method.path, request_serializer=serialize, response_deserializer=parse)
        return await unary(request, timeout=timeout_s, metadata=metadata)
    multi = channel.stream_stream(method.path, request_serializer=serialize, response_deserializer=parse)
    call = multi(iter([request]), timeout=timeout_s, metadata=metadata)
    try:
        answer = await call.read()
    finally:
        call.cancel()
    if answer is grpc.aio.EOF:
        raise grpc.aio.AioRpcError(
            grpc.StatusCode.UNKNOWN, grpc.aio.Metadata(), grpc.aio.Metadata(), details="the stream ended unanswered"
        )
    return cast(AnswerType, answer)
