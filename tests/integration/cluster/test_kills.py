"""Leaders that are killed under load: nothing acknowledged is lost, nothing that was acked comes again, and groups that
keep an order keep it, with one owner of a partition at a time."""

from collections import Counter
from pathlib import Path

import pytest

from tests.integration.cluster.fault_load import under_load, verdict
from tests.integration.ordered_consumers import ORDERED_GROUPS
from tests.support.real_cluster import RealCluster, running_real_cluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

KILLS_QUICKLY = 2
KILLS = 50
SENDS_BETWEEN = 100


async def kill_leaders(cluster: RealCluster, topic: str, *, kills: int) -> None:
    """One leader after the other, all nodes in turn; each comes back before the next one goes."""
    killed: Counter[int] = Counter()
    async with under_load(cluster, topic, ordered_groups=ORDERED_GROUPS) as load:
        for _ in range(kills):
            victim = least_often(killed, await load.watch.leaders())
            killed[victim] += 1
            await cluster.nodes[victim].kill()
            await load.watch.until_moved_from(victim)
            await load.progress(SENDS_BETWEEN)
            await cluster.nodes[victim].start()
            await load.progress(SENDS_BETWEEN)
        await load.healed()
    assert await verdict(load) == []
    assert load.watch.elections >= kills
    assert load.traffic.confirmed_acks > kills * SENDS_BETWEEN / 2
    for group in ORDERED_GROUPS:
        assert load.traffic.received(group.name) > kills * SENDS_BETWEEN / 2, group


def least_often(killed: Counter[int], leaders: Counter[int]) -> int:
    """Of the leaders, who was killed least; of those, who leads most."""
    return min(leaders, key=lambda node: (killed[node], -leaders[node]))


async def test_leaders_are_killed_under_load(shared_cluster: RealCluster) -> None:
    await kill_leaders(shared_cluster, "killed-leaders", kills=KILLS_QUICKLY)


@pytest.mark.faults
@pytest.mark.timeout(3600)
async def test_fifty_leaders_are_killed_under_load(tmp_path: Path, etcd_program: Path) -> None:
    async with running_real_cluster(tmp_path, etcd_program) as cluster:
        await kill_leaders(cluster, "killed-leaders", kills=KILLS)


@pytest.mark.faults
async def test_every_node_is_killed_at_once(shared_cluster: RealCluster) -> None:
    """What all of them had in memory only is gone; page caches stay (power losses are in `test_disks`)."""
    cluster = shared_cluster
    async with under_load(cluster, "killed-nodes", ordered_groups=ORDERED_GROUPS) as load:
        for _ in range(3):
            await cluster.kill([*cluster.nodes.values()])
            await cluster.start_all(cluster.nodes.values())
            await load.progress(SENDS_BETWEEN)
        await load.healed()
    assert await verdict(load) == []


@pytest.mark.faults
async def test_gateways_are_killed_under_load(shared_cluster: RealCluster) -> None:
    """A gateway has nothing to remember: what was on its way is unknown to its clients, and nothing else happens."""
    cluster = shared_cluster
    async with under_load(cluster, "killed-gateways", ordered_groups=ORDERED_GROUPS) as load:
        for gateway in [*cluster.gateways.values()] * 2:
            await cluster.restart(gateway)
            await load.progress(SENDS_BETWEEN)
        await load.healed()
    assert await verdict(load) == []
