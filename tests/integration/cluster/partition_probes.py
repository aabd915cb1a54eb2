"""Sends to each partition of a topic again and again, and when they were acknowledged."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import aiohttp

INTERVAL_S = 0.2
IN_FLIGHT_MAX = 20
"""Of one partition; while so many wait for an answer, no further one is sent."""

REQUEST_TIMEOUT_S = 15.0
LOST = (aiohttp.ClientError, TimeoutError, ConnectionError)


class PartitionProbes:
    """Each send is tried at the other gateways, too, when one cannot be reached."""

    def __init__(self, gateway_urls: Sequence[str], topic: str, partitions: int) -> None:
        self.successes_s: dict[int, list[float]] = {number: [] for number in range(partitions)}
        self.failures = 0
        self._urls = list(gateway_urls)
        self._topic = topic
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        timeout = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_S)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector) as self._session:
            tasks = [asyncio.create_task(self._probe(number)) for number in self.successes_s]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _probe(self, partition: int) -> None:
        under_way: set[asyncio.Task[None]] = set()
        turn = partition
        try:
            while True:
                if len(under_way) < IN_FLIGHT_MAX:
                    turn += 1
                    task = asyncio.create_task(self._send(partition, turn))
                    under_way.add(task)
                    task.add_done_callback(under_way.discard)
                await asyncio.sleep(INTERVAL_S)
        finally:
            for task in under_way:
                task.cancel()

    async def _send(self, partition: int, turn: int) -> None:
        assert self._session is not None
        document = {"queue": self._topic, "body": turn, "partition": partition}
        for step in range(len(self._urls)):
            url = self._urls[(turn + step) % len(self._urls)]
            try:
                async with self._session.post(f"{url}/messages", json=document) as answer:
                    await answer.read()
                    if answer.status == 201:
                        self.successes_s[partition].append(time.monotonic())
                        return
            except LOST:
                continue  # a probe that may be stored twice hurts nobody
            self.failures += 1
            return
        self.failures += 1
