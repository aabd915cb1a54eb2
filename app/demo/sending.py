"""The producer: hands every message over, and waits for the confirmation of each."""

import asyncio

from acklog.client.async_client import AsyncClient
from acklog.producer.async_producer import AsyncProducer
from acklog.producer.delivery import AsyncDelivery
from app.demo.input_file import FlightFile
from app.demo.options import TOPIC, Options
from app.demo.pace import Pace
from app.demo.send_ledger import SendLedger
from app.demo.work import Work

CHUNK_MESSAGES = 200
CHUNKS_WAITING_MAX = 100
PACED_MESSAGES = 20  # few, so that also a trickle reaches every partition all the time

_Chunk = list[tuple[int, AsyncDelivery]]


class Sending:
    """One producer. It keeps the order of each key, sends what was cut off again under the same idempotency key, and
    holds `produce` back while the server is away: nothing of that is done here."""

    def __init__(self, client: AsyncClient, source: FlightFile, ledger: SendLedger, work: Work, pace: Pace) -> None:
        self._client = client
        self._source = source
        self._ledger = ledger
        self._work = work
        self._pace = pace

    async def run(self, options: Options) -> None:
        """Until every message is confirmed. Raises AcklogError for one that cannot be delivered, InputError."""
        waiting: asyncio.Queue[_Chunk | None] = asyncio.Queue(CHUNKS_WAITING_MAX)
        async with (
            self._client.producer(
                TOPIC,
                batch_messages_max=options.batch_size,
                backoff_max_ms=options.backoff_max_ms,
                close_timeout_ms=round(options.stop_timeout_s * 1000),
            ) as producer,
            asyncio.TaskGroup() as tasks,
        ):
            producing = tasks.create_task(self._produce(producer, options.messages, waiting))
            await asyncio.gather(producing, tasks.create_task(self._confirm(waiting)))

    async def _produce(self, producer: AsyncProducer, count: int, waiting: "asyncio.Queue[_Chunk | None]") -> None:
        chunk: _Chunk = []
        for message in self._source.messages(count):
            self._ledger.planned(message.index, message.key, message.digest)
            delivery = await producer.send(message.body, key=message.key, tags=message.tags)
            chunk.append((message.index, delivery))
            if len(chunk) == CHUNK_MESSAGES:
                await waiting.put(chunk)
                chunk = []
            if (message.index + 1) % PACED_MESSAGES == 0 and (
                pause_s := self._pace.pause_s(message.index, PACED_MESSAGES)
            ):
                await asyncio.sleep(pause_s)
        await waiting.put(chunk)
        await waiting.put(None)

    async def _confirm(self, waiting: "asyncio.Queue[_Chunk | None]") -> None:
        while (chunk := await waiting.get()) is not None:
            for index, delivery in chunk:
                sent = await delivery
                assert sent.offset is not None, "with acks=all an offset is known"
                self._ledger.stored(index, sent.partition, sent.offset)
                self._work.add_sent(1)
