"""How many messages per second the SDK's producers and consumers do, against a server on the same machine.

    python -m loadtests.sdk_rates [--seconds 5] [--only async-producer] [--no-keys]

Each run starts a server with an empty data directory, works for so many seconds with default settings, and counts what
was confirmed: messages of 100 bytes, durable before they count. CPU is what both processes used in that time.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import acklog
from examples.server_process import ServerProcess, acklog_command, free_port
from loadtests.process_usage import usage_of

BODY = "x" * 98  # 100 bytes as JSON
KEYS = [f"customer-{number}" for number in range(1000)]
TOPIC = "rates"


@dataclass(frozen=True, slots=True)
class Rate:
    """`seconds` until the last of `messages` was confirmed, and the CPU that this process used meanwhile."""

    messages: int
    seconds: float
    cpu_seconds: float

    @property
    def per_second(self) -> float:
        return self.messages / self.seconds


def measured(work: Callable[[float], int], seconds: float) -> Rate:
    """`work` is given when to stop, and returns how many messages it did."""
    import aiohttp  # noqa: F401 - what the first request would import; it is no part of a rate

    started, cpu = time.perf_counter(), time.process_time()
    messages = work(started + seconds)
    return Rate(messages, time.perf_counter() - started, time.process_time() - cpu)


def keys_of(number: int, *, has_keys: bool) -> list[str | None]:
    return list(KEYS[:number]) if has_keys else [None] * number


def async_producer(url: str, seconds: float, keys: list[str | None]) -> Rate:
    async def produce(deadline: float) -> int:
        count = 0
        async with acklog.AsyncClient(url) as client, client.producer(TOPIC) as producer:
            while time.perf_counter() < deadline:
                for key in keys:
                    await producer.send(BODY, key=key)
                count += len(keys)
        return count

    return measured(lambda deadline: asyncio.run(produce(deadline)), seconds)


def sync_producer(url: str, seconds: float, keys: list[str | None]) -> Rate:
    def produce(deadline: float) -> int:
        count = 0
        with acklog.Client(url) as client, client.producer(TOPIC) as producer:
            while time.perf_counter() < deadline:
                for key in keys:
                    producer.send(BODY, key=key)
                count += len(keys)
        return count

    return measured(produce, seconds)


def async_consumer(url: str, seconds: float, keys: list[str | None]) -> Rate:
    fill(url, seconds, keys)

    async def consume(deadline: float) -> int:
        count = 0
        async with acklog.AsyncClient(url) as client, client.consumer(TOPIC, group="rates") as consumer:
            async for message in consumer:
                async with message:
                    count += 1
                if count % 1000 == 0 and time.perf_counter() > deadline:
                    break
        return count

    return measured(lambda deadline: asyncio.run(consume(deadline)), seconds)


def sync_consumer(url: str, seconds: float, keys: list[str | None]) -> Rate:
    fill(url, seconds, keys)

    def consume(deadline: float) -> int:
        count = 0
        with acklog.Client(url) as client, client.consumer(TOPIC, group="rates") as consumer:
            for message in consumer:
                with message:
                    count += 1
                if count % 1000 == 0 and time.perf_counter() > deadline:
                    break
        return count

    return measured(consume, seconds)


def fill(url: str, seconds: float, keys: list[str | None]) -> None:
    """More messages than a consumer can do in that time."""
    with acklog.Client(url) as client, client.producer(TOPIC) as producer:
        for _ in range(int(seconds * 120_000) // len(keys)):
            for key in keys:
                producer.send(BODY, key=key)


RUNS: dict[str, Callable[[str, float, list[str | None]], Rate]] = {
    "async-producer": async_producer,
    "sync-producer": sync_producer,
    "async-consumer": async_consumer,
    "sync-consumer": sync_consumer,
}


async def with_server(work: Callable[[ServerProcess], Awaitable[None]]) -> None:
    with tempfile.TemporaryDirectory(prefix="acklog-rates-") as directory:
        port = free_port()
        command = acklog_command(port=port, data_dir=Path(directory) / "data")
        server = ServerProcess(command, port, Path(directory) / "server.log")
        await server.start()
        try:
            await work(server)
        finally:
            await server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--only", choices=RUNS, action="append")
    parser.add_argument("--no-keys", action="store_true")
    options = parser.parse_args()
    keys = keys_of(len(KEYS), has_keys=not options.no_keys)
    for name in options.only or RUNS:

        async def run(server: ServerProcess, name: str = name) -> None:
            before = usage_of(server.pid).cpu_s
            rate = await asyncio.to_thread(RUNS[name], server.url, options.seconds, keys)
            server_cpu = usage_of(server.pid).cpu_s - before
            here, there = 1e6 * rate.cpu_seconds / rate.messages, 1e6 * server_cpu / rate.messages
            cpu = f"CPU per message {here:.2f} µs, the server's {there:.2f} µs"
            print(f"{name:15} {rate.per_second:10,.0f} messages/s; {cpu}", flush=True)

        asyncio.run(with_server(run))


if __name__ == "__main__":
    main()
