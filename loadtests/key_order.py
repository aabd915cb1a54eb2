"""Order by key under load: many keys of very different volume, consumers that fail and die, a server that is killed.

    python -m loadtests.key_order [--messages 1000000] [--keys 10000] [--restarts 3] [--consumer-kills 20] [--rounds 1]
                                  [--stuck 500000]

A server with an empty directory. `rates` drains the same topic with shared groups and with key-ordered ones by turns,
without faults: what order costs. `order` drains it with another key-ordered group, while consumers give back, forget
what they hold, are killed in the middle of whatever they do (their connections end, and nothing is settled), and the
server is killed; every answer is held against what was acknowledged before it (`KeyLedger`).
`stuck` puts messages of one key in front of others, lets a consumer hold the first of them, and measures how long the
messages of the others wait, beside the same without a stuck key, and what the server's memory is.
"""

import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

import acklog
from examples.latencies import percentile
from examples.server_process import ServerProcess
from loadtests.bench_server import acklog_server
from loadtests.key_ledger import KeyLedger
from loadtests.plan import Cpus
from loadtests.process_usage import MIB, usage_of

TOPIC = "orders"
PARTITIONS = 8
BATCH = 1_000
RECEIVED_AT_ONCE = 100
VISIBILITY_S = 5.0
NACKED_SHARE = 0.01
FORGOTTEN_SHARE = 0.002
"""Of the answers: their consumer dies with them, and they run out."""
QUIET_KEYS = 50
QUIET_RATE = 100.0
"""Of all of them together, per second."""
SEED = 7

Numbered = tuple[str, int]


def zipf_messages(count: int, keys: int) -> list[Numbered]:
    """The key of rank r has one message for r of the first one's, in any order; numbered by key."""
    chosen = random.Random(SEED).choices(
        range(keys), cum_weights=list(accumulate(1 / (rank + 1) for rank in range(keys))), k=count
    )
    counts: Counter[int] = Counter()
    numbered = []
    for key in chosen:
        numbered.append((f"k{key}", counts[key]))
        counts[key] += 1
    return numbered


async def send_all(client: acklog.AsyncClient, topic: str, messages: list[Numbered]) -> None:
    """One batch after the other, so that the log has each key's messages in their order."""
    for start in range(0, len(messages), BATCH):
        batch = [acklog.OutgoingMessage(number, key=key) for key, number in messages[start : start + BATCH]]
        await client.send_many(topic, batch)


def numbered(message: acklog.Message) -> Numbered:
    return str(message.key), int(message.body)


async def drain(client: acklog.AsyncClient, group: str, count: int, consumers: int) -> float:
    """Messages per second."""
    left = count

    async def consume() -> None:
        nonlocal left
        while left > 0:
            received = await client.receive(TOPIC, group=group, max_messages=RECEIVED_AT_ONCE, wait_s=0.2)
            if received:
                settled = await client.ack(list(received))
                left -= sum(each.error is None for each in settled)

    began = time.perf_counter()
    await asyncio.gather(*[consume() for _ in range(consumers)])
    return count / (time.perf_counter() - began)


async def rates(client: acklog.AsyncClient, count: int, consumers: int, rounds: int) -> dict[str, Any]:
    """Medians over the rounds, also of the ratio of the two."""
    rounded: dict[str, list[float]] = {"shared": [], "keyOrdered": []}
    for number in range(rounds):
        for mode, measured in rounded.items():
            group = f"{mode}-{number}"
            await client.groups.create(group, mode=mode)
            measured.append(await drain(client, group, count, consumers))
    ratios = [ordered / shared for shared, ordered in zip(*rounded.values(), strict=True)]
    return {
        **{mode: round(median(measured)) for mode, measured in rounded.items()},
        "ratio": round(median(ratios), 2),
        "ratios": [round(ratio, 2) for ratio in ratios],
    }


