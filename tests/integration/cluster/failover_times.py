"""`python -m tests.integration.cluster.failover_times`: how long partitions are without a leader when its node is
killed.

Three nodes, two gateways and a single etcd (data in memory) on this machine. Right after `kill -9` of a node one
message goes to each partition that it led, with acks=all; its time is from the kill to the acknowledgement, and a
gateway that is told no or nothing tries again within it. The partitions of the other nodes are sent to as well.
"""

import asyncio
import contextlib
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import aiohttp
import msgspec
import typer
from rich.console import Console
from rich.table import Table

from app.local_cluster.etcd_program import cache_directory, find_etcd
from tests.integration.cluster.gateways import Gateways
from tests.integration.cluster.partition_watch import PartitionWatch
from tests.sim.history import History
from tests.support.etcd_store import etcd_store
from tests.support.real_cluster import RealCluster, RealClusterOptions, running_real_cluster

TOPIC = "failover"
SETTLED_PATIENCE_S = 300
ANSWER_PATIENCE_S = 60
PAUSE_S = 0.01
LOST = (aiohttp.ClientError, TimeoutError, ConnectionError)


@dataclass(frozen=True, slots=True)
class Times:
    """Of the partitions that one killed node led, in milliseconds from the kill to the acknowledgement, rising."""

    node: int
    led: list[float]
    others: list[float]

    @property
    def summary(self) -> dict[str, float]:
        return {
            "partitions": len(self.led),
            "medianMs": median(self.led),
            "p99Ms": self.led[int(0.99 * (len(self.led) - 1))],
            "worstMs": self.led[-1],
            "othersMedianMs": median(self.others),
            "othersWorstMs": self.others[-1],
        }


async def measure(etcd_program: Path, directory: Path, *, partitions: int, kills: int) -> list[Times]:
    options = RealClusterOptions(etcd_members=1)
    async with running_real_cluster(directory, etcd_program, options) as cluster:
        gateways = Gateways(cluster.gateway_urls)
        answer = await asyncio.to_thread(gateways.request, "PUT", f"/topics/{TOPIC}", {"partitions": partitions})
        assert answer.status == 201, answer
        store = etcd_store(*cluster.etcd.endpoints)
        watch = PartitionWatch(store, TOPIC, History())
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=ANSWER_PATIENCE_S)
        try:
            async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
                return [await _kill_one(cluster, watch, session) for _ in range(kills)]
        finally:
            await store.close()


async def _kill_one(cluster: RealCluster, watch: PartitionWatch, session: aiohttp.ClientSession) -> Times:
    async with asyncio.timeout(SETTLED_PATIENCE_S):
        await watch.until_in_sync(len(cluster.nodes))
    victim = await watch.busiest_leader()
    leaders = {state.partition: state.leader for state in await watch.states()}
    # Once beforehand, so that connections are there, as they are in service.
    await asyncio.gather(*(_acknowledged(cluster, session, partition) for partition in leaders))
    killed_s = time.monotonic()
    await cluster.nodes[victim].kill()
    ended_s = await asyncio.gather(*(_acknowledged(cluster, session, partition) for partition in leaders))
    times_ms = {partition: (end_s - killed_s) * 1000 for partition, end_s in zip(leaders, ended_s, strict=True)}
    await cluster.nodes[victim].start()
    return Times(
        victim,
        sorted(times_ms[partition] for partition, leader in leaders.items() if leader == victim),
        sorted(times_ms[partition] for partition, leader in leaders.items() if leader != victim),
    )


async def _acknowledged(cluster: RealCluster, session: aiohttp.ClientSession, partition: int) -> float:
    """When a message to the partition was."""
    urls = cluster.gateway_urls
    document = {"queue": TOPIC, "body": partition, "partition": partition}
    while True:
        with contextlib.suppress(*LOST):
            async with session.post(f"{urls[partition % len(urls)]}/messages", json=document) as answer:
                await answer.read()
                if answer.status == 201:
                    return time.monotonic()
        await asyncio.sleep(PAUSE_S)


def main(
    partitions: Annotated[int, typer.Option(min=3, max=1024)] = 1000,
    kills: Annotated[int, typer.Option(min=1, max=100)] = 3,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the numbers there.")] = None,
    etcd_program: Annotated[str | None, typer.Option(envvar="TESTS_ETCD", help="The etcd to run.")] = None,
) -> None:
    console = Console()
    program = find_etcd(cache_directory(os.environ), named=etcd_program)
    with tempfile.TemporaryDirectory(prefix="acklog-failover-") as directory:
        found = asyncio.run(measure(program, Path(directory), partitions=partitions, kills=kills))
    table = Table("killed", title="From kill -9 of a node to the next acknowledged send (acks=all), in ms")
    for heading in ("partitions", "median", "99 %", "worst", "other partitions: median", "worst"):
        table.add_column(heading, justify="right")
    for each in found:
        table.add_row(f"node {each.node}", *(f"{value:,.0f}" for value in each.summary.values()))
    console.print(table)
    if json_file is not None:
        rows = [{"node": each.node, **each.summary} for each in found]
        json_file.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=2) + b"\n")


if __name__ == "__main__":
    typer.run(main)
