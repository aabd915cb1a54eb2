"""One partition's messages as its leader runs them: the only writer of its log and its dedup window.

All decisions happen on the event loop between two awaits, so they need no locks. A send completes when the high
watermark passes it. With one replica that is the leader's own durable end; the rule stays the same with more.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from acklog.wire.batch import (
    FLAG_CONTROL,
    FLAG_TRANSACTIONAL,
    BatchCorruptError,
    BatchHeader,
    DedupKey,
    decode_keys,
    read_header,
    verify_unstamped,
)
from acklog.wire.problems import ProblemCode
from cluster.clock import Clock
from cluster.errors import AcklogError
from cluster.model import Topic
from storage.delivery.dedup_window import DedupWindow
from storage.log.partition_log import PartitionLog
from storage.log.round import Appended
from storage.node.batch_cache import BatchCache
from storage.node.settings import NodeSettings
from storage.rpc.messages import ACKS_ALL, KeyedResult, ProduceRequest, ProduceResponse

OVERLOADED_RETRY_MS = 1000


class _Uncommitted:
    """A durable append that waits for the high watermark to pass it."""

    __slots__ = ("appended", "waiter")

    def __init__(self, appended: Appended, waiter: "asyncio.Future[Appended] | None") -> None:
        self.appended = appended
        self.waiter = waiter


class _Append:
    """What the log tells of an append: the one place where its outcome is noted."""

    __slots__ = ("_host", "batch", "token", "waiter")

    def __init__(
        self, host: "PartitionHost", batch: bytearray, token: int | None, waiter: "asyncio.Future[Appended] | None"
    ) -> None:
        self._host = host
        self.batch = batch
        self.token = token
        self.waiter = waiter

    def done(self) -> bool:
        return False

    def set_result(self, appended: Appended, /) -> None:
        self._host.flushed(self, appended)

    def set_exception(self, error: BaseException, /) -> None:
        self._host.refused(self, error)


class PartitionHost:
    """`on_high_watermark` is called after every advance, with the partition's number."""

    def __init__(
        self,
        topic: Topic,
        partition: int,
        *,
        log: PartitionLog,
        dedup: DedupWindow,
        leader_epoch: int,
        cache: BatchCache,
        clock: Clock,
        settings: NodeSettings,
        on_high_watermark: Callable[[int], None],
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.log = log
        self.leader_epoch = leader_epoch
        self.high_watermark = log.log_end
        self._dedup = dedup
        self._cache = cache
        self._clock = clock
        self._settings = settings
        self._on_high_watermark = on_high_watermark
        self._inbox_bytes = 0
        self._uncommitted: deque[_Uncommitted] = deque()
        self._dedup_waiters: dict[int, asyncio.Future[None]] = {}
        self._record_waiters: dict[asyncio.Future[None], None] = {}
        self._is_stopping = False

    # --- produce -------------------------------------------------------------------------------------------------

    async def produce(self, request: ProduceRequest) -> ProduceResponse:
        """Raises AcklogError: INVALID_FIELD, OVERLOADED, DEDUP_WINDOW_FULL, STORAGE_*, OUTCOME_UNKNOWN.

        After OUTCOME_UNKNOWN (the time was up) and cancellation the batch may be appended all the same.
        """
        header = self._validate(request)
        token: int | None = None
        if header.is_keyed:
            keys = decode_keys(request.batch, header)
            _check_runs(keys, header)
            known = await self._known(keys, request.timeout_ms)
            if known:
                return ProduceResponse(-1, self.leader_epoch, -1, known)
            token = self._dedup.reserve(keys, self._clock.monotonic_ms())
        waiter = self._append(request, header, token)
        if waiter is None:
            return ProduceResponse(-1, self.leader_epoch, -1)
        # A timer of the loop costs a tenth of an `asyncio.timeout`, and every send has one.
        timer = asyncio.get_running_loop().call_later(request.timeout_ms / 1000, _time_out, waiter, request.timeout_ms)
        try:
            appended = await waiter
        finally:
            timer.cancel()
        return ProduceResponse(appended.base_offset, self.leader_epoch, appended.append_time_ms)

    def _validate(self, request: ProduceRequest) -> BatchHeader:
        try:
            header = verify_unstamped(request.batch)
        except BatchCorruptError as error:
            raise AcklogError(ProblemCode.INVALID_FIELD, f"The batch is damaged: {error}.", field="batch") from error
        if header.flags & (FLAG_CONTROL | FLAG_TRANSACTIONAL):
            raise AcklogError(ProblemCode.UNSUPPORTED, "Transactions are not supported.", field="batch")
        replicas = self.topic.replication_factor
        if request.acks != ACKS_ALL and not 0 <= request.acks <= replicas:
            raise AcklogError(
                ProblemCode.INVALID_FIELD,
                f"acks is {request.acks}; the topic has {replicas} replica(s), so it may be 0 to {replicas} or all.",
                field="acks",
            )
        if self._inbox_bytes + header.length > self._settings.partition_inbox_bytes_max:
            raise AcklogError(
                ProblemCode.OVERLOADED,
                f"The partition has {self._inbox_bytes} bytes waiting to be written, "
                f"the limit is {self._settings.partition_inbox_bytes_max}.",
                retry_after_ms=OVERLOADED_RETRY_MS,
            )
        return header

    def _append(
        self, request: ProduceRequest, header: BatchHeader, token: int | None
    ) -> "asyncio.Future[Appended] | None":
        batch = request.batch if isinstance(request.batch, bytearray) else bytearray(request.batch)
        waiter = None if request.acks == 0 else asyncio.get_running_loop().create_future()
        try:
            self.log.append_and_tell(batch, _Append(self, batch, token, waiter), leader_epoch=self.leader_epoch)
        except Exception:
            self._release(token)
            raise
        self._inbox_bytes += header.length
        return waiter

    def flushed(self, append: "_Append", appended: Appended) -> None:
        """The leader's own copy is durable."""
        self._inbox_bytes -= len(append.batch)
        if append.token is not None:
            self._dedup.commit(append.token, appended.base_offset, self.leader_epoch, self._clock.monotonic_ms())
        self._cache.put(self.log.key, read_header(append.batch), append.batch)
        self._uncommitted.append(_Uncommitted(appended, append.waiter))
        self._advance_high_watermark()
        self._wake_dedup(append.token)

    def refused(self, append: "_Append", error: BaseException) -> None:
        """The append failed: nothing was stored, or nobody knows."""
        self._inbox_bytes -= len(append.batch)
        self._release(append.token)
        if append.waiter is not None and not append.waiter.done():
            append.waiter.set_exception(error)

    def _advance_high_watermark(self) -> None:
        """The high watermark is the least durable end over the in-sync replicas: here, the leader's own."""
        self.high_watermark = self.log.log_end
        while self._uncommitted and self._uncommitted[0].appended.next_offset <= self.high_watermark:
            done = self._uncommitted.popleft()
            if done.waiter is not None and not done.waiter.done():
                done.waiter.set_result(done.appended)
        self._wake_record_waiters()
        self._on_high_watermark(self.partition)

    @property
    def dedup_bytes(self) -> int:
        """Memory that the window of idempotency keys takes."""
        return self._dedup.size_bytes

    # --- deduplication -------------------------------------------------------------------------------------------

    async def _known(self, keys: list[DedupKey], timeout_ms: int) -> list[KeyedResult]:
        """What the window knows of the keys, after those that are being written have got their outcome."""
        try:
            verdict = self._dedup.check(keys, self._clock.monotonic_ms())
        except ValueError as error:
            raise AcklogError(ProblemCode.INVALID_FIELD, f"{error}.", field="batch") from error
        if verdict.pending:
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    while verdict.pending:
                        await self._wait_for_dedup(verdict.pending[0])
                        verdict = self._dedup.check(keys, self._clock.monotonic_ms())
            except TimeoutError:
                raise _unconfirmed(timeout_ms) from None
        return [
            KeyedResult(known.index, known.offset, known.leader_epoch, known.conflict, known.count)
            for known in verdict.known
        ]

    async def _wait_for_dedup(self, token: int) -> None:
        """Return when the append that holds `token` has ended, either way."""
        future = self._dedup_waiters.get(token)
        if future is None:
            future = self._dedup_waiters[token] = asyncio.get_running_loop().create_future()
        await asyncio.shield(future)

    def _release(self, token: int | None) -> None:
        if token is not None:
            self._dedup.abort(token)
            self._wake_dedup(token)

    def _wake_dedup(self, token: int | None) -> None:
        future = self._dedup_waiters.pop(token, None) if token is not None else None
        if future is not None:
            future.set_result(None)

    # --- waiting for records -------------------------------------------------------------------------------------

    @property
    def waiting_records(self) -> int:
        return len(self._record_waiters)

    async def wait_for_records(self, offset: int, timeout_ms: int) -> None:
        """Return when the high watermark has passed `offset`, or after the time-out."""
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        while self.high_watermark <= offset and not self._is_stopping:
            left_ms = deadline_ms - self._clock.monotonic_ms()
            if left_ms <= 0:
                return
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._record_waiters[future] = None
            try:
                async with asyncio.timeout(left_ms / 1000):
                    await future
            except TimeoutError:
                return
            finally:
                self._record_waiters.pop(future, None)

    def stop_waiting(self) -> None:
        """The node stops: whoever waits for records gets what there is."""
        self._is_stopping = True
        self._wake_record_waiters()

    def _wake_record_waiters(self) -> None:
        waiters, self._record_waiters = self._record_waiters, {}
        for future in waiters:
            if not future.done():
                future.set_result(None)


def _check_runs(keys: list[DedupKey], header: BatchHeader) -> None:
    """A run beyond its batch would be answered with the places of other messages."""
    for key in keys:
        if key.index < 0 or key.count < 1 or key.index + key.count > header.count:
            detail = f"The key {key.key!r} covers {key.count} record(s) from {key.index} on, there are {header.count}."
            raise AcklogError(ProblemCode.INVALID_FIELD, detail, field="batch")


def _time_out(waiter: "asyncio.Future[Appended]", timeout_ms: int) -> None:
    if not waiter.done():
        waiter.set_exception(_unconfirmed(timeout_ms))


def _unconfirmed(timeout_ms: int) -> AcklogError:
    detail = f"The append was not confirmed within {timeout_ms} ms; it may still be stored."
    return AcklogError(ProblemCode.OUTCOME_UNKNOWN, detail, retry_after_ms=OVERLOADED_RETRY_MS)