class Chaos:
    """Consumers of a key-ordered group that do not do what they should, each with connections of its own."""

    def __init__(self, url: str, group: str, ledger: KeyLedger) -> None:
        self._url = url
        self._group = group
        self._ledger = ledger
        self._random = random.Random(SEED)
        self.counts: Counter[str] = Counter()

    async def run(self, consumers: int, *, kills: int) -> None:
        """Until everything is done; who is killed has a successor."""
        running = [asyncio.create_task(self._consume()) for _ in range(consumers)]
        total = sum(self._ledger.sent.values())
        for number in range(kills):
            while self._ledger.done_count < total * (number + 1) / (kills + 1):
                await asyncio.sleep(0.02)
            victim = self._random.randrange(consumers)
            running[victim].cancel()
            await asyncio.gather(running[victim], return_exceptions=True)
            self.counts["consumers killed"] += 1
            running[victim] = asyncio.create_task(self._consume())
        await asyncio.gather(*running)

    async def _consume(self) -> None:
        """Where it is cancelled, its connections end with whatever was under way on them."""
        async with acklog.AsyncClient(self._url) as client:
            await self._consume_by(client)

    async def _consume_by(self, client: acklog.AsyncClient) -> None:
        while not self._ledger.is_done:
            try:
                received = await client.receive(
                    TOPIC, group=self._group, max_messages=RECEIVED_AT_ONCE, wait_s=1, visibility_s=VISIBILITY_S
                )
                messages = list(received)
                self._ledger.delivered([numbered(message) for message in messages])
                await self._settle(client, messages)
            except acklog.AcklogError:
                self.counts["errors"] += 1
                await asyncio.sleep(0.2)

    async def _settle(self, client: acklog.AsyncClient, messages: list[acklog.Message]) -> None:
        if self._random.random() < FORGOTTEN_SHARE:
            self.counts["answers forgotten"] += 1
            return
        failed: dict[str, acklog.Message] = {}
        done: list[acklog.Message] = []
        for message in messages:
            key = str(message.key)
            if key not in failed and self._random.random() < NACKED_SHARE:
                failed[key] = message
            if key not in failed:
                done.append(message)
        for message in done:  # from here on it may be done, whatever becomes of the call
            self._ledger.settled(*numbered(message))
        if done:
            results = await client.ack(done)
            self.counts["late acknowledgements"] += sum(result.error is not None for result in results)
        if failed:
            self.counts["nacks"] += len(failed)
            await client.nack(list(failed.values()), delay_s=0.1)


async def order(
    client: acklog.AsyncClient,
    server: ServerProcess,
    messages: list[Numbered],
    *,
    consumers: int,
    restarts: int,
    consumer_kills: int,
) -> dict[str, Any]:
    await client.groups.create("order", mode="keyOrdered", max_attempts=1000)
    ledger = KeyLedger(dict(Counter(key for key, _ in messages)))
    chaos = Chaos(server.url, "order", ledger)
    began = time.perf_counter()

    async def kill() -> None:
        for number in range(restarts):
            while ledger.done_count < len(messages) * (number + 1) / (restarts + 1):
                await asyncio.sleep(0.1)
            await server.kill()
            await server.start()

    await asyncio.gather(kill(), chaos.run(consumers, kills=consumer_kills))
    seconds = time.perf_counter() - began
    progress = await client.groups.offsets("order")
    return {
        "violations": len(ledger.violations),
        "first violations": ledger.violations[:5],
        "deliveries": ledger.deliveries,
        "given out again after an acknowledgement that may have failed": ledger.again,
        "left undone": progress.lag,
        "messages/s": round(len(messages) / seconds),
        **chaos.counts,
    }


