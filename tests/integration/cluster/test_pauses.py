"""A leader whose process stands still until others lead, and then goes on as if nothing had been."""

import pytest

from tests.integration.cluster.fault_load import SENDS_FIRST, under_load, verdict
from tests.support.real_cluster import RealCluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]


async def test_a_leader_stands_still_past_its_lease(shared_cluster: RealCluster) -> None:
    """Nothing breaks its connections, so only its lease tells. What it had on its way when it stood still, and what
    comes to it from clients and followers that do not know better, must not count."""
    cluster = shared_cluster
    async with under_load(cluster, "zombie") as load:
        zombie = await load.watch.busiest_leader()
        cluster.pause(zombie)
        try:
            await load.watch.until_moved_from(zombie)
            await load.progress(SENDS_FIRST)
        finally:
            cluster.resume(zombie)
        await load.healed()
    assert await verdict(load) == []
    assert load.watch.elections > 0


@pytest.mark.faults
async def test_leaders_stand_still_in_turn(shared_cluster: RealCluster) -> None:
    """Each wakes up when the next one stands still, so that a zombie is needed for the minimum of replicas at once."""
    cluster = shared_cluster
    async with under_load(cluster, "zombies") as load:
        for _ in range(3):
            zombie = await load.watch.busiest_leader()
            cluster.pause(zombie)
            try:
                await load.watch.until_moved_from(zombie)
            finally:
                cluster.resume(zombie)
        await load.healed()
    assert await verdict(load) == []


@pytest.mark.faults
async def test_every_node_stands_still_past_its_lease(shared_cluster: RealCluster) -> None:
    """All leases end, nobody can be elected; then all wake up."""
    cluster = shared_cluster
    async with under_load(cluster, "all-still") as load:
        for node in cluster.nodes:
            cluster.pause(node)
        try:
            for node in cluster.nodes:
                await load.watch.until_unregistered(node)
        finally:
            for node in cluster.nodes:
                cluster.resume(node)
        await load.healed()
    assert await verdict(load) == []
