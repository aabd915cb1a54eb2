"""A topic that keeps messages until they are done, on three nodes: every group that reads it is waited for, also where
it has not come to a partition yet (rules R32, R42)."""

from typing import Any

from cluster.catalog.topic_admin import TopicAdmin
from cluster.model.values import NO_LEADER, RetentionMode, Topic
from storage.node.partition.node_settings import NodeSettings
from storage.rpc import messages
from tests.sim.environment import SimEntropy
from tests.support.cluster import Cluster, ClusterBuilder, client_of

OFTEN = NodeSettings(retention_interval_ms=500, projection_interval_ms=200)
CAP_MS = 120_000


async def take(client: Any, group: str, count: int) -> int:
    """Received and done, through a gateway."""
    done = 0
    while done < count:
        query = {"queue": "orders", "group": group, "max": count - done, "waitSeconds": 5}
        answer = await client.get("/messages", params=query)
        assert answer.status_code == 200, answer.text
        found = answer.json()["messages"]
        if not found:
            break
        answer = await client.post("/ack", json={"receipts": [each["receipt"] for each in found]})
        assert answer.status_code == 200, answer.text
        done += len(found)
    return done


def sizes(cluster: Cluster, topic: Topic, partition: int) -> list[int]:
    """Of what each replica holds of the messages."""
    return [cluster.replica(number, topic, partition).logs[0].size_bytes for number in cluster.nodes]


async def log_start(cluster: Cluster, topic: Topic, partition: int = 0) -> int:
    request = messages.PositionsRequest(topic.id, partition)
    answer = await cluster.following(lambda: cluster.leader(topic, partition).positions(request))
    return int(answer.log_start)


async def grown(cluster: Cluster, topic: Topic, partitions: int) -> Topic:
    node = next(iter(cluster.nodes.values()))
    admin = TopicAdmin(cluster.store, node.metadata, clock=cluster.clock, entropy=SimEntropy("growth"))
    updated = await admin.update(topic.name, partitions=partitions)
    views = [each.metadata for each in (*cluster.nodes.values(), *cluster.gateways)]
    await cluster.until(lambda: all(len(view.partitions(topic.id)) == partitions for view in views))
    await cluster.in_sync(updated)
    return updated


async def made(cluster: Cluster) -> Topic:
    topic = await cluster.topic(
        min_insync_replicas=2, retention=RetentionMode.UNTIL_ACKED, retention_ms=CAP_MS, dedup_window_ms=0
    )
    await cluster.in_sync(topic)
    return topic


def test_what_every_group_has_done_goes_on_every_node_and_no_sooner() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await made(cluster)
        await cluster.group("fast")
        await cluster.group("slow")
        for number in range(6):
            await cluster.send(topic, b"%d" % number)
        async with client_of(cluster.gateways[0]) as client:
            assert await take(client, "slow", 1) == 1
            assert await take(client, "fast", 6) == 6
            for _ in range(2):
                await cluster.clock.sleep(3_000)
                assert await log_start(cluster, topic) == 0
                leader = cluster.state(topic).leader
                await cluster.stop(leader)
                await cluster.until(lambda: cluster.state(topic).leader not in {leader, NO_LEADER})  # noqa: B023
                await cluster.start(leader)
                await cluster.in_sync(topic)
            assert await take(client, "slow", 5) == 5
        await cluster.until(lambda: sizes(cluster, topic, 0) == [0, 0, 0])

    ClusterBuilder().nodes(3).storing(OFTEN).gateway(request_timeout_ms=5_000).run(main)


def test_a_group_is_waited_for_in_partitions_that_it_has_not_come_to() -> None:
    """The topic grows while its consumers are away, and another group is quick."""

    async def main(cluster: Cluster) -> None:
        topic = await made(cluster)
        for name in ("fast", "slow"):
            await cluster.group(name)
        await cluster.send(topic, b"100")
        async with client_of(cluster.gateways[0]) as client:
            assert await take(client, "slow", 1) == 1
            assert await take(client, "fast", 1) == 1
            topic = await grown(cluster, topic, 2)
            for number in range(4):
                await cluster.send(topic, b"%d" % number, partition=1)
            assert await take(client, "fast", 4) == 4
            await cluster.clock.sleep(5_000)
            assert await log_start(cluster, topic, 1) == 0
            assert await take(client, "slow", 4) == 4, "nothing was missed"
        await cluster.until(lambda: sizes(cluster, topic, 1) == [0, 0, 0])

    ClusterBuilder().nodes(3).storing(OFTEN).gateway(request_timeout_ms=5_000).run(main)


def test_a_topic_that_nobody_reads_keeps_everything_up_to_the_cap() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await made(cluster)
        await cluster.send(topic, b"1")
        await cluster.clock.sleep(CAP_MS // 2)
        assert await log_start(cluster, topic) == 0
        await cluster.clock.sleep(CAP_MS)
        assert await log_start(cluster, topic) == 1

    ClusterBuilder().nodes(3).storing(OFTEN).run(main)
