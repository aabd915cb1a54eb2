"""What an exclusive group costs its consumers when one comes, goes, dies or falls silent: how much moves, and for how
long it stands.

    python -m loadtests.rebalance [--partitions 100] [--consumers 10] [--tolerance 0.5] [--json] [--plot FILE.svg]

A server with an empty directory. Every partition gets a message per tick, and each consumer is a loop of plain HTTP
calls: receive, acknowledge. The gap of a partition is the longest time in which nothing of it was received. "must move"
is what no assignment could leave where it is: what the one who goes had, or the share of the one who comes. Who is
killed or falls silent is a process of its own: SIGKILL ends it, SIGSTOP leaves its connection there, and nobody at it.
"""

import asyncio
import json
import signal
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import aiohttp
import typer

import acklog
from loadtests.bench_server import acklog_server
from loadtests.plan import Cpus
from loadtests.plots import draw_gaps
from loadtests.rebalance_consumer import consumer_process, receive_and_ack
from loadtests.rebalance_result import Outcome, problems_of

TOPIC = "orders"
GROUP = "workers"
TICK_S = 0.1
"""Between two messages of a partition."""
SESSION_MS = 6_000
SETTLE_S = 4.0
WINDOW_S = 5.0
PATIENCE_S = 30.0
MORTAL = ("mortal-1", "mortal-2")


class Consumers:
    """`received` has, by partition, when something of it came."""

    def __init__(self, session: aiohttp.ClientSession, url: str, processes: AsyncExitStack) -> None:
        self.received: dict[int, list[float]] = {}
        self._session = session
        self._url = url
        self._stack = processes
        self._running: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._leaving: set[str] = set()

    def start(self, name: str) -> None:
        self._running[name] = asyncio.create_task(self._consume(name))

    async def start_process(self, name: str) -> None:
        process = await self._stack.enter_async_context(consumer_process(self._url, TOPIC, GROUP, name))
        self._processes[name] = process
        self._running[name] = asyncio.create_task(self._listen(process))

    async def stop(self, name: str) -> None:
        """It finishes what it has, and says that it goes."""
        self._leaving.add(name)
        await self._running.pop(name)
        async with self._session.delete(f"{self._url}/groups/{GROUP}/members/{name}") as answer:
            answer.raise_for_status()

    def signal(self, name: str, number: signal.Signals) -> None:
        """To its process, in the middle of whatever it does."""
        self._processes[name].send_signal(number)

    async def end(self) -> None:
        for task in self._running.values():
            task.cancel()
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def owners(self) -> dict[int, str]:
        async with self._session.get(f"{self._url}/groups/{GROUP}/members") as answer:
            members = (await answer.json())["members"]
        return {owned["partition"]: member["member"] for member in members for owned in member["assignment"]}

    async def _consume(self, name: str) -> None:
        while name not in self._leaving:
            await receive_and_ack(self._session, self._url, TOPIC, GROUP, name, note=self._note)

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            self._note({int(each) for each in line.split()})

    def _note(self, partitions: set[int]) -> None:
        now = time.perf_counter()
        for partition in partitions:
            self.received.setdefault(partition, []).append(now)

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
        names = [f"c{number}" for number in range(self._members - len(MORTAL))]
        for name in MORTAL:
            await self._consumers.start_process(name)
        for name in names:
            self._consumers.start(name)
        await self._until_shared()
        await asyncio.sleep(SETTLE_S)
        outcomes = [await self._outcome("undisturbed", self._nothing, must_move=0)]
        share = self._partitions // (self._members + 1)
        outcomes.append(await self._outcome("one comes", self._one_comes, must_move=share))
        leaves = await self._held_by(names[0])
        outcomes.append(await self._outcome("one leaves", lambda: self._consumers.stop(names[0]), must_move=leaves))
        for what, name, number in zip(
            ("one is killed", "one falls silent"), MORTAL, (signal.SIGKILL, signal.SIGSTOP), strict=True
        ):
            held = await self._held_by(name)
            outcomes.append(
                await self._outcome(
                    what,
                    lambda name=name, number=number: self._signal(name, number),  # type: ignore[misc]
                    must_move=held,
                    allowed_s=SESSION_MS / 1000,
                )
            )
        return outcomes

    async def _until_shared(self) -> None:
        deadline = time.perf_counter() + PATIENCE_S
        while len(set((await self._consumers.owners()).values())) < self._members:
            if time.perf_counter() > deadline:
                raise TimeoutError("not all consumers have joined")
            await asyncio.sleep(0.1)

    async def _nothing(self) -> None:
        pass

    async def _one_comes(self) -> None:
        self._consumers.start("late")

    async def _signal(self, name: str, number: signal.Signals) -> None:
        self._consumers.signal(name, number)

    async def _held_by(self, name: str) -> int:
        return list((await self._consumers.owners()).values()).count(name)

    async def _outcome(
        self, what: str, happen: Callable[[], Awaitable[None]], *, must_move: int, allowed_s: float = 0.0
    ) -> Outcome:
        before, begin = await self._consumers.owners(), time.perf_counter()
        await happen()
        await asyncio.sleep(WINDOW_S + allowed_s)
        after, end = await self._consumers.owners(), time.perf_counter()
        moved = {partition for partition in before if before[partition] != after.get(partition)}
        gaps = {
            partition: round(self._consumers.gap_s(partition, begin, end), 3) for partition in range(self._partitions)
        }
        return Outcome(
            what,
            must_move,
            allowed_s,
            {partition: gap for partition, gap in gaps.items() if partition not in moved},
            {partition: gaps[partition] for partition in sorted(moved)},
        )


