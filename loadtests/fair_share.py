"""How long messages of quiet keys wait beside a noisy one, in groups that are fair among keys and in one that is not.

    python -m loadtests.fair_share [--seconds 20] [--rounds 3]

A server with an empty directory; a topic with one partition; quiet keys that send at a rate of their own each, and one
key at ten times of all of them together, which is more than the consumers do. How long a message waited is from before
it was sent until a consumer has it; what is left when the time is up counts as if it came then. The variants take
turns, each with a topic of its own. `alone` is without the noisy key: as good as it can get. `one key` is the other
end: as many messages, all of one key and there before, received and acknowledged in batches; nobody else waits, so
fairness may cost processor time and nothing else.
"""

import asyncio
import json
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

import acklog
from examples.latencies import percentile
from loadtests.bench_server import acklog_server
from loadtests.plan import Cpus

QUIET_KEYS = 10
QUIET_RATE = 3.0
"""Of each of them, per second."""
NOISY_FACTOR = 10
"""Messages of the noisy key for one of all the others together."""
CONSUMERS = 12
WORK_S = 0.1
"""What a consumer does with a message: together they do 120 of 330 in a second."""
TICK_S = 0.05
NOISY = "noisy"
ONE_KEY_MESSAGES = 40_000
BATCH = 1_000
VARIANTS = {"plain": ({}, True), "fair by key": ({"fair_by": "key"}, True), "alone": ({}, False)}


@dataclass(slots=True)
class Waits:
    """Seconds that messages waited, of the quiet keys and of the noisy one."""

    quiet: list[float] = field(default_factory=list)
    noisy: list[float] = field(default_factory=list)


class Round:
    """One variant, once."""

    def __init__(self, client: acklog.AsyncClient, topic: str, *, is_noisy: bool) -> None:
        self._client = client
        self._topic = topic
        self._is_noisy = is_noisy
        self._open: dict[int, tuple[str, float]] = {}
        self._sent = 0
        self.waits = Waits()

    async def run(self, settings: dict[str, Any], seconds: float) -> Waits:
        await self._client.topics.create(self._topic, partitions=1)
        await self._client.groups.create(self._topic, **settings)
        until = time.perf_counter() + seconds
        await asyncio.gather(self._send(until), *[self._consume(until) for _ in range(CONSUMERS)])
        now = time.perf_counter()
        for key, sent_at in self._open.values():
            self._came(key, now - sent_at)
        return self.waits

    async def _send(self, until: float) -> None:
        began = time.perf_counter()
        quiet = noisy = 0
        while (now := time.perf_counter()) < until:
            due = int((now - began) * QUIET_RATE * QUIET_KEYS)
            keys = [f"quiet-{number % QUIET_KEYS}" for number in range(quiet, due)]
            quiet = due
            if self._is_noisy:
                keys += [NOISY] * (due * NOISY_FACTOR - noisy)
                noisy = due * NOISY_FACTOR
            if keys:
                await self._client.send_many(self._topic, [self._message(key, now) for key in keys])
            await asyncio.sleep(TICK_S)

    def _message(self, key: str, now: float) -> acklog.OutgoingMessage:
        self._sent += 1
        self._open[self._sent] = (key, now)
        return acklog.OutgoingMessage(self._sent, key=key)

    async def _consume(self, until: float) -> None:
        while time.perf_counter() < until:
            received = await self._client.receive(self._topic, group=self._topic, max_messages=1, wait_s=1)
            for message in received:
                key, sent_at = self._open.pop(int(message.body), ("", 0.0))
                if key:
                    self._came(key, time.perf_counter() - sent_at)
                await asyncio.sleep(WORK_S)
                await self._client.ack(message.receipt)

    def _came(self, key: str, waited_s: float) -> None:
        (self.waits.noisy if key == NOISY else self.waits.quiet).append(waited_s)


async def one_key(client: acklog.AsyncClient, topic: str, settings: dict[str, Any]) -> float:
    """Messages per second."""
    await client.topics.create(topic, partitions=1)
    await client.groups.create(topic, **settings)
    for _ in range(ONE_KEY_MESSAGES // BATCH):
        await client.send_many(topic, [acklog.OutgoingMessage("x" * 98, key=NOISY)] * BATCH)
    began = time.perf_counter()
    left = ONE_KEY_MESSAGES
    while left:
        received = await client.receive(topic, group=topic, max_messages=BATCH, wait_s=1)
        await client.ack([message.receipt for message in received])
        left -= len(received)
    return ONE_KEY_MESSAGES / (time.perf_counter() - began)


def main(
    seconds: Annotated[float, typer.Option(min=2, max=120, help="How long each variant.")] = 20,
    rounds: Annotated[int, typer.Option(min=1, max=20)] = 3,
) -> None:
    """Medians of the rounds, in milliseconds and messages per second."""
    typer.echo(json.dumps(asyncio.run(_measure(seconds, rounds)), indent=2))


async def _measure(seconds: float, rounds: int) -> dict[str, Any]:
    figures: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="acklog-fair-") as directory:
        async with acklog_server(Path(directory), Cpus(None, None)) as server, acklog.AsyncClient(server.url) as client:
            for turn in range(rounds):
                for name, (settings, is_noisy) in VARIANTS.items():
                    topic = f"{name.replace(' ', '-')}-{turn}"
                    waits = await Round(client, topic, is_noisy=is_noisy).run(settings, seconds)
                    quiet = sorted(waits.quiet)
                    for part in (50, 99):
                        figures.setdefault(f"{name}: quiet keys p{part}, ms", []).append(percentile(quiet, part) * 1e3)
                for name, settings in {"plain": {}, "fair by key": {"fair_by": "key"}}.items():
                    rate = await one_key(client, f"one-key-{name.replace(' ', '-')}-{turn}", settings)
                    figures.setdefault(f"{name}: one key, messages/s", []).append(rate)
    return {name: round(median(values), 1) for name, values in figures.items()}


if __name__ == "__main__":
    typer.run(main)
