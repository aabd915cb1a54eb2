"""Links between nodes, gateways and etcd that are cut, in all the ways that make two sides believe different things."""

import asyncio
import json

import pytest

from tests.integration.cluster.fault_load import SENDS_FIRST, under_load, verdict
from tests.integration.cluster.gateways import Gateways, ask
from tests.integration.cluster.partition_watch import PartitionWatch
from tests.integration.ordered_consumers import ORDERED_GROUPS
from tests.sim.history import History
from tests.sim.options import LastingFault
from tests.support.cuttable_network import Cut
from tests.support.etcd_store import etcd_store
from tests.support.real_cluster import RealCluster

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
]

LAG_MS = 2000
BACKLOG = 60
SENDS_ELSEWHERE = 10


async def test_links_between_nodes_break_again_and_again(shared_cluster: RealCluster) -> None:
    """Broken connections alone: everybody is alive, and says so when asked."""
    cluster = shared_cluster
    async with under_load(cluster, "broken-links", max_replica_lag_ms=LAG_MS, ordered_groups=ORDERED_GROUPS) as load:
        for node in cluster.nodes:
            cluster.network.cut(cluster.links_between([f"node {node}"], cluster.other_nodes(node)), Cut.RESET)
            cluster.network.mend()
            await load.progress(SENDS_FIRST)
        await load.healed()
    assert await verdict(load) == []


@pytest.mark.faults
async def test_a_follower_is_cut_off_from_the_others(shared_cluster: RealCluster) -> None:
    """It leaves the ISR; who leads goes on with two. Then it catches up and joins again."""
    cluster = shared_cluster
    async with under_load(cluster, "cut-follower", max_replica_lag_ms=LAG_MS, ordered_groups=ORDERED_GROUPS) as load:
        node = await load.watch.busiest_leader()
        await load.watch.until_in_sync(3)
        cluster.network.cut(cluster.links_between([f"node {node}"], cluster.other_nodes(node)))
        try:
            await load.watch.until(
                lambda states: all(node not in state.isr for state in states if state.leader != node),
                what=f"node {node} in no ISR of others",
            )
            await load.progress(SENDS_ELSEWHERE)  # those to partitions that the node leads wait all the time
        finally:
            cluster.network.mend()
        await load.healed()
    assert await verdict(load) == []


@pytest.mark.faults
@pytest.mark.parametrize("how", [Cut.SILENT, Cut.RESET])
async def test_a_leader_is_cut_off_together_with_a_gateway(shared_cluster: RealCluster, how: Cut) -> None:
    """Two islands: the old leader and a gateway that knows no other on the one, the majority and etcd on the other.
    Clients reach both."""
    cluster = shared_cluster
    async with under_load(
        cluster, f"islands-{how.value}", max_replica_lag_ms=LAG_MS, ordered_groups=ORDERED_GROUPS
    ) as load:
        leader = await load.watch.busiest_leader()
        mainland = [*cluster.other_nodes(leader), *cluster.etcd_names, "gateway 1"]
        load.note_fault(LastingFault.ISLAND_WITHOUT_STORE)
        cluster.network.cut(cluster.links_between([f"node {leader}", "gateway 2"], mainland), how)
        try:
            await load.watch.until_moved_from(leader)
            await load.progress(SENDS_ELSEWHERE)
        finally:
            cluster.network.mend()
        await load.healed()
    assert await verdict(load) == []
    assert load.watch.elections > 0


@pytest.mark.faults
@pytest.mark.parametrize("how", [Cut.SILENT, Cut.RESET])
async def test_a_deposed_leader_hands_out_nothing_that_was_acked(shared_cluster: RealCluster, how: Cut) -> None:
    """Everything is acked on the mainland as soon as another leads there, and asked for on the island all the time."""
    cluster = shared_cluster
    topic = group = f"deposed-{how.value}"
    gateways = Gateways(cluster.gateway_urls)
    await asyncio.to_thread(gateways.request, "PUT", f"/topics/{topic}", {"partitions": 1})
    await asyncio.to_thread(gateways.request, "PUT", f"/groups/{group}", {})
    store = etcd_store(*cluster.etcd.endpoints)
    watch = PartitionWatch(store, topic, History())
    try:
        await watch.until_in_sync(3)
        sent = [{"body": number} for number in range(BACKLOG)]
        stored = await asyncio.to_thread(gateways.request, "POST", "/messages", {"queue": topic, "messages": sent})
        assert stored.status == 201, stored
        # Both gateways and the leader know the group before the cut.
        for url in cluster.gateway_urls:
            await receive(url, topic, group, maximum=1, visibility_s=0)
        leader = await watch.busiest_leader()
        mainland = [*cluster.other_nodes(leader), *cluster.etcd_names, "gateway 1"]
        cluster.network.cut(cluster.links_between([f"node {leader}", "gateway 2"], mainland), how)
        await watch.until_moved_from(leader)
        mainland_url, island_url = (cluster.gateways[number].url for number in (1, 2))
        messages: list[dict[str, str]] = []

        async def has_all() -> bool:
            messages.extend(await receive(mainland_url, topic, group, maximum=1000, visibility_s=30))
            return len(messages) == BACKLOG

        await watch.until_true(has_all, what="everything is received from the new leader")
        receipts = {"receipts": [message["receipt"] for message in messages]}
        done = await asyncio.to_thread(ask, mainland_url, "POST", "/ack", receipts)
        assert done.status == 200, done
        again = await receive(island_url, topic, group, maximum=1000, visibility_s=30)
        assert again == []
    finally:
        cluster.network.mend()
        await watch.until_in_sync(3)
        await store.close()


async def receive(url: str, topic: str, group: str, *, maximum: int, visibility_s: int) -> list[dict[str, str]]:
    """Nothing where it is refused."""
    target = f"/messages?queue={topic}&group={group}&max={maximum}&visibilitySeconds={visibility_s}"
    answer = await asyncio.to_thread(ask, url, "GET", target)
    found: list[dict[str, str]] = json.loads(answer.content)["messages"] if answer.status == 200 else []
    return found
