"""One log of a partition that messages come to, as its leader runs it: the only writer of it.

All decisions happen on the event loop between two awaits, so they need no locks. A send completes when the high
watermark passes it, or when as many replicas hold it as it asked for. With one replica that is the leader's own durable
end; the rule stays the same with more.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from acklog.wire.batch import NO_PRODUCER, BatchHeader, stamped_header
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.restored_topic import check_whole
from cluster.model.values import NamedProducer, Topic
from cluster.ports.clock import Clock
from storage.log.log_queue import Appended
from storage.log.partition_log import PartitionLog
from storage.node.partition.batch_cache import BatchCache
from storage.node.partition.commit_waiters import CommitWaiters
from storage.node.partition.keyed_runs import KeyedRuns
from storage.node.partition.mapping_gate import MappingGate
from storage.node.partition.node_settings import NodeSettings
from storage.node.partition.pending_append import OVERLOADED_RETRY_MS, PendingAppend, unconfirmed
from storage.node.partition.readable_start import deleted_below, readable_start
from storage.node.partition.sent_batches import SentBatches, SourceKey
from storage.produce.produce_check import check_mapping, checked_header, checked_keys
from storage.produce.producer_fence import check_producer
from storage.produce.producer_window import Known, ProducerWindow
from storage.replication.leader_events import Refusal
from storage.replication.leadership import UNAVAILABLE_RETRY_MS, Leadership, check_sure
from storage.rpc.messages import ACKS_ALL, ANY_MAPPING, KeyedResult, KnownKeysRequest, ProduceRequest, ProduceResponse
from storage.rpc.node_api import ProduceWaiter
from storage.rpc.producer_epoch import ProducerEpoch


class PartitionHost:
    """Of the messages, or of those that are scheduled. `keyed` and `tokens`, the numbers of appends whose copies are
    counted, are the partition's: both logs share them. `on_high_watermark` is called after every advance, with the
    partition's number. `find_producer` finds a named one by its id."""

    def __init__(
        self,
        partition: int,
        *,
        log: PartitionLog,
        keyed: KeyedRuns,
        tokens: Iterator[int],
        producers: ProducerWindow,
        find_producer: Callable[[str], NamedProducer | None],
        leadership: Leadership,
        gate: MappingGate,
        cache: BatchCache,
        clock: Clock,
        settings: NodeSettings,
        on_high_watermark: Callable[[int], None],
    ) -> None:
        self.partition = partition
        self.log = log
        self.leader_epoch = leadership.leader_epoch
        self._waiters = CommitWaiters(leadership.high_watermark(log.key.kind), clock)
        self.gate = gate
        self._leadership = leadership
        self._keyed = keyed
        self._tokens = tokens
        self._sent = SentBatches(producers, clock)
        self._find_producer = find_producer
        self._cache = cache
        self._clock = clock
        self._settings = settings
        self._on_high_watermark = on_high_watermark
        self._inbox_bytes, self._has_ended = 0, False
        self._uncommitted: deque[PendingAppend] = deque()
        self._counted: dict[int, PendingAppend] = {}
        self._moved_to = self.log.log_end
        self._settled: asyncio.Future[None] | None = None

    @property
    def topic(self) -> Topic:
        return self._leadership.topic

    @property
    def high_watermark(self) -> int:
        """Everything below it is committed."""
        return self._waiters.high_watermark

    @property
    def readable_start(self) -> int:
        """Nothing below it is delivered or read."""
        return readable_start(self.log, self._leadership.deletions.last)

    @property
    def deleted_below(self) -> int:
        return deleted_below(self.log, self._leadership.deletions.last)

    @property
    def readable_end(self) -> int:
        """Everything below it may be delivered and read: what is committed."""
        return self.high_watermark

    # --- produce -------------------------------------------------------------------------------------------------

    async def produce(self, request: ProduceRequest) -> ProduceResponse:
        """Raises ServerError: UNAVAILABLE (nothing was done), INVALID_FIELD, NOT_ENOUGH_REPLICAS, OVERLOADED,
        DEDUP_WINDOW_FULL, DEDUP_WINDOW_DAMAGED, STORAGE_*, OUTCOME_UNKNOWN.

        After OUTCOME_UNKNOWN (the time was up) and cancellation the batch may be appended all the same.
        """
        header = self._validate(request)
        source = None if header.producer_id == NO_PRODUCER else (header.producer_id, header.base_sequence)
        if source is not None:
            before = await self._sent_before(request, header)
            if before is not None:
                return before
            self._sent.begin(source)  # before any other wait: the same batch may come again meanwhile
        answer: asyncio.Future[ProduceResponse] = asyncio.get_running_loop().create_future()
        try:
            known_keys = await self._take(request, header, source, answer)
        except BaseException:
            if source is not None:
                self._sent.refused(source)
            raise
        if known_keys:
            if source is not None:
                self._sent.refused(source)
            return ProduceResponse(-1, self.leader_epoch, -1, known_keys)
        return await answer

    def begin(self, request: ProduceRequest, waiter: ProduceWaiter) -> bool:
        """As `produce`, without a task, for a batch that has neither idempotency keys nor a producer. False, and
        nothing was done, for others."""
        header = self._validate(request)
        if header.is_keyed or header.producer_id != NO_PRODUCER:
            return False
        self._check_leadership(request.acks)
        self._append(request, None, None, waiter)
        return True

    async def append_own(self, batch: bytearray, *, timeout_ms: int, mapping: int = ANY_MAPPING) -> ProduceResponse:
        """A batch that this node has made, and by `mapping` belongs here, committed when this returns. A partition that
        takes no new messages takes those that it has promised. Raises ServerError as `produce` does, and CONFLICT where
        the mapping is over."""
        self._check_room(len(batch))
        self._check_takes(ACKS_ALL)
        answer: asyncio.Future[ProduceResponse] = asyncio.get_running_loop().create_future()
        request = ProduceRequest(self.topic.id, self.partition, batch, timeout_ms=timeout_ms, mapping=mapping)
        self._append(request, None, None, answer)
        return await answer

    async def _take(
        self, request: ProduceRequest, header: BatchHeader, source: SourceKey | None, waiter: ProduceWaiter
    ) -> list[KeyedResult]:
        """What the window knows of its keys; if that is nothing the batch is on its way to the log."""
        self._check_leadership(request.acks)
        token: int | None = None
        self._check_producer(request.producer)
        if header.is_keyed:
            keys = checked_keys(request.batch, header)
            try:
                known_keys = await self._keyed.known(keys, header.count, request.timeout_ms)
            except TimeoutError:
                raise unconfirmed(request.timeout_ms) from None
            if known_keys:
                return known_keys
            self._check_leadership(request.acks)
            check_mapping(request, self.topic)
            self._check_producer(request.producer)  # it may have been opened again meanwhile
            token = self._keyed.reserve(keys)
        self._append(request, source, token, waiter)
        return []

    def _check_producer(self, claim: ProducerEpoch | None) -> None:
        if claim is not None:
            check_producer(claim, self.topic.id, self._find_producer(claim.producer_id))

    async def known_keys(self, request: KnownKeysRequest) -> list[KeyedResult]:
        """Raises ServerError UNAVAILABLE, INVALID_FIELD, TIMED_OUT, STORAGE_FAILED, RECORDS_CORRUPT,
        DEDUP_WINDOW_DAMAGED."""
        self._check_serves()
        check_sure(self._leadership)  # another leader may know keys that are not known here
        if self.topic.mapping < request.mapping:
            detail = f"This node has not heard yet of how the partitions of {self.topic.name} have changed."
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
        self._check_producer(request.producer)
        known = await self._keyed.known_or_new(request)
        self._check_serves()  # what was being written is forgotten here where it has ended badly
        return known

    def _validate(self, request: ProduceRequest) -> BatchHeader:
        header = checked_header(request, self.topic)
        self._check_room(header.length)
        return header

    def _check_room(self, size_bytes: int) -> None:
        limit = self._settings.partition_inbox_bytes_max
        if self._inbox_bytes + size_bytes > limit:
            detail = f"The partition has {self._inbox_bytes} bytes waiting to be written, the limit is {limit}."
            raise ServerError(ProblemCode.OVERLOADED, detail, retry_after_ms=OVERLOADED_RETRY_MS)

    def _check_leadership(self, acks: int) -> None:
        if self.partition in self.topic.decommissioned:
            detail = f"Partition {self.partition} of {self.topic.name} is decommissioned and takes no new messages."
            raise ServerError(ProblemCode.PARTITION_DECOMMISSIONED, detail, field="partition")
        self._check_takes(acks)

    def _check_takes(self, acks: int) -> None:
        check_whole(self.topic)
        refusal = self._refusal(acks)
        if refusal is Refusal.NOT_ENOUGH_REPLICAS:
            needed = self.topic.config.min_insync_replicas
            detail = f"Fewer than {needed} replicas of partition {self.partition} of {self.topic.name} keep up now."
            raise ServerError(ProblemCode.NOT_ENOUGH_REPLICAS, detail, retry_after_ms=OVERLOADED_RETRY_MS)
        if refusal is not None or len(self._uncommitted) >= self._settings.uncommitted_appends_max:
            detail = f"{len(self._uncommitted)} appends of partition {self.partition} wait for replicas."
            raise ServerError(ProblemCode.OVERLOADED, detail, retry_after_ms=OVERLOADED_RETRY_MS)

    def _refusal(self, acks: int) -> Refusal | None:
        """Why nothing can be appended with `acks` now, though this is the leader. Raises ServerError UNAVAILABLE."""
        refusal = None if self._has_ended else self._leadership.refusal(acks)
        if self._has_ended or refusal is Refusal.NOT_SERVING:
            detail = f"Partition {self.partition} of {self.topic.name} is not served here now."
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
        return refusal

    def _check_serves(self) -> None:
        self._refusal(0)
        self.log.check_serves()

    def _append(
        self, request: ProduceRequest, source: SourceKey | None, token: int | None, waiter: ProduceWaiter
    ) -> None:
        batch = request.batch if isinstance(request.batch, bytearray) else bytearray(request.batch)
        append = PendingAppend(
            self, batch, request.acks, waiter, leader_epoch=self.leader_epoch, source=source, token=token
        )
        try:
            append.is_by_mapping = self.gate.takes_by_mapping(request.mapping, self.topic)
            append.batch = self.log.append_and_tell(batch, append, leader_epoch=self.leader_epoch)
        except Exception:
            self._keyed.release(token)
            raise
        self.gate.under_way += append.is_by_mapping
        self._inbox_bytes += len(append.batch)
        append.begin(request.timeout_ms)

    def flushed(self, append: PendingAppend, appended: Appended) -> None:
        """The leader's own copy is durable."""
        self._inbox_bytes -= len(append.batch)
        if append.source is not None:
            self._sent.stored(append.source, appended, self.leader_epoch)
        if self._has_ended:
            self._end(append, self._unknown())
            self._tell_settled()
            return
        self._cache.put(self.log.key, stamped_header(append.batch), append.batch, self.log.cipher)
        del append.batch  # the cache has a limit, and what waits for followers has none in bytes
        append.appended = appended
        self._uncommitted.append(append)
        if append.acks > 0:
            self._count(append)
        if appended.next_offset > self._moved_to:  # else it was told of together with another one of the same round
            self._moved_to = self.log.log_end
            self._leadership.log_moved()
        if self._uncommitted:  # the high watermark may have passed it before
            self._complete()

    def _count(self, append: PendingAppend) -> None:
        """Whoever asked for a number of replicas waits for these, committed or not."""
        token = next(self._tokens)
        self._counted[token] = append
        self._leadership.await_acks(self.log.key.kind, append.appended.next_offset, append.acks, token)

    def acks_reached(self, tokens: Iterable[int]) -> None:
        for token in tokens:
            counted = self._counted.pop(token, None)
            if counted is not None:
                counted.tell()

    def refused(self, append: PendingAppend, error: BaseException) -> None:
        """The append failed: nothing was stored, or nobody knows."""
        self._inbox_bytes -= len(append.batch)
        if append.source is not None:
            self._sent.refused(append.source)
        self._end(append, error)
        self._tell_settled()

    # --- batches that are sent again -----------------------------------------------------------------------------

    async def _sent_before(self, request: ProduceRequest, header: BatchHeader) -> ProduceResponse | None:
        """The answer for a batch that is here already, or may be; None: it has to be appended (rule R19).

        Raises ServerError OUTCOME_UNKNOWN.
        """
        deadline_ms = self._clock.monotonic_ms() + request.timeout_ms
        try:
            async with asyncio.timeout(request.timeout_ms / 1000):
                found = await self._sent.find((header.producer_id, header.base_sequence), is_retry=request.is_retry)
        except TimeoutError:
            raise unconfirmed(request.timeout_ms) from None
        if found is None:
            return None
        left_ms = deadline_ms - self._clock.monotonic_ms()
        return await self._confirm(found, found.base_offset + header.count, request.acks, left_ms)

    async def _confirm(self, found: Known, next_offset: int, acks: int, timeout_ms: int) -> ProduceResponse:
        """The answer for a batch that is here, once as many copies are durable as `acks` asks for.

        Raises ServerError OUTCOME_UNKNOWN.
        """
        if acks == 0:
            return ProduceResponse(-1, found.leader_epoch, -1)
        if acks == ACKS_ALL:
            if not await self._waiters.wait_beyond(next_offset - 1, timeout_ms):
                raise self._unknown() if self._has_ended else unconfirmed(timeout_ms)
            return ProduceResponse(found.base_offset, found.leader_epoch, found.append_time_ms)
        if self._has_ended:
            raise self._unknown()
        if self._leadership.refusal(acks) is Refusal.TOO_MANY_WAITING:
            raise unconfirmed(timeout_ms)
        answer: asyncio.Future[ProduceResponse] = asyncio.get_running_loop().create_future()
        append = PendingAppend(self, bytearray(), acks, answer, leader_epoch=found.leader_epoch)
        append.appended = Appended(found.base_offset, found.append_time_ms, next_offset)
        append.begin(timeout_ms)
        self._count(append)
        return await answer

    # --- what is committed ---------------------------------------------------------------------------------------

    def high_watermark_advanced(self, high_watermark: int) -> None:
        """Everything below it is committed: readers may see it, and who waited for it is told."""
        self._waiters.high_watermark = high_watermark
        self._complete()
        self._waiters.advance(high_watermark)
        self._on_high_watermark(self.partition)

    def _complete(self) -> None:
        while self._uncommitted and self._uncommitted[0].appended.next_offset <= self.high_watermark:
            done = self._uncommitted.popleft()
            self.gate.under_way -= done.is_by_mapping
            if done.token is not None:
                self._keyed.stored(done.token, done.appended.base_offset, self.leader_epoch, self.log.key.kind)
            if done.acks == ACKS_ALL:
                done.tell()
        self._tell_settled()

    async def wait_until_committed(self) -> None:
        """Until everything that was accepted is committed, refused or given up."""
        while self._inbox_bytes or self._uncommitted:
            self._settled = self._settled or asyncio.get_running_loop().create_future()
            await asyncio.shield(self._settled)  # others may wait for it as well

    def _tell_settled(self) -> None:
        if not self._inbox_bytes and not self._uncommitted and self._settled is not None:
            settled, self._settled = self._settled, None
            if not settled.done():
                settled.set_result(None)

    def leadership_ended(self) -> None:
        """Another leader may keep what is not committed by now, or not: nobody here will ever know."""
        if self._has_ended:
            return
        self._has_ended = True
        uncommitted, self._uncommitted = self._uncommitted, deque()
        counted, self._counted = self._counted, {}
        for each in uncommitted:
            self._end(each, self._unknown())
        for each in counted.values():
            each.fail(self._unknown())
        self.stop_waiting()
        self._tell_settled()

    def _end(self, append: PendingAppend, error: BaseException) -> None:
        self._keyed.release(append.token)
        self.gate.under_way -= append.is_by_mapping
        append.fail(error)

    def _unknown(self) -> ServerError:
        detail = f"Partition {self.partition} of {self.topic.name} has got another leader; the append may be kept."
        return ServerError(ProblemCode.OUTCOME_UNKNOWN, detail, retry_after_ms=OVERLOADED_RETRY_MS)

    @property
    def dedup_bytes(self) -> int:
        """Memory that the window of idempotency keys takes."""
        return self._keyed.size_bytes

    # --- waiting for records -------------------------------------------------------------------------------------

    @property
    def waiting_records(self) -> int:
        return len(self._waiters)

    async def wait_for_records(self, offset: int, timeout_ms: int) -> bool:
        """Return when the readable end has passed `offset`, or after the time-out; whether it has."""
        return await self._waiters.wait_beyond(offset, timeout_ms)

    def stop_waiting(self) -> None:
        """The node stops, or another leads: whoever waits for records gets what there is."""
        self._waiters.end()
