"""What a gateway shows of the cluster is what the controller knows."""

from collections.abc import AsyncIterator

import pytest

from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.controller.dry_run import propose
from cluster.controller.image import ClusterImage
from cluster.controller.progress import PartitionTrouble, progress, troubled
from cluster.controller.view_image import image_of
from cluster.model import keys
from tests.support.controlled_cluster import ControlledCluster
from tests.support.manual_clock import settle


@pytest.fixture
async def cluster() -> AsyncIterator[ControlledCluster]:
    cluster = await ControlledCluster.open()
    for node_id in (1, 2, 3, 4):
        await cluster.start_node(node_id, rack=f"rack-{node_id % 2}")
    yield cluster
    await cluster.close()


async def check_alike(cluster: ControlledCluster) -> ClusterImage:
    await settle(50)
    listing = await cluster.store.list(keys.ROOT)
    known = ClusterImage(listing.items, revision=listing.revision)
    shown = image_of(cluster.metadata)
    assert shown.revision == known.revision
    assert progress(shown) == progress(known)
    assert list(troubled(shown)) == list(troubled(known))
    for drain in ([], [2]):
        assert propose(shown, drain=drain) == propose(known, drain=drain)
    return shown


async def test_both_show_the_same(cluster: ControlledCluster) -> None:
    admin = ClusterAdmin(cluster.store, cluster.metadata, clock=cluster.clock)
    await check_alike(cluster)
    orders = await cluster.create("orders", partitions=4, replicas=2)
    await cluster.create("mail", partitions=2, replicas=3, min_isr=2)
    await check_alike(cluster)
    await admin.drain(4)
    await cluster.clock.advance_ms(1_100)
    assert progress(await check_alike(cluster)).moves
    await admin.pause_moves()
    held = (await cluster.state(orders)).target
    await admin.reassign("orders", 0, held[::-1])
    await check_alike(cluster)
    await cluster.topics.decommission("orders", [3])
    await cluster.stop_node(2)
    await check_alike(cluster)
    await cluster.topics.delete("mail")
    await check_alike(cluster)


async def test_what_was_shown_stays_as_it_was(cluster: ControlledCluster) -> None:
    await cluster.create("orders", partitions=2, replicas=2)
    shown = image_of(cluster.metadata)
    before = progress(shown)
    await cluster.stop_node(1)
    await cluster.create("more", partitions=2, replicas=2)
    assert progress(shown) == before


async def test_the_worst_that_a_partition_lacks(cluster: ControlledCluster) -> None:
    orders = await cluster.create("orders", partitions=1, replicas=2, min_isr=2)
    leader = (await cluster.state(orders)).leader
    [other] = [node for node in (await cluster.state(orders)).replicas if node != leader]
    await cluster.stop_node(other)
    [(_, lack)] = troubled(image_of(cluster.metadata))
    assert lack is PartitionTrouble.BELOW_MIN_INSYNC
    await cluster.stop_node(leader)
    [(state, lack)] = troubled(image_of(cluster.metadata))
    assert (state.partition, lack) == (0, PartitionTrouble.WITHOUT_LEADER)