def main(
    partitions: Annotated[int, typer.Option(min=2, max=1_000)] = 100,
    consumers: Annotated[int, typer.Option(min=4, max=100)] = 10,
    tolerance_s: Annotated[float, typer.Option("--tolerance", min=0.0, help="Of gaps, in seconds.")] = 0.5,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    plot: Annotated[Path | None, typer.Option(help="Of the gaps, as SVG.")] = None,
) -> None:
    """Seconds; the longest gap of any partition. Exit code 1 where more moves than must, or stands for longer than by
    the group's session timeout and the tolerance, on top of the longest gap of a group that is left alone."""
    outcomes = asyncio.run(_measure(partitions, consumers))
    if plot is not None:
        draw_gaps(outcomes, plot)
    if as_json:
        typer.echo(json.dumps([asdict(outcome) for outcome in outcomes], indent=2))
    else:
        typer.echo(f"{'':<17}{'moves':>7}{'must':>6}{'gap, staying':>14}{'gap, moved':>12}")
        for each in outcomes:
            gaps = f"{each.longest_stayed_s:>13.3f}s{each.longest_moved_s:>11.3f}s"
            typer.echo(f"{each.what:<17}{len(each.moved_s):>7}{each.must_move:>6}{gaps}")
    problems = problems_of(outcomes, tolerance_s=tolerance_s)
    for problem in problems:
        typer.echo(problem, err=True)
    raise typer.Exit(1 if problems else 0)


async def _measure(partitions: int, members: int) -> list[Outcome]:
    with tempfile.TemporaryDirectory(prefix="acklog-rebalance-") as directory:
        async with (
            acklog_server(Path(directory), Cpus(None, None)) as server,
            acklog.AsyncClient(server.url) as client,
            aiohttp.ClientSession() as session,
            AsyncExitStack() as processes,
        ):
            await client.topics.create(TOPIC, partitions=partitions)
            await client.groups.create(GROUP, mode="exclusive", session_timeout_ms=SESSION_MS)
            sending = asyncio.create_task(_send(client, partitions))
            consumers = Consumers(session, server.url, processes)
            try:
                return await Rebalances(consumers, partitions, members).run()
            finally:
                await consumers.end()
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)


if __name__ == "__main__":
    typer.run(main)
