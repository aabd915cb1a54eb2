"""Batches on their way to the log: how they are made, and what is done while it is not known what became of one."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from acklog.wire.batch import DedupKey, encode_batch, encode_plain_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import PlainRecord, Record
from app.gateway.batching.batch_numbers import BatchNumbers
from app.gateway.batching.coalescer import ANY_PARTITION, Destination
from app.gateway.routing import PartitionLeaders, Try
from cluster.errors import ServerError
from storage.rpc.messages import ANY_MAPPING, ProduceRequest, ProduceResponse
from storage.rpc.node_api import NodeApi, ProduceWaiter

DECOMMISSIONED_RETRY_MS = 100

Appending = Callable[[], Awaitable[ProduceResponse]]


class Appends(Protocol):
    """Makes batches and has them appended; each batch is handed over once."""

    def encode(
        self, records: list[Record], *, payload: bytes | None = None, keys: list[DedupKey] | None = None
    ) -> bytearray:
        """As `acklog.wire.batch.encode_batch`."""
        ...

    def encode_plain(self, records: list[PlainRecord]) -> bytearray:
        """As `acklog.wire.batch.encode_plain_batch`."""
        ...

    async def append(
        self,
        topic_id: str,
        partition: int,
        batch: bytearray,
        acks: int,
        *,
        deadline_ms: int,
        mapping: int = ANY_MAPPING,
    ) -> ProduceResponse:
        """`mapping` as in ProduceRequest. Raises ServerError: OUTCOME_UNKNOWN if the batch may be stored, else why it
        is not."""
        ...

    def begin(
        self, topic_id: str, partition: int, batch: bytearray, acks: int, waiter: ProduceWaiter, *, deadline_ms: int
    ) -> None:
        """As `append`; `waiter` is told in a later turn what became of it, whether it is `done` or not."""
        ...

    def destination(self, topic_id: str, partition: int) -> Destination:
        """What batches of this partition, or of ANY_PARTITION, share a way with."""
        ...


class _Tasks:
    """Appends that are waited for by a task each."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, appending: Awaitable[ProduceResponse], waiter: ProduceWaiter) -> None:
        task = asyncio.get_running_loop().create_task(_tell(waiter, appending))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _tell(waiter: ProduceWaiter, appending: Awaitable[ProduceResponse]) -> None:
    try:
        response = await appending
    except BaseException as error:
        waiter.set_exception(error)
        if not isinstance(error, ServerError):
            raise
    else:
        waiter.set_result(response)


class NumberedAppends:
    """Of a gateway that reaches its nodes over connections. Every batch has a number, so the same bytes are sent again,
    to whoever leads then, while the outcome is unknown and there is time."""

    def __init__(self, leaders: PartitionLeaders, numbers: BatchNumbers) -> None:
        self._leaders = leaders
        self._numbers = numbers
        self._tasks = _Tasks()

    def encode(
        self, records: list[Record], *, payload: bytes | None = None, keys: list[DedupKey] | None = None
    ) -> bytearray:
        producer_id, producer_epoch, base_sequence = self._numbers.next()
        return encode_batch(
            records,
            payload=payload,
            keys=keys,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
        )

    def encode_plain(self, records: list[PlainRecord]) -> bytearray:
        producer_id, producer_epoch, base_sequence = self._numbers.next()
        return encode_plain_batch(
            records, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence
        )

    async def append(
        self,
        topic_id: str,
        partition: int,
        batch: bytearray,
        acks: int,
        *,
        deadline_ms: int,
        mapping: int = ANY_MAPPING,
    ) -> ProduceResponse:
        async def produce(node: NodeApi, attempt: Try) -> ProduceResponse:
            remaining_ms, is_retry = attempt
            return await node.produce(ProduceRequest(topic_id, partition, batch, acks, remaining_ms, is_retry, mapping))

        try:
            return await self._leaders.change(topic_id, partition, produce, deadline_ms=deadline_ms)
        except ServerError as error:
            raise _told_to_client(error) from None

    def begin(
        self, topic_id: str, partition: int, batch: bytearray, acks: int, waiter: ProduceWaiter, *, deadline_ms: int
    ) -> None:
        self._tasks.start(self.append(topic_id, partition, batch, acks, deadline_ms=deadline_ms), waiter)

    def destination(self, topic_id: str, partition: int) -> Destination:
        """Messages without a key wait for those of their topic only: whoever leads what they go to is one of many."""
        return topic_id if partition == ANY_PARTITION else self._leaders.leader_of(topic_id, partition)


