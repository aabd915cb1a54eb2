"""etcd loses its leader, its quorum, and all of it for a minute: who leads goes on, and nothing unsafe happens."""

import asyncio
import time

import pytest

from tests.integration.cluster.fault_load import FaultLoad, under_load, verdict
from tests.support.cuttable_network import Cut
from tests.support.etcd_process import EtcdProcess
from tests.support.real_cluster import RealCluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

SENDS = 100
ACKS = 50
REFUSALS = 5
SENDS_FROM_ISLAND = 10  # every other request goes to a gateway that reaches nobody, and waits there in vain
LAG_MS = 2000
MINUTE_S = 60
STALL_MAX_S = 15  # for SENDS and ACKS, which take a second or two


async def etcd_leader(cluster: RealCluster) -> EtcdProcess:
    return await asyncio.to_thread(cluster.etcd.leader)


async def bring_back(cluster: RealCluster, members: list[EtcdProcess]) -> None:
    for member in members:
        cluster.etcd.launch(member)
    for member in members:
        await asyncio.to_thread(member.wait_until_serving)


async def until_no_node_is_registered(load: FaultLoad) -> None:
    """As the nodes themselves see it: their leases have run out, or may have."""

    async def is_so() -> bool:
        registered = [await load.cluster.metric(node, "acklog_node_registered") for node in load.cluster.nodes]
        return not any(registered)

    await load.watch.until_true(is_so, what="no node takes itself for registered")


async def until_refused(load: FaultLoad) -> None:
    before = load.traffic.refusals.total()

    async def is_so() -> bool:
        return load.traffic.refusals.total() >= before + REFUSALS

    await load.watch.until_true(is_so, what="clients are told that it does not work now")


async def goes_on(load: FaultLoad) -> None:
    await load.progress(SENDS)
    await load.acks_progress(ACKS)


async def test_etcd_loses_its_leader_and_then_its_quorum(shared_cluster: RealCluster) -> None:
    cluster = shared_cluster
    async with under_load(cluster, "etcd-quorum") as load:
        first = await etcd_leader(cluster)
        await asyncio.to_thread(first.kill)
        await goes_on(load)
        second = await etcd_leader(cluster)
        await asyncio.to_thread(second.kill)
        try:
            await until_no_node_is_registered(load)
            await goes_on(load)
        finally:
            await bring_back(cluster, [first, second])
        await load.healed()
    assert await verdict(load) == []


@pytest.mark.faults
async def test_a_leader_dies_right_after_etcds(shared_cluster: RealCluster) -> None:
    """The election of a data leader has to wait for etcd's own."""
    cluster = shared_cluster
    async with under_load(cluster, "both-leaders") as load:
        coordinator = await etcd_leader(cluster)
        victim = await load.watch.busiest_leader()
        await asyncio.gather(asyncio.to_thread(coordinator.kill), cluster.nodes[victim].kill())
        await load.watch.until_moved_from(victim)
        await goes_on(load)
        await bring_back(cluster, [coordinator])
        await cluster.nodes[victim].start()
        await load.healed()
    assert await verdict(load) == []


@pytest.mark.faults
async def test_etcd_is_gone_for_a_minute(shared_cluster: RealCluster) -> None:
    cluster = shared_cluster
    async with under_load(cluster, "minute") as load:
        await asyncio.gather(*(asyncio.to_thread(member.kill) for member in cluster.etcd.members))
        until_s = time.monotonic() + MINUTE_S
        try:
            while time.monotonic() < until_s:
                async with asyncio.timeout(STALL_MAX_S):
                    await goes_on(load)
        finally:
            await bring_back(cluster, cluster.etcd.members)
        await load.healed()
    assert await verdict(load) == []


@pytest.mark.faults
@pytest.mark.parametrize("how", Cut)
async def test_etcd_is_gone_and_a_leader_is_cut_off(shared_cluster: RealCluster, how: Cut) -> None:
    """Without etcd nobody can leave an ISR, so nothing that needs the node is committed anywhere, and everybody is told
    so. When etcd is back, and the old leader still cut off from all but a gateway, somebody else leads."""
    cluster = shared_cluster
    async with under_load(cluster, f"old-leader-{how.value}", max_replica_lag_ms=LAG_MS) as load:
        leader = await load.watch.busiest_leader()
        gone = cluster.etcd.members[:2]
        await asyncio.gather(*(asyncio.to_thread(member.kill) for member in gone))
        try:
            await until_no_node_is_registered(load)
            island = [f"node {leader}", "gateway 2"]
            mainland = [*cluster.other_nodes(leader), *cluster.etcd_names, "gateway 1"]
            cluster.network.cut(cluster.links_between(island, mainland), how)
            await until_refused(load)
        finally:
            await bring_back(cluster, gone)
        try:
            await load.watch.until_moved_from(leader)
            await load.progress(SENDS_FROM_ISLAND)
        finally:
            cluster.network.mend()
        await load.healed()
    assert await verdict(load) == []


@pytest.mark.faults
async def test_every_node_is_cut_off_from_etcd_in_turn(shared_cluster: RealCluster) -> None:
    """It still answers everybody else: who has no registration leads no more, and its place is somebody else's."""
    cluster = shared_cluster
    async with under_load(cluster, "no-etcd-in-turn") as load:
        for node in cluster.nodes:
            cluster.network.cut(cluster.links_between([f"node {node}"], cluster.etcd_names))
            try:
                await load.watch.until_unregistered(node)
                await load.watch.until_moved_from(node)
                await goes_on(load)
            finally:
                cluster.network.mend()
            await load.healed()
    assert await verdict(load) == []
