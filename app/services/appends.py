"""Batches on their way to the log: how they are made, and what is done while it is not known what became of one."""

from typing import Protocol

from acklog.wire.batch import DedupKey, encode_batch, encode_plain_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import PlainRecord, Record
from app.batching.batch_numbers import BatchNumbers
from app.routing import PartitionLeaders, Try
from cluster.errors import AcklogError
from storage.rpc.messages import ProduceRequest, ProduceResponse
from storage.rpc.node_api import NodeApi

DECOMMISSIONED_RETRY_MS = 100


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
        self, topic_id: str, partition: int, batch: bytearray, acks: int, *, deadline_ms: int
    ) -> ProduceResponse:
        """Raises AcklogError: OUTCOME_UNKNOWN if the batch may be stored, else why it is not."""
        ...


class NumberedAppends:
    """Of a gateway that reaches its nodes over connections. Every batch has a number, so the same bytes are sent again,
    to whoever leads then, while the outcome is unknown and there is time."""

    def __init__(self, leaders: PartitionLeaders, numbers: BatchNumbers) -> None:
        self._leaders = leaders
        self._numbers = numbers

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
        self, topic_id: str, partition: int, batch: bytearray, acks: int, *, deadline_ms: int
    ) -> ProduceResponse:
        async def produce(node: NodeApi, attempt: Try) -> ProduceResponse:
            remaining_ms, is_retry = attempt
            return await node.produce(ProduceRequest(topic_id, partition, batch, acks, remaining_ms, is_retry))

        try:
            return await self._leaders.change(topic_id, partition, produce, deadline_ms=deadline_ms)
        except AcklogError as error:
            raise _told_to_client(error) from None


class LocalAppends:
    """Of a gateway whose only node is in its own process: no answer is ever lost on the way."""

    encode = staticmethod(encode_batch)
    encode_plain = staticmethod(encode_plain_batch)

    def __init__(self, leaders: PartitionLeaders) -> None:
        self._leaders = leaders

    async def append(
        self, topic_id: str, partition: int, batch: bytearray, acks: int, *, deadline_ms: int
    ) -> ProduceResponse:
        try:
            return await self._leaders.change_once_in_time(
                topic_id,
                partition,
                lambda node, remaining_ms: node.produce(
                    ProduceRequest(topic_id, partition, batch, acks=acks, timeout_ms=remaining_ms)
                ),
                deadline_ms=deadline_ms,
            )
        except AcklogError as error:
            raise _told_to_client(error) from None


def _told_to_client(error: AcklogError) -> AcklogError:
    if error.code is ProblemCode.OUTCOME_UNKNOWN:
        detail = "the message was not confirmed within the deadline; it may be stored all the same"
        return AcklogError(ProblemCode.OUTCOME_UNKNOWN, detail, retry_after_ms=error.retry_after_ms)
    if error.code is ProblemCode.PARTITION_DECOMMISSIONED:
        # The leader has heard of it before this gateway, which chooses another one from the next moment on.
        detail = "the partition has just been decommissioned, and the message is not stored: send it again"
        return AcklogError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=DECOMMISSIONED_RETRY_MS)
    return error
