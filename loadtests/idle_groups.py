"""What exclusive groups cost etcd while nothing happens to them.

    python -m loadtests.idle_groups [--groups 1000] [--seconds 60]

A local cluster of three nodes, a gateway and etcd, each a process. First nothing is there; then so many groups with a
member each, whose heartbeats wait at the server as the SDK's do. Counted is what etcd says of itself: `puts` and
`deletes` of keys, `proposals` of its log (leases that are granted or revoked, too), and what it was asked to read. Exit
code 1 where the groups cost writes: more a second than without them, by more than the tolerance.
"""

import asyncio
import json
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import aiohttp
import typer

import acklog
from app.local_cluster.cluster_process import Kind
from loadtests.cluster_under_test import ClusterUnderTest, cluster_under_test

TOPIC = "orders"
PARTITIONS = 8
AT_ONCE = 50
WAIT_S = 20
SETTLE_S = 5.0
COUNTED = {
    "etcd_debugging_mvcc_put_total": "puts",
    "etcd_debugging_mvcc_delete_total": "deletes",
    "etcd_server_proposals_committed_total": "proposals",
    "etcd_debugging_mvcc_range_total": "reads",
}
WRITES = ("puts", "deletes", "proposals")


def counts_in(metrics: str) -> dict[str, float]:
    """Of etcd's metrics, those that are of interest."""
    found: dict[str, float] = {}
    for line in metrics.splitlines():
        name, _, value = line.partition(" ")
        if name in COUNTED:
            found[COUNTED[name]] = float(value)
    if missing := COUNTED.values() - found.keys():
        raise LookupError(f"etcd says nothing of {sorted(missing)}")
    return found


@dataclass(frozen=True, slots=True)
class Cost:
    """What etcd did in a second, without groups and with them."""

    nothing: dict[str, float]
    idle: dict[str, float]

    def problems(self, tolerance: float) -> list[str]:
        return [
            f"{self.idle[name]:.2f} {name} a second, and {self.nothing[name]:.2f} without groups"
            for name in WRITES
            if self.idle[name] > self.nothing[name] + tolerance
        ]


class Idle:
    """Members, one a group, of which nothing is asked."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url
        self._few = asyncio.Semaphore(AT_ONCE)
        self.joined = 0
        self.answers = 0
        """Heartbeats that came to their end."""

    async def join(self, group: str) -> int:
        async with self._few:
            await self._call("PUT", f"/groups/{group}", {"mode": "exclusive"})
            return int((await self._call("PUT", f"/groups/{group}/members/only", {"topics": [TOPIC]}))["memberEpoch"])

    async def stay(self, group: str) -> None:
        """From its first heartbeat on: it is not to be silent while others join."""
        epoch = await self.join(group)
        self.joined += 1
        while True:
            beat = {"memberEpoch": epoch, "waitSeconds": WAIT_S}
            epoch = int((await self._call("POST", f"/groups/{group}/members/only/heartbeat", beat))["memberEpoch"])
            self.answers += 1

    async def _call(self, method: str, path: str, document: dict[str, Any]) -> Any:
        async with self._session.request(method, f"{self._url}{path}", json=document) as answer:
            if not answer.ok:
                raise RuntimeError(f"{method} {path}: {answer.status}: {await answer.text()}")
            return await answer.json()


async def measure(cluster: ClusterUnderTest, groups: int, seconds: float) -> tuple[Cost, int]:
    """And how many heartbeats were answered meanwhile."""
    url = cluster.gateway.url
    [etcd] = cluster.cluster.of_kind(Kind.ETCD)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(acklog.AsyncClient(url))
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector, timeout=timeout))

        async def counts() -> dict[str, float]:
            async with session.get(f"http://127.0.0.1:{etcd.process.port}/metrics") as answer:
                return counts_in(await answer.text())

        async def rates() -> dict[str, float]:
            before = await counts()
            await asyncio.sleep(seconds)
            after = await counts()
            return {name: round((after[name] - before[name]) / seconds, 3) for name in before}

        await client.topics.create(TOPIC, partitions=PARTITIONS)
        idle = Idle(session, url)
        await idle.join("first")  # makes the topic __groups
        await asyncio.sleep(SETTLE_S)
        nothing = await rates()
        staying = [asyncio.create_task(idle.stay(f"group-{number}")) for number in range(groups)]
        try:
            while idle.joined < groups:
                _raise_of(staying)
                await asyncio.sleep(0.2)
            await asyncio.sleep(SETTLE_S)
            answered = idle.answers
            cost = Cost(nothing, await rates())
            _raise_of(staying)
            return cost, idle.answers - answered
        finally:
            for task in staying:
                task.cancel()
            await asyncio.gather(*staying, return_exceptions=True)


def _raise_of(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        if task.done():
            task.result()


def main(
    groups: Annotated[int, typer.Option(min=1, max=100_000)] = 1_000,
    seconds: Annotated[float, typer.Option(min=1)] = 60.0,
    tolerance: Annotated[float, typer.Option(min=0, help="Of writes a second.")] = 0.5,
) -> None:
    """Figures as JSON, a second."""
    cost, heartbeats = asyncio.run(_measure(groups, seconds))
    figures = {"without groups": cost.nothing, f"{groups} idle groups": cost.idle, "heartbeats answered": heartbeats}
    typer.echo(json.dumps(figures, indent=2))
    problems = cost.problems(tolerance)
    for problem in problems:
        typer.echo(problem, err=True)
    raise typer.Exit(1 if problems else 0)


async def _measure(groups: int, seconds: float) -> tuple[Cost, int]:
    with tempfile.TemporaryDirectory(prefix="acklog-idle-groups-") as directory:
        async with cluster_under_test(Path(directory), nodes=3, gateways=1) as cluster:
            return await measure(cluster, groups, seconds)


if __name__ == "__main__":
    typer.run(main)
