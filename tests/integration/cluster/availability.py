"""`python -m tests.integration.cluster.availability`: how available a cluster is while one thing after the other fails.

Three nodes, two gateways and three members of etcd on this machine. For each phase of the schedule, the share of
one-second windows, per partition, in which a send with acks=all was acknowledged. etcd's data lies in memory.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from app.local_cluster.etcd_program import cache_directory, find_etcd
from tests.integration.cluster.availability_windows import Availability, Phase, availability_of
from tests.integration.cluster.gateways import Gateways
from tests.integration.cluster.partition_probes import PartitionProbes
from tests.integration.cluster.partition_watch import PartitionWatch
from tests.sim.history import History
from tests.support.cuttable_network import Cut
from tests.support.etcd_store import etcd_store
from tests.support.real_cluster import RealCluster, running_real_cluster

TOPIC = "availability"
WIDTH = 120


@dataclass(frozen=True, slots=True)
class Scene:
    cluster: RealCluster
    watch: PartitionWatch


@dataclass(frozen=True, slots=True)
class Fault:
    """`strike` returns what undoes it. The phase lasts `hold_s`, then the undoing, then `rest_s`."""

    name: str
    strike: Callable[[Scene], Awaitable[Callable[[], Awaitable[None]]]]
    hold_s: float
    rest_s: float


async def _nothing(_scene: Scene) -> Callable[[], Awaitable[None]]:
    return _done


async def _done() -> None:
    pass


async def _kill_leader(scene: Scene) -> Callable[[], Awaitable[None]]:
    node = scene.cluster.nodes[await scene.watch.busiest_leader()]
    await node.kill()
    return lambda: _start(node.start)


async def _stop_leader(scene: Scene) -> Callable[[], Awaitable[None]]:
    node = scene.cluster.nodes[await scene.watch.busiest_leader()]
    await node.stop()
    return lambda: _start(node.start)


async def _pause_leader(scene: Scene) -> Callable[[], Awaitable[None]]:
    leader = await scene.watch.busiest_leader()
    scene.cluster.pause(leader)

    async def resume() -> None:
        scene.cluster.resume(leader)

    return resume


async def _isolate_leader(scene: Scene) -> Callable[[], Awaitable[None]]:
    cluster, leader = scene.cluster, await scene.watch.busiest_leader()
    gateways = [f"gateway {number}" for number in cluster.gateways]
    everybody = [*cluster.other_nodes(leader), *cluster.etcd_names, *gateways]
    cluster.network.cut(cluster.links_between([f"node {leader}"], everybody), Cut.SILENT)
    return lambda: _mend(cluster)


async def _break_links(scene: Scene) -> Callable[[], Awaitable[None]]:
    cluster, leader = scene.cluster, await scene.watch.busiest_leader()
    cluster.network.cut(cluster.links_between([f"node {leader}"], cluster.other_nodes(leader)), Cut.RESET)
    return lambda: _mend(cluster)


async def _kill_gateway(scene: Scene) -> Callable[[], Awaitable[None]]:
    gateway = scene.cluster.gateways[1]
    await gateway.kill()
    return lambda: _start(gateway.start)


async def _kill_etcd_leader(scene: Scene) -> Callable[[], Awaitable[None]]:
    cluster = scene.cluster
    member = await asyncio.to_thread(cluster.etcd.leader)
    await asyncio.to_thread(member.kill)

    async def start() -> None:
        cluster.etcd.launch(member)
        await asyncio.to_thread(member.wait_until_serving)

    return start


async def _kill_etcd(scene: Scene) -> Callable[[], Awaitable[None]]:
    cluster = scene.cluster
    await asyncio.gather(*(asyncio.to_thread(member.kill) for member in cluster.etcd.members))

    async def start() -> None:
        for member in cluster.etcd.members:
            cluster.etcd.launch(member)
        for member in cluster.etcd.members:
            await asyncio.to_thread(member.wait_until_serving)

    return start


async def _start(start: Callable[[], Awaitable[float]]) -> None:
    await start()


async def _mend(cluster: RealCluster) -> None:
    cluster.network.mend()


SCHEDULE = (
    Fault("nothing", _nothing, 5, 5),
    Fault("kill -9 of the busiest leader", _kill_leader, 5, 10),
    Fault("SIGTERM of the busiest leader", _stop_leader, 5, 10),
    Fault("busiest leader stands still (SIGSTOP, 15 s)", _pause_leader, 15, 10),
    Fault("busiest leader cut off from everybody, silently (15 s)", _isolate_leader, 15, 10),
    Fault("busiest leader's links to the other nodes broken (5 s)", _break_links, 5, 10),
    Fault("kill -9 of a gateway", _kill_gateway, 5, 5),
    Fault("kill -9 of etcd's leader", _kill_etcd_leader, 5, 10),
    Fault("all of etcd gone (30 s)", _kill_etcd, 30, 10),
)


async def measure(
    etcd_program: Path, directory: Path, *, partitions: int, schedule: tuple[Fault, ...], tell: Callable[[str], None]
) -> list[Availability]:
    """One for each phase, and one for the whole schedule at the end."""
    async with running_real_cluster(directory, etcd_program) as cluster:
        gateways = Gateways(cluster.gateway_urls)
        answer = await asyncio.to_thread(gateways.request, "PUT", f"/topics/{TOPIC}", {"partitions": partitions})
        assert answer.status == 201, answer
        store = etcd_store(*cluster.etcd.endpoints)
        scene = Scene(cluster, PartitionWatch(store, TOPIC, History()))
        probes = PartitionProbes(cluster.gateway_urls, TOPIC, partitions)
        phases: list[Phase] = []
        try:
            await scene.watch.until_in_sync(len(cluster.nodes))
            async with probes.running():
                for fault in schedule:
                    tell(fault.name)
                    phases.append(await _run(scene, fault))
                    await scene.watch.until_in_sync(len(cluster.nodes))  # not counted: each fault meets a whole cluster
        finally:
            await store.close()
    found = [availability_of(phase, probes.successes_s) for phase in phases]
    return [*found, _together(found)]


async def _run(scene: Scene, fault: Fault) -> Phase:
    began_s = time.monotonic()
    undo = await fault.strike(scene)
    await asyncio.sleep(fault.hold_s)
    await undo()
    await asyncio.sleep(fault.rest_s)
    return Phase(fault.name, began_s, time.monotonic())


def _together(found: list[Availability]) -> Availability:
    return Availability(
        "the whole schedule",
        sum(each.windows for each in found),
        sum(each.good_windows for each in found),
        max(each.longest_gap_s for each in found),
        max(each.median_gap_s for each in found),
    )


def table_of(found: list[Availability]) -> Table:
    table = Table("phase", title="One-second windows per partition in which a send with acks=all was acknowledged")
    for heading in ("windows", "with a success", "share", "longest gap", "… of the median partition"):
        table.add_column(heading, justify="right")
    for each in found:
        table.add_row(
            each.phase,
            f"{each.windows:,}",
            f"{each.good_windows:,}",
            f"{each.share:.2%}",
            f"{each.longest_gap_s:.2f} s",
            f"{each.median_gap_s:.2f} s",
        )
    return table


def document_of(found: list[Availability], *, partitions: int) -> bytes:
    rows = [{**msgspec.to_builtins(each), "share": each.share} for each in found]
    document = {"partitions": partitions, "nodes": 3, "gateways": 2, "etcdMembers": 3, "phases": rows}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def main(
    partitions: Annotated[int, typer.Option(min=1, max=1024)] = 12,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the numbers there.")] = None,
    etcd_program: Annotated[str | None, typer.Option(envvar="TESTS_ETCD", help="The etcd to run.")] = None,
) -> None:
    """Takes about four minutes. The numbers hold for this machine, on which everything runs at once."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    program = find_etcd(cache_directory(os.environ), named=etcd_program)
    with tempfile.TemporaryDirectory(prefix="acklog-availability-") as directory:
        measuring = measure(
            program, Path(directory), partitions=partitions, schedule=SCHEDULE, tell=lambda name: console.log(name)
        )
        found = asyncio.run(measuring)
    console.print(table_of(found))
    if json_file is not None:
        json_file.write_bytes(document_of(found, partitions=partitions))


if __name__ == "__main__":
    typer.run(main)
