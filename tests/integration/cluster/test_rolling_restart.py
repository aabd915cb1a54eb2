"""All nodes and gateways are restarted one by one, as for an upgrade, and nobody who uses the SDK notices."""

import asyncio
from collections import defaultdict
from itertools import pairwise

import pytest

from tests.integration.cluster.fault_load import under_load, undocumented, verdict
from tests.integration.cluster.sdk_load import KEYS, SdkLoad, sdk_load
from tests.support.real_cluster import RealCluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

SENDS = 20


@pytest.mark.faults
async def test_a_rolling_restart_is_not_noticed_through_the_sdk(shared_cluster: RealCluster) -> None:
    """Sends by bare HTTP, without any retry, meet nothing but refusals that say that the same request may be sent
    again; the SDK's users meet nothing at all."""
    cluster = shared_cluster
    async with under_load(cluster, "rolling", producers=4) as load:
        async with sdk_load(cluster, "rolling-sdk") as sdk:
            for process in [*cluster.nodes.values(), *cluster.gateways.values()]:
                await process.stop()
                await load.progress(SENDS)
                await process.start()
                await load.watch.until_in_sync(3)
                await load.progress(SENDS)
        await load.healed()
    assert await verdict(load) == []
    assert undocumented(load) == {}
    assert sdk.confirmed <= sdk.handled.keys()
    assert len(sdk.confirmed) > SENDS
    assert out_of_order(sdk) == []


def out_of_order(sdk: SdkLoad) -> list[tuple[int, int]]:
    """Messages of one key that the producer sent one after the other, and that are stored the other way round."""
    places: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for number, partition, offset in sdk.placed:
        places[number % KEYS].append((number, partition, offset))
    return [
        (earlier[0], later[0])
        for line in places.values()
        for earlier, later in pairwise(line)
        if earlier[1:] >= later[1:]
    ]


@pytest.mark.faults
async def test_nodes_are_restarted_while_one_is_killed(shared_cluster: RealCluster) -> None:
    """An upgrade that meets a failure: the minimum of replicas is missing for a while, and nothing else."""
    cluster = shared_cluster
    async with under_load(cluster, "rolling-kill") as load:
        stopped = await load.watch.busiest_leader()
        stopping = asyncio.create_task(cluster.nodes[stopped].stop())
        killed = next(number for number in cluster.nodes if number != stopped)
        await cluster.nodes[killed].kill()
        await stopping
        await cluster.start_all([cluster.nodes[stopped], cluster.nodes[killed]])
        await load.healed()
    assert await verdict(load) == []
