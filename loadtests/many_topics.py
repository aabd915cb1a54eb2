"""What topics cost a server that nobody uses.

    python -m loadtests.many_topics [--topics 1000] [--partitions 8] [--seconds 30]

One server, a process, on a directory of its own. The topics are made one after the other, and the newest takes a
message at once; the server is stopped and started again, nothing happens for a while, metrics are asked for. Counted
are the seconds that pass, and those of processor time that the server takes.
"""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import aiohttp
import typer

from app.local_cluster.server_process import ServerProcess, acklog_command, free_port
from loadtests.process_usage import MIB, usage_of

SETTLE_S = 5.0
SCRAPES = 20
START_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class Spent:
    elapsed_s: float
    cpu_s: float

    def rounded(self) -> "Spent":
        return Spent(round(self.elapsed_s, 2), round(self.cpu_s, 2))


class ManyTopics:
    """Figures of one server, in the order in which they come about."""

    def __init__(self, server: ServerProcess, session: aiohttp.ClientSession, *, topics: int, partitions: int) -> None:
        self._server = server
        self._session = session
        self._topics = topics
        self._partitions = partitions

    async def make(self) -> None:
        for number in range(self._topics):
            await self._ask("PUT", f"/topics/t{number}", {"partitions": self._partitions})

    async def send_to_newest(self) -> None:
        await self._ask("POST", "/messages", {"queue": f"t{self._topics - 1}", "body": "first"})

    async def scrape(self) -> float:
        """How long it took, in the median, in seconds."""
        times_s = []
        for _ in range(SCRAPES):
            began_s = time.monotonic()
            await self._ask("GET", "/metrics")
            times_s.append(time.monotonic() - began_s)
        return statistics.median(times_s)

    async def spent(self, act: Callable[[], Awaitable[object]]) -> Spent:
        began_s, before_s = time.monotonic(), usage_of(self._server.pid).cpu_s
        await act()
        return Spent(time.monotonic() - began_s, usage_of(self._server.pid).cpu_s - before_s).rounded()

    async def start(self) -> Spent:
        elapsed_s = await self._server.start()
        return Spent(elapsed_s, usage_of(self._server.pid).cpu_s).rounded()

    async def stop(self) -> float:
        began_s = time.monotonic()
        await self._server.stop()
        return round(time.monotonic() - began_s, 2)

    async def _ask(self, method: str, path: str, body: object = None) -> None:
        async with self._session.request(method, self._server.url + path, json=body) as answer:
            await answer.read()
            answer.raise_for_status()


async def measure(topics: int, partitions: int, seconds: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="acklog-many-topics-") as directory:
        port = free_port()
        command = acklog_command(port=port, data_dir=Path(directory) / "data")
        server = ServerProcess(command, port, Path(directory) / "server.log", ready_timeout_s=START_TIMEOUT_S)
        timeout = aiohttp.ClientTimeout(total=START_TIMEOUT_S)
        try:
            async with aiohttp.ClientSession(timeout=timeout) as session:
                return await _measure(
                    server, ManyTopics(server, session, topics=topics, partitions=partitions), seconds
                )
        finally:
            await server.stop()


async def _measure(server: ServerProcess, many: ManyTopics, seconds: float) -> dict[str, object]:
    await server.start()
    made = await many.spent(many.make)
    sent = await many.spent(many.send_to_newest)
    stopped_s = await many.stop()
    started = await many.start()
    await asyncio.sleep(SETTLE_S)
    idle = await many.spent(lambda: asyncio.sleep(seconds))
    scrape_s = await many.scrape()
    resident_bytes = usage_of(server.pid).resident_bytes
    return {
        "topics are made": asdict(made),
        "the newest takes a message": asdict(replace(sent, elapsed_s=round(sent.elapsed_s, 3))),
        "the server stops, seconds": stopped_s,
        "it starts": asdict(started),
        "idle, share of a core": round(idle.cpu_s / idle.elapsed_s, 4),
        "metrics, milliseconds": round(scrape_s * 1000, 1),
        "memory, MiB": round(resident_bytes / MIB),
    }


def main(
    topics: Annotated[int, typer.Option(min=1, max=10_000)] = 1_000,
    partitions: Annotated[int, typer.Option(min=1, max=64)] = 8,
    seconds: Annotated[float, typer.Option(min=1, max=600, help="How long nothing happens.")] = 30.0,
) -> None:
    """Figures as JSON."""
    typer.echo(json.dumps(asyncio.run(measure(topics, partitions, seconds)), indent=2))


if __name__ == "__main__":
    typer.run(main)
