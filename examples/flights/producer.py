"""Producers: a key belongs to one of them, and each sends one batch after the other, so every key keeps its order."""

import asyncio
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from examples.flights.client import AcklogClient, ItemResult, RequestRefusedError, Retrying, ServerAwayError
from examples.flights.message import Message
from examples.flights.send_ledger import SendLedger
from examples.flights.work import Work

QUEUED_BATCHES_MAX = 2

BatchQueue = asyncio.Queue[list[Message] | None]


def producer_of(message: Message, producers: int) -> int:
    """Which producer sends it: by key; those without a key take turns."""
    if message.key is None:
        return message.index % producers
    return zlib.crc32(message.key.encode()) % producers


async def distribute(
    messages: Iterator[Message], ledger: SendLedger, queues: Sequence[BatchQueue], *, batch_size: int
) -> None:
    """Plan every message and hand it to its producer, in batches; None ends each queue."""
    open_batches: list[list[Message]] = [[] for _ in queues]
    for message in messages:
        ledger.planned(message.index, message.key, message.digest)
        number = producer_of(message, len(queues))
        batch = open_batches[number]
        batch.append(message)
        if len(batch) == batch_size:
            open_batches[number] = []
            await queues[number].put(batch)
    for queue, batch in zip(queues, open_batches, strict=True):
        if batch:
            await queue.put(batch)
        await queue.put(None)


@dataclass(slots=True)
class Producer:
    """`name` is unique over all runs against one topic: it makes the idempotency keys."""

    name: str
    topic: str
    client: AcklogClient
    ledger: SendLedger
    work: Work

    async def run(self, batches: BatchQueue) -> None:
        number = 0
        while (batch := await batches.get()) is not None:
            await self._send(batch, f"{self.name}-{number}")
            number += 1

    async def _send(self, batch: list[Message], idempotency_key: str) -> None:
        """Until every message is acknowledged. An unknown outcome is repeated whole under the same key, so nothing is
        stored twice; the next batch waits, so nothing overtakes."""
        lines = b"\n".join([message.line for message in batch])
        retrying = Retrying()
        while True:
            try:
                results = await self.client.send(self.topic, lines, idempotency_key)
                _require_all_stored(results, len(batch))
                break
            except ServerAwayError as error:
                await retrying.pause_after(error)
        for message, result in zip(batch, results, strict=True):
            self.ledger.stored(message.index, result.partition, result.offset)
        self.work.add_sent(len(batch))


def _require_all_stored(results: list[ItemResult], count: int) -> None:
    if len(results) != count:
        raise RequestRefusedError(f"{len(results)} results for {count} messages")
    faults = [result for result in results if result.code]
    for fault in faults:
        if not fault.retriable:
            raise RequestRefusedError(f"a message was refused: {fault.code}: {fault.detail}")
    if faults:
        raise ServerAwayError(f"{len(faults)} of {count} messages failed: {faults[0].code}: {faults[0].detail}")
