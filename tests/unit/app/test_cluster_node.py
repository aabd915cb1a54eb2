import asyncio

import pytest

from app.cluster_node import ClusterNode
from app.node_end import StorageFailedError
from app.node_process_settings import NODE_ID_MAX, NodeProcessSettings
from cluster import keys
from cluster.codec import decode
from cluster.coordination import CoordinationUnavailableError
from cluster.model import NodeRegistration, TopicConfig
from cluster.registration import DirectoryConflictError, ReplacedError
from cluster.topics import Topics
from tests.sim.sim_disk import SimDisk
from tests.support.memory_cluster import MemoryCluster, OwnConnection, client_of, with_cluster


async def _topic(cluster: MemoryCluster, node: ClusterNode, *, partitions: int = 4, replicas: int = 1) -> str:
    topics = Topics(node.store, node.metadata, clock=cluster.clock, entropy=cluster_entropy())
    topic = await topics.create(
        "orders", partitions=partitions, config=TopicConfig(), replication_factor=replicas
    )
    await cluster.until(lambda: len(node.metadata.partitions(topic.id)) == partitions)
    return topic.id


def cluster_entropy():  # type: ignore[no-untyped-def]
    from tests.sim.environment import SimEntropy

    return SimEntropy("topics")


async def _registration(cluster: MemoryCluster, node_id: int) -> NodeRegistration | None:
    item = await cluster.store.get(keys.node(node_id))
    return None if item is None else decode(NodeRegistration, item.value)


def test_three_nodes_and_a_gateway_serve() -> None:
    async def main(cluster: MemoryCluster) -> None:
        nodes = [await cluster.node(node_id) for node_id in (1, 2, 3)]
        gateway = await cluster.gateway()
        await cluster.until(lambda: sum(node.controller.is_controller for node in nodes) == 1)
        async with client_of(gateway) as client:
            sent = [await client.post("/messages", json={"queue": "orders", "body": n, "key": str(n)}) for n in range(20)]
            assert [answer.status_code for answer in sent] == [201] * 20, sent[0].text
            received = await client.get("/messages?queue=orders&max=100&waitSeconds=1")
            assert received.status_code == 200
        leaders = {state.leader for topic in gateway.metadata.topics() for state in gateway.metadata.partitions(topic.id)}
        assert leaders == {1, 2, 3}
        await gateway.close()
        for node in nodes:
            await cluster.stop(node)

    with_cluster(main)