async def stuck(client: acklog.AsyncClient, pid: int, count: int, seconds: float) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, in_front in (("without", 0), ("behind a stuck key", count)):
        topic = f"stuck-{in_front}"
        await client.topics.create(topic, partitions=1)
        await client.groups.create(topic, mode="keyOrdered")
        await send_all(client, topic, [("stuck", number) for number in range(in_front)])
        if in_front:
            await client.receive(topic, group=topic, max_messages=1, visibility_s=3600)
        before = usage_of(pid).resident_bytes
        began = time.perf_counter()
        await send_all(client, topic, [("quiet-0", 0)])
        await _receive_some(client, topic)
        figures[f"{name}: first message of another key after, ms"] = round((time.perf_counter() - began) * 1e3, 1)
        waits = sorted(await _quiet_waits(client, topic, seconds))
        figures |= {f"{name}: p{part} of others, ms": round(percentile(waits, part) * 1e3, 1) for part in (50, 99)}
        figures[f"{name}: memory more than before, MiB"] = round((usage_of(pid).resident_bytes - before) / MIB, 1)
    return figures


async def _receive_some(client: acklog.AsyncClient, topic: str) -> None:
    while not (received := await client.receive(topic, group=topic, max_messages=10, wait_s=5)):
        pass
    await client.ack(list(received))


async def _quiet_waits(client: acklog.AsyncClient, topic: str, seconds: float) -> list[float]:
    sent_at: dict[Numbered, float] = {}
    waits: list[float] = []
    until = time.perf_counter() + seconds

    async def send() -> None:
        for number in range(int(seconds * QUIET_RATE)):
            key = f"quiet-{number % QUIET_KEYS}"
            sent_at[key, number] = time.perf_counter()
            await client.send(topic, number, key=key)
            await asyncio.sleep(1 / QUIET_RATE)

    async def consume() -> None:
        while time.perf_counter() < until or sent_at:
            received = await client.receive(topic, group=topic, max_messages=10, wait_s=0.5)
            now = time.perf_counter()
            waits.extend(now - sent_at.pop(numbered(message)) for message in received)
            if received:
                await client.ack(list(received))

    await asyncio.gather(send(), *[consume() for _ in range(4)])
    return waits


def main(
    messages: Annotated[int, typer.Option(min=1_000)] = 100_000,
    keys: Annotated[int, typer.Option(min=10)] = 10_000,
    consumers: Annotated[int, typer.Option(min=1, max=64)] = 16,
    restarts: Annotated[int, typer.Option(min=0, max=20)] = 3,
    consumer_kills: Annotated[int, typer.Option(min=0, max=1_000)] = 20,
    rounds: Annotated[int, typer.Option(min=1, max=20, help="Of the rates.")] = 1,
    stuck_messages: Annotated[int, typer.Option("--stuck", min=0, help="0: none.")] = 50_000,
    seconds: Annotated[float, typer.Option(min=2, help="How long others are measured beside a stuck key.")] = 10,
) -> None:
    """Figures as JSON; exit code 1 where order was violated or something is left undone."""
    chaos = {"consumers": consumers, "restarts": restarts, "consumer_kills": consumer_kills}
    figures = asyncio.run(_measure(messages, keys, chaos, rounds, stuck_messages, seconds))
    typer.echo(json.dumps(figures, indent=2))
    raise typer.Exit(1 if figures["order"]["violations"] or figures["order"]["left undone"] else 0)


async def _measure(
    count: int, keys: int, chaos: dict[str, int], rounds: int, stuck_messages: int, seconds: float
) -> dict[str, Any]:
    messages = zipf_messages(count, keys)
    with tempfile.TemporaryDirectory(prefix="acklog-keys-") as directory:
        async with acklog_server(Path(directory), Cpus(None, None)) as server, acklog.AsyncClient(server.url) as client:
            await client.topics.create(TOPIC, partitions=PARTITIONS)
            await send_all(client, TOPIC, messages)
            return {
                "rates": await rates(client, count, chaos["consumers"], rounds),
                "order": await order(client, server, messages, **chaos),
                "stuck": await stuck(client, server.pid, stuck_messages, seconds) if stuck_messages else {},
            }


if __name__ == "__main__":
    typer.run(main)
