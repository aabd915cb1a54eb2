"""Work through the SDK, as a backend does it: a producer, single sends and a consumer over all gateways. Whatever any
of them raises ends the work, and fails the test."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

import acklog
from acklog.consumer.async_consumer import AsyncConsumer
from acklog.producer.delivery import AsyncDelivery
from app.demo.scene import transport_to
from app.demo.spread_transport import SpreadTransport
from tests.support.real_cluster import RealCluster
from tests.support.waiting import poll_until

GROUP = "sdk"
PARTITIONS = 4
KEYS = 20
PRODUCED_AHEAD_MAX = 200
PATIENCE_S = 120


class SdkLoad:
    """Made by `sdk_load` and `client_load`."""

    def __init__(self, client: acklog.AsyncClient, topic: str, group: str) -> None:
        self.confirmed: set[int] = set()
        self.handled: Counter[int] = Counter()
        self.placed: list[tuple[int, int, int]] = []
        """Number, partition and offset of what the producer was told, in the order in which it was sent."""
        self._client = client
        self._topic = topic
        self._group = group
        self._numbers = count()
        self._stop = asyncio.Event()

    async def run(self) -> None:
        async with (
            asyncio.TaskGroup() as tasks,
            self._client.consumer(self._topic, group=self._group) as consumer,
        ):
            tasks.create_task(self._consume(consumer))
            sending = [asyncio.create_task(self._produce()), asyncio.create_task(self._send_singly())]
            try:
                await asyncio.gather(*sending)
                await poll_until(self._is_all_handled, seconds=PATIENCE_S, what="everything handled")
            finally:
                for task in sending:
                    task.cancel()
                consumer.stop()

    def stop(self) -> None:
        """No new messages; `run` returns when all are handled."""
        self._stop.set()

    async def _is_all_handled(self) -> bool:
        return self.confirmed <= self.handled.keys()

    async def _consume(self, consumer: AsyncConsumer) -> None:
        async def handle(message: acklog.Message) -> None:
            self.handled[message.body["number"]] += 1

        await consumer.run(handle, concurrency=2)

    async def _produce(self) -> None:
        """Keyed messages in the background, some on their way at any time."""
        waiting: list[tuple[int, AsyncDelivery]] = []
        async with self._client.producer(self._topic, batch_messages_max=20) as producer:
            while not self._stop.is_set():
                number = next(self._numbers)
                waiting.append((number, await producer.send({"number": number}, key=f"key-{number % KEYS}")))
                if len(waiting) >= PRODUCED_AHEAD_MAX:
                    await self._confirm(waiting.pop(0))
            for each in waiting:
                await self._confirm(each)

    async def _confirm(self, waiting: tuple[int, AsyncDelivery]) -> None:
        number, delivery = waiting
        sent = await delivery
        assert sent.offset is not None
        self.confirmed.add(number)
        self.placed.append((number, sent.partition, sent.offset))

    async def _send_singly(self) -> None:
        while not self._stop.is_set():
            number = next(self._numbers)
            await self._client.send(self._topic, {"number": number}, idempotency_key=f"single-{number}")
            self.confirmed.add(number)


@asynccontextmanager
async def sdk_load(cluster: RealCluster, topic: str) -> AsyncIterator[SdkLoad]:
    """On a new topic. At the block's end everything that was sent is handled."""
    transports = [transport_to(url) for url in cluster.gateway_urls]
    transport = SpreadTransport(transports, asyncio.get_running_loop().time)
    async with (
        acklog.AsyncClient(cluster.gateway_urls[0], transport=transport) as client,
        client_load(client, topic, GROUP) as load,
    ):
        yield load


@asynccontextmanager
async def client_load(client: acklog.AsyncClient, topic: str, group: str) -> AsyncIterator[SdkLoad]:
    """The same by one client, with a group of its own."""
    await client.topics.create(topic, partitions=PARTITIONS)
    await client.groups.create(group)
    load = SdkLoad(client, topic, group)
    async with asyncio.TaskGroup() as tasks:  # which ends the block at once where the work fails
        tasks.create_task(load.run(), name="work through the SDK")
        yield load
        load.stop()
