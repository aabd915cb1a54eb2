"""Batches on their way to the log: how they are made, and what is done while it is not known what became of one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from acklog.wire.batch import DedupKey, encode_batch, encode_plain_batch
from acklog.wire.problems import ProblemCode
from app.calls.send import Records
from app.gateway.batching.batch_numbers import NO_NUMBER, BatchNumber, BatchNumbers
from app.gateway.batching.coalescer import ANY_PARTITION, Destination
from app.gateway.batching.flight import Flight, MappingOverError
from app.gateway.routing import PartitionLeaders, Try
from cluster.errors import ServerError
from storage.rpc.messages import ANY_MAPPING, ProduceRequest, ProduceResponse
from storage.rpc.node_api import NodeApi
from storage.rpc.producer_epoch import ProducerEpoch

DECOMMISSIONED_RETRY_MS = 100

AppendCall = Callable[[NodeApi, ProduceRequest], Awaitable[ProduceResponse]]


def seen_at_once(node: NodeApi, request: ProduceRequest) -> Awaitable[ProduceResponse]:
    """Messages that are there as soon as they are stored."""
    return node.produce(request)


def seen_later(node: NodeApi, request: ProduceRequest) -> Awaitable[ProduceResponse]:
    """Messages that wait for their time."""
    return node.schedule(request)


class Appends(Protocol):
    """Makes batches and has them appended; each batch is handed over once."""

    def encode(
        self, records: Records, *, payload: bytes | None = None, keys: list[DedupKey] | None = None
    ) -> bytearray:
        """As `acklog.wire.batch.encode_batch` or, for plain records, `encode_plain_batch`."""
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
        producer: ProducerEpoch | None = None,
        call: AppendCall = seen_at_once,
    ) -> ProduceResponse:
        """`mapping` and `producer` as in ProduceRequest. Raises ServerError: OUTCOME_UNKNOWN if the batch may be
        stored, else why it is not; MappingOverError where another partition would take it."""
        ...

    def begin(self, flight: Flight) -> None:
        """As `append`; the flight is told in a later turn what became of it."""
        ...

    def destination(self, topic_id: str, partition: int) -> Destination:
        """What batches of this partition, or of ANY_PARTITION, share a way with."""
        ...


class _Tasks:
    """Appends that are waited for by a task each."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, flight: Flight, appends: Appends) -> None:
        task = asyncio.get_running_loop().create_task(_wait_for(flight, appends))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _wait_for(flight: Flight, appends: Appends) -> None:
    try:
        response = await appends.append(
            flight.topic_id,
            flight.partition,
            flight.batch,
            flight.acks,
            deadline_ms=flight.deadline_ms,
            mapping=flight.mapping,
        )
    except BaseException as error:
        flight.failed(error)
        if not isinstance(error, ServerError):
            raise
    else:
        flight.stored(response)


class NumberedAppends:
    """Of a gateway that reaches its nodes over connections. Every batch has a number, so the same bytes are sent again,
    to whoever leads then, while the outcome is unknown and there is time."""

    def __init__(self, leaders: PartitionLeaders, numbers: BatchNumbers) -> None:
        self._leaders = leaders
        self._numbers = numbers
        self._tasks = _Tasks()

    def encode(
        self, records: Records, *, payload: bytes | None = None, keys: list[DedupKey] | None = None
    ) -> bytearray:
        return _encode(records, payload=payload, keys=keys, number=self._numbers.next())

    async def append(
        self,
        topic_id: str,
        partition: int,
        batch: bytearray,
        acks: int,
        *,
        deadline_ms: int,
        mapping: int = ANY_MAPPING,
        producer: ProducerEpoch | None = None,
        call: AppendCall = seen_at_once,
    ) -> ProduceResponse:
        async def append(node: NodeApi, attempt: Try) -> ProduceResponse:
            remaining_ms, is_retry = attempt
            return await call(
                node, ProduceRequest(topic_id, partition, batch, acks, remaining_ms, is_retry, mapping, producer)
            )

        try:
            return await self._leaders.change(topic_id, partition, append, deadline_ms=deadline_ms)
        except ServerError as error:
            raise _told_to_client(error, mapping) from None

    def begin(self, flight: Flight) -> None:
        self._tasks.start(flight, self)

    def destination(self, topic_id: str, partition: int) -> Destination:
        """Messages without a key wait for those of their topic only: whoever leads what they go to is one of many."""
        return topic_id if partition == ANY_PARTITION else self._leaders.leader_of(topic_id, partition)


