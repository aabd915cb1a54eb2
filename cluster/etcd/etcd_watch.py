"""One watch on etcd, for one reader: a task reads ahead as far as the buffer goes, and resumes where a stream broke."""

import asyncio
from collections import deque
from collections.abc import Callable

import grpc
import grpc.aio
import structlog

from cluster.etcd import acklog_etcd_pb2 as messages
from cluster.etcd.call_tries import Again
from cluster.etcd.client import EtcdClient, TryFailedError, WatchCall
from cluster.etcd.etcd_settings import EtcdSettings
from cluster.etcd.failures import EtcdFailure, failure_of
from cluster.etcd.tokens import Token
from cluster.etcd.watch_cursor import StreamBrokenError, WatchCursor
from cluster.etcd.watch_resumption import WatchResumption
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError, CoordinationUnavailableError, WatchBatch
from cluster.ports.entropy import Entropy

_log = structlog.get_logger(__name__)

_PROGRESS = messages.WatchRequest(progress_request=messages.WatchProgressRequest())


class EtcdWatch:
    """`cluster.ports.coordination.Watch`. Connects when it is first read. A cancelled read loses nothing."""

    def __init__(
        self,
        client: EtcdClient,
        prefix: str,
        start_revision: int,
        *,
        settings: EtcdSettings,
        clock: Clock,
        entropy: Entropy,
        on_end: Callable[["EtcdWatch"], None],
    ) -> None:
        self._client = client
        self._prefix = prefix
        self._cursor = WatchCursor(prefix, start_revision)
        self._settings = settings
        self._clock = clock
        self._entropy = entropy
        self._on_end = on_end
        self._batches: deque[WatchBatch] = deque()
        self._news = asyncio.Event()
        self._has_room = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None
        self._failure: CoordinationError | None = None
        self._is_closed = False

    def __aiter__(self) -> "EtcdWatch":
        return self

    async def __anext__(self) -> WatchBatch:
        while not self._is_closed:
            if self._batches:
                self._has_room.set()
                return self._batches.popleft()
            if self._failure is not None:
                raise self._failure
            self._client.check_open()
            if self._reading is None:
                self._reading = asyncio.create_task(self._read(), name=f"etcd watch {self._prefix}")
            self._news.clear()
            await self._news.wait()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self._is_closed = True
        await self._stop_reading()

    async def fail(self, failure: CoordinationError) -> None:
        """Nothing more comes: the reader gets `failure`, and what was read ahead is dropped."""
        self._batches.clear()
        self._failure = self._failure or failure
        await self._stop_reading()

    async def _stop_reading(self) -> None:
        self._on_end(self)
        self._news.set()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    # --- reading ahead ---

    async def _read(self) -> None:
        """Until the watch is closed, or ends with a failure that its reader gets."""
        resumption = WatchResumption(self._settings, has_user=self._client.has_user, now_ms=self._clock.monotonic_ms())
        try:
            while True:
                again = await self._read_one_stream(resumption)
                await self._clock.sleep(again.delay_ms)
        except CoordinationError as error:
            self._failure = error
        except Exception as error:
            _log.exception("etcd_watch_failed", prefix=self._prefix)
            self._failure = CoordinationUnavailableError(f"the watch failed: {error!r}")
        self._on_end(self)
        self._news.set()

    async def _read_one_stream(self, resumption: WatchResumption) -> Again:
        """When to try the next one. Raises CompactedError, AccessDeniedError, CoordinationUnavailableError."""
        token: Token | None = None
        try:
            call, endpoint, token = await self._client.open_watch()
            try:
                broken = await self._consume(call, resumption)
            finally:
                call.cancel()
            self._client.watch_failed(endpoint, broken.failure)
        except TryFailedError as error:
            broken = StreamBrokenError(error.failure, str(error))
        now_ms = self._clock.monotonic_ms()
        revision = self._cursor.next_revision
        _log.info("etcd_watch_broken", prefix=self._prefix, revision=revision, reason=str(broken))
        again = resumption.broken(broken.failure, str(broken), now_ms=now_ms, jitter=self._entropy.fraction())
        if again.needs_login:
            self._client.token_refused(token)
        return again

    async def _consume(self, call: WatchCall, resumption: WatchResumption) -> StreamBrokenError:
        """Returns how the stream broke. Raises CompactedError."""
        try:
            await self._write(call, self._cursor.begin())
            while True:
                batches = self._cursor.accept(await self._next_answer(call))
                resumption.heard(self._clock.monotonic_ms())
                for batch in batches:
                    await self._hand_over(batch)
        except StreamBrokenError as error:
            return error

    async def _hand_over(self, batch: WatchBatch) -> None:
        while len(self._batches) >= self._settings.watch_batches_max:
            self._has_room.clear()
            await self._has_room.wait()
        self._batches.append(batch)
        self._news.set()

    async def _next_answer(self, call: WatchCall) -> messages.WatchResponse:
        """After a silence etcd is asked whether it is there; a stream that stays silent then is broken."""
        reading = asyncio.ensure_future(_read_answer(call))
        try:
            answer = await _within(reading, self._settings.watch_probe_after_ms)
            if answer is None:
                await self._write(call, _PROGRESS)
                answer = await _within(reading, self._settings.watch_answer_timeout_ms)
            if answer is None:
                raise StreamBrokenError(EtcdFailure.UNKNOWN, "no answer")
            return answer
        finally:
            if not reading.done():
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)

    async def _write(self, call: WatchCall, request: messages.WatchRequest) -> None:
        try:
            async with asyncio.timeout(self._settings.watch_answer_timeout_ms / 1000):
                await call.write(request)
        except TimeoutError:
            raise StreamBrokenError(EtcdFailure.UNKNOWN, "etcd takes no request") from None
        except asyncio.InvalidStateError:
            raise StreamBrokenError(EtcdFailure.UNKNOWN, "the stream has ended") from None
        except grpc.aio.AioRpcError as error:
            raise _broken(error) from error


async def _read_answer(call: WatchCall) -> messages.WatchResponse:
    try:
        answer = await call.read()
    except grpc.aio.AioRpcError as error:
        raise _broken(error) from error
    if not isinstance(answer, messages.WatchResponse):
        raise StreamBrokenError(EtcdFailure.UNKNOWN, "etcd ended the stream")
    return answer


async def _within(reading: asyncio.Future[messages.WatchResponse], timeout_ms: int) -> messages.WatchResponse | None:
    """None when the time is up; the reading goes on."""
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            return await asyncio.shield(reading)
    except TimeoutError:
        return None


def _broken(error: grpc.aio.AioRpcError) -> StreamBrokenError:
    message = error.details() or error.code().name
    return StreamBrokenError(failure_of(error.code(), message), message)
