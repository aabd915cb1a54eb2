"""So many messages a second through the SDK, evenly, each accounted for: sent, stored, handled."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count, pairwise

import acklog
from acklog.consumer.async_consumer import AsyncConsumer
from acklog.producer.delivery import AsyncDelivery
from tests.support.waiting import poll_until

GROUP = "workers"
PARTITIONS = 6
TICK_S = 0.02
PATIENCE_S = 120


class SteadyLoad:
    """Made by `steady_load`."""

    def __init__(self, client: acklog.AsyncClient, topic: str, *, per_second: int) -> None:
        self.confirmed: set[int] = set()
        self.handled: Counter[int] = Counter()
        self.failed: list[str] = []
        self._client = client
        self._topic = topic
        self._per_tick = max(1, round(per_second * TICK_S))
        self._numbers = count()
        self._stop = asyncio.Event()
        self._confirmed_at: dict[int, list[float]] = defaultdict(list)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks, self._client.consumer(self._topic, group=GROUP) as consumer:
            tasks.create_task(self._consume(consumer))
            try:
                await self._send()
                await poll_until(self._is_all_handled, seconds=PATIENCE_S, what="everything handled")
            finally:
                consumer.stop()

    def stop(self) -> None:
        """No new messages; `run` returns when all are handled."""
        self._stop.set()

    async def progress(self, count: int) -> None:
        """Until so many more are confirmed, or one has failed."""
        goal = len(self.confirmed) + count

        async def is_reached() -> bool:
            return len(self.confirmed) >= goal or bool(self.failed)

        await poll_until(is_reached, seconds=PATIENCE_S, what=f"{count} more confirmed")

    def longest_gaps_s(self) -> dict[int, float]:
        """By partition: for how long no message was confirmed, at most."""
        return {
            partition: max((later - earlier for earlier, later in pairwise(times)), default=0.0)
            for partition, times in sorted((each, sorted(found)) for each, found in self._confirmed_at.items())
        }

    async def _is_all_handled(self) -> bool:
        return self.confirmed <= self.handled.keys()

    async def _consume(self, consumer: AsyncConsumer) -> None:
        async def handle(message: acklog.Message) -> None:
            self.handled[message.body["number"]] += 1

        await consumer.run(handle, concurrency=4)

    async def _send(self) -> None:
        loop = asyncio.get_running_loop()
        waiting: set[asyncio.Task[None]] = set()
        async with self._client.producer(self._topic) as producer:
            due_s = loop.time()
            while not self._stop.is_set():
                for _ in range(self._per_tick):
                    number = next(self._numbers)
                    delivery = await producer.send({"number": number}, key=f"key-{number % 60}")
                    task = asyncio.create_task(self._confirm(number, delivery))
                    waiting.add(task)
                    task.add_done_callback(waiting.discard)
                due_s += TICK_S
                await asyncio.sleep(max(0.0, due_s - loop.time()))
            await producer.flush()
        await asyncio.gather(*waiting)

    async def _confirm(self, number: int, delivery: AsyncDelivery) -> None:
        try:
            sent = await delivery
        except acklog.AcklogError as error:
            self.failed.append(repr(error))
            return
        self.confirmed.add(number)
        self._confirmed_at[sent.partition].append(asyncio.get_running_loop().time())


@asynccontextmanager
async def steady_load(url: str, topic: str, *, per_second: int, ca_file: str | None) -> AsyncIterator[SteadyLoad]:
    """On a new topic. At the block's end everything that was sent is handled. `ca_file` is for a URL of https."""
    async with acklog.AsyncClient(url, ca_file=ca_file) as client:
        await client.topics.create(topic, partitions=PARTITIONS)
        await client.groups.create(GROUP)
        load = SteadyLoad(client, topic, per_second=per_second)
        running = asyncio.create_task(load.run(), name="steady load")
        try:
            yield load
            load.stop()
            await running
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