class LocalAppends:
    """Of a gateway whose only node is in its own process: no answer is ever lost on the way."""

    def __init__(self, leaders: PartitionLeaders) -> None:
        self._leaders = leaders
        self._tasks = _Tasks()

    def encode(
        self, records: Records, *, payload: bytes | None = None, keys: list[DedupKey] | None = None
    ) -> bytearray:
        return _encode(records, payload=payload, keys=keys)

    async def append(
        self,
        topic_id: str,
        partition: int,
        batch: bytearray,
        acks: int,
        *,
        deadline_ms: int,
        mapping: int = ANY_MAPPING,
        producer: ProducerEpoch | None = None,
        call: AppendCall = seen_at_once,
    ) -> ProduceResponse:
        def append(node: NodeApi, remaining_ms: int) -> Awaitable[ProduceResponse]:
            return call(
                node, ProduceRequest(topic_id, partition, batch, acks, remaining_ms, mapping=mapping, producer=producer)
            )

        try:
            return await self._leaders.change_once_in_time(topic_id, partition, append, deadline_ms=deadline_ms)
        except ServerError as error:
            raise _told_to_client(error, mapping) from None

    def begin(self, flight: Flight) -> None:
        """Without a task, unless it has to wait for something: that would be half of what a small append costs."""
        remaining_ms = self._leaders.remaining_ms(flight.deadline_ms)
        try:
            node = self._leaders.node_that_leads(flight.topic_id, flight.partition)
            if node is not None and remaining_ms > 0:
                flight.begun(self._ended_badly)
                place = flight.topic_id, flight.partition
                request = ProduceRequest(*place, flight.batch, flight.acks, remaining_ms, mapping=flight.mapping)
                if node.begin_produce(request, flight):
                    return
        except ServerError:
            pass  # nothing was done: the task waits until it can be, or finds the same error
        self._tasks.start(flight, self)

    def destination(self, topic_id: str, partition: int) -> Destination:
        """One disk stores everything."""
        return 0

    def _ended_badly(self, flight: Flight, error: BaseException) -> None:
        """What the node says of a flight that it had begun with; what was not done after all is tried again."""
        if isinstance(error, ServerError):
            if self._leaders.is_undone(error):
                self._tasks.start(flight, self)
                return
            error = _told_to_client(error, flight.mapping)
        asyncio.get_running_loop().call_soon(flight.failed, error)


def _encode(
    records: Records, *, payload: bytes | None, keys: list[DedupKey] | None, number: BatchNumber = NO_NUMBER
) -> bytearray:
    producer_id, producer_epoch, base_sequence = number
    if isinstance(records[0], tuple):
        return encode_plain_batch(
            records,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
        )
    return encode_batch(
        records,
        payload=payload,
        keys=keys,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )


def _told_to_client(error: ServerError, mapping: int) -> ServerError:
    if error.code is ProblemCode.OUTCOME_UNKNOWN:
        detail = "the message was not confirmed within the deadline; it may be stored all the same"
        return ServerError(ProblemCode.OUTCOME_UNKNOWN, detail, retry_after_ms=error.retry_after_ms)
    if error.code in {ProblemCode.PARTITION_DECOMMISSIONED, ProblemCode.MESSAGE_EXPIRED}:
        # The leader has heard of it before this gateway, which chooses another one from the next moment on.
        detail = "the partition has just been decommissioned, and the message is not stored: send it again"
        kind = ServerError if mapping == ANY_MAPPING else MappingOverError
        return kind(ProblemCode.UNAVAILABLE, detail, retry_after_ms=DECOMMISSIONED_RETRY_MS)
    if error.code is ProblemCode.CONFLICT and mapping != ANY_MAPPING:
        return MappingOverError(error.code, error.detail, retry_after_ms=error.retry_after_ms)
    return error