class LocalAppends:
    """Of a gateway whose only node is in its own process: no answer is ever lost on the way."""

    encode = staticmethod(encode_batch)
    encode_plain = staticmethod(encode_plain_batch)

    def __init__(self, leaders: PartitionLeaders) -> None:
        self._leaders = leaders
        self._tasks = _Tasks()

    async def append(
        self,
        topic_id: str,
        partition: int,
        batch: bytearray,
        acks: int,
        *,
        deadline_ms: int,
        mapping: int = ANY_MAPPING,
    ) -> ProduceResponse:
        try:
            return await self._leaders.change_once_in_time(
                topic_id,
                partition,
                lambda node, remaining_ms: node.produce(
                    ProduceRequest(topic_id, partition, batch, acks, remaining_ms, mapping=mapping)
                ),
                deadline_ms=deadline_ms,
            )
        except ServerError as error:
            raise _told_to_client(error) from None

    def begin(
        self, topic_id: str, partition: int, batch: bytearray, acks: int, waiter: ProduceWaiter, *, deadline_ms: int
    ) -> None:
        """Without a task, unless it has to wait for something: that would be half of what a small append costs."""
        appending = partial(self.append, topic_id, partition, batch, acks, deadline_ms=deadline_ms)
        remaining_ms = self._leaders.remaining_ms(deadline_ms)
        try:
            node = self._leaders.node_that_leads(topic_id, partition)
            if node is not None and remaining_ms > 0:
                request = ProduceRequest(topic_id, partition, batch, acks, remaining_ms)
                if node.begin_produce(request, _Outcome(self, appending, waiter)):
                    return
        except ServerError:
            pass  # nothing was done: the task waits until it can be, or finds the same error
        self.start_task(appending, waiter)

    def destination(self, topic_id: str, partition: int) -> Destination:
        """One disk stores everything."""
        return 0

    def start_task(self, appending: Appending, waiter: ProduceWaiter) -> None:
        self._tasks.start(appending(), waiter)

    def is_undone(self, error: BaseException) -> bool:
        """Whether nothing was done, and may be done a little later."""
        return isinstance(error, ServerError) and self._leaders.is_undone(error)


class _Outcome:
    """What the node tells of an append that it began with. `waiter` is told in a turn of its own, because the node is
    about to tell others, too; what was not done after all is tried again with a task."""

    __slots__ = ("_appending", "_appends", "_loop", "_waiter")

    def __init__(self, appends: LocalAppends, appending: Appending, waiter: ProduceWaiter) -> None:
        self._appends = appends
        self._appending = appending
        self._waiter = waiter
        self._loop = asyncio.get_running_loop()

    def done(self) -> bool:
        return False

    def set_result(self, response: ProduceResponse, /) -> None:
        self._loop.call_soon(self._waiter.set_result, response)

    def set_exception(self, error: BaseException, /) -> None:
        if self._appends.is_undone(error):
            self._appends.start_task(self._appending, self._waiter)
        else:
            told = _told_to_client(error) if isinstance(error, ServerError) else error
            self._loop.call_soon(self._waiter.set_exception, told)


def _told_to_client(error: ServerError) -> ServerError:
    if error.code is ProblemCode.OUTCOME_UNKNOWN:
        detail = "the message was not confirmed within the deadline; it may be stored all the same"
        return ServerError(ProblemCode.OUTCOME_UNKNOWN, detail, retry_after_ms=error.retry_after_ms)
    if error.code in {ProblemCode.PARTITION_DECOMMISSIONED, ProblemCode.MESSAGE_EXPIRED}:
        # The leader has heard of it before this gateway, which chooses another one from the next moment on.
        detail = "the partition has just been decommissioned, and the message is not stored: send it again"
        return ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=DECOMMISSIONED_RETRY_MS)
    return error
