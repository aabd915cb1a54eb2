"""What an exclusive group costs its consumers when one comes, goes or dies: how much moves, and for how long it stands.

    python -m loadtests.rebalance [--partitions 100] [--consumers 10] [--json]

A server with an empty directory. Every partition gets a message per tick, and each consumer is a loop of plain HTTP
calls: receive, acknowledge. The gap of a partition is the longest time in which nothing of it was received. "must move"
is what no assignment could leave where it is: what the one who goes had, or the share of the one who comes.
"""

import asyncio
import json
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import aiohttp
import typer

import acklog
from loadtests.bench_server import acklog_server
from loadtests.plan import Cpus

TOPIC = "orders"
GROUP = "workers"
TICK_S = 0.1
"""Between two messages of a partition."""
SESSION_MS = 6_000
SETTLE_S = 4.0
WINDOW_S = 5.0
RECEIVE = {"queue": TOPIC, "group": GROUP, "mode": "exclusive", "max": "100", "waitSeconds": "5"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Seconds. `moved_s` and `stayed_s` are the longest gaps of any such partition."""

    what: str
    moves: int
    must_move: int
    stayed_s: float
    moved_s: float


class Consumers:
    """`received` has, by partition, when something of it came."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.received: dict[int, list[float]] = {}
        self._session = session
        self._url = url
        self._running: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[str] = set()

    def start(self, name: str) -> None:
        self._running[name] = asyncio.create_task(self._consume(name))

    async def stop(self, name: str) -> None:
        """It finishes what it has, and says that it goes."""
        self._leaving.add(name)
        await self._running.pop(name)
        async with self._session.delete(f"{self._url}/groups/{GROUP}/members/{name}") as answer:
            answer.raise_for_status()

    async def kill(self, name: str) -> None:
        """In the middle of whatever it does."""
        task = self._running.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def kill_all(self) -> None:
        for name in list(self._running):
            await self.kill(name)

    async def owners(self) -> dict[int, str]:
        async with self._session.get(f"{self._url}/groups/{GROUP}/members") as answer:
            members = (await answer.json())["members"]
        return {owned["partition"]: member["member"] for member in members for owned in member["assignment"]}

    async def _consume(self, name: str) -> None:
        while name not in self._leaving:
            async with self._session.get(f"{self._url}/messages", params={**RECEIVE, "consumer": name}) as answer:
                answer.raise_for_status()
                messages = (await answer.json())["messages"]
            now = time.perf_counter()
            for partition in {message["partition"] for message in messages}:
                self.received.setdefault(partition, []).append(now)
            if messages:
                receipts = {"receipts": [message["receipt"] for message in messages]}
                async with self._session.post(f"{self._url}/ack", json=receipts) as answer:
                    answer.raise_for_status()

    def gap_s(self, partition: int, begin: float, end: float) -> float:
        """The longest, from the last message before `begin` to the last one until `end`."""
        times = [at for at in self.received.get(partition, []) if at <= end]
        before = [at for at in times if at < begin][-1:]
        seen = [*(before or [begin]), *(at for at in times if at >= begin), end]
        return max(later - earlier for earlier, later in pairwise(seen))


async def _send(client: acklog.AsyncClient, partitions: int) -> None:
    number = 0
    due = time.perf_counter()
    while True:
        number += 1
        messages = [acklog.OutgoingMessage(number, partition=partition) for partition in range(partitions)]
        await client.send_many(TOPIC, messages)
        due += TICK_S
        await asyncio.sleep(max(0.0, due - time.perf_counter()))


class Rebalances:
    """One group through all that may happen to it."""

    def __init__(self, consumers: Consumers, partitions: int, members: int) -> None:
        self._consumers = consumers
        self._partitions = partitions
        self._members = members

    async def run(self) -> list[Outcome]:
        names = [f"c{number}" for number in range(self._members)]
        for name in names:
            self._consumers.start(name)
        await asyncio.sleep(SETTLE_S)
        outcomes = [await self._outcome("undisturbed", self._nothing, WINDOW_S, 0)]
        share = self._partitions // (self._members + 1)
        outcomes.append(await self._outcome("one comes", self._one_comes, WINDOW_S, share))
        owners = await self._consumers.owners()
        outcomes.append(
            await self._outcome(
                "one leaves", lambda: self._consumers.stop(names[0]), WINDOW_S, _count(owners, names[0])
            )
        )
        owners = await self._consumers.owners()
        outcomes.append(
            await self._outcome(
                "one is killed",
                lambda: self._consumers.kill(names[1]),
                SESSION_MS / 1000 + WINDOW_S,
                _count(owners, names[1]),
            )
        )
        return outcomes

    async def _nothing(self) -> None:
        pass

    async def _one_comes(self) -> None:
        self._consumers.start("late")

    async def _outcome(self, what: str, happen: Any, window_s: float, must_move: int) -> Outcome:
        before, begin = await self._consumers.owners(), time.perf_counter()
        await happen()
        await asyncio.sleep(window_s)
        after, end = await self._consumers.owners(), time.perf_counter()
        moved = {partition for partition in before if before[partition] != after.get(partition)}
        gaps = {partition: self._consumers.gap_s(partition, begin, end) for partition in range(self._partitions)}
        stayed = max([gap for partition, gap in gaps.items() if partition not in moved], default=0.0)
        return Outcome(
            what,
            len(moved),
            must_move,
            round(stayed, 3),
            round(max([gaps[partition] for partition in moved], default=0.0), 3),
        )


def _count(owners: dict[int, str], name: str) -> int:
    return sum(1 for owner in owners.values() if owner == name)


def main(
    partitions: Annotated[int, typer.Option(min=2, max=1_000)] = 100,
    consumers: Annotated[int, typer.Option(min=2, max=100)] = 10,
    as_json: Annotated[bool, typer.Option("--json")] = False,
) -> None:
    """Seconds; the longest gap of any partition."""
    outcomes = asyncio.run(_measure(partitions, consumers))
    if as_json:
        typer.echo(json.dumps([asdict(outcome) for outcome in outcomes], indent=2))
        return
    typer.echo(f"{'':<15}{'moves':>7}{'must':>6}{'gap, staying':>14}{'gap, moved':>12}")
    for each in outcomes:
        typer.echo(f"{each.what:<15}{each.moves:>7}{each.must_move:>6}{each.stayed_s:>13.3f}s{each.moved_s:>11.3f}s")


async def _measure(partitions: int, members: int) -> list[Outcome]:
    with tempfile.TemporaryDirectory(prefix="acklog-rebalance-") as directory:
        async with (
            acklog_server(Path(directory), Cpus(None, None)) as server,
            acklog.AsyncClient(server.url) as client,
            aiohttp.ClientSession() as session,
        ):
            await client.topics.create(TOPIC, partitions=partitions)
            await client.groups.create(GROUP, mode="exclusive", session_timeout_ms=SESSION_MS)
            sending = asyncio.create_task(_send(client, partitions))
            consumers = Consumers(session, server.url)
            try:
                return await Rebalances(consumers, partitions, members).run()
            finally:
                await consumers.kill_all()
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)


if __name__ == "__main__":
    typer.run(main)
