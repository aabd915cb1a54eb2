"""Messages that are to be seen later, in a cluster of three nodes: over failovers none is early, lost or doubled."""

import asyncio

from acklog.wire.batch import decode_records, read_header
from cluster.model.values import Topic
from tests.support.cluster import Cluster, ClusterBuilder
from tests.support.schedules import listed, look, schedule


async def bodies(cluster: Cluster, number: int, topic: Topic) -> list[bytes]:
    log = cluster.replica(number, topic).logs[0]
    if log.log_end == log.log_start:
        return []
    batches = [batch.data for batch in await log.read(log.log_start, max_bytes=1 << 22)]
    return [record.body for batch in batches for record in decode_records(batch, read_header(batch))]


def leader_of(cluster: Cluster, topic: Topic) -> object:
    return cluster.nodes[cluster.state(topic).leader].node


async def led_by_another(cluster: Cluster, topic: Topic, before: int) -> None:
    await cluster.until(lambda: cluster.state(topic).leader not in {before, -1})
    leader = cluster.state(topic).leader
    await cluster.until(lambda: cluster.replica(leader, topic).partition is not None)


def test_they_move_with_the_leadership() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        sent = [await schedule(leader_of(cluster, topic), topic, b"%d" % n, delay_ms=500 * n) for n in range(20)]
        await look(leader_of(cluster, topic), topic, sent[19], "cancel")
        before = cluster.state(topic).leader
        await cluster.stop(before)
        await led_by_another(cluster, topic, before)
        await asyncio.sleep(12)
        leader = cluster.state(topic).leader
        assert await bodies(cluster, leader, topic) == [b"%d" % n for n in range(19)]
        assert await listed(leader_of(cluster, topic), topic) == []
        assert (await look(leader_of(cluster, topic), topic, sent[19])).state == "cancelled"
        await cluster.start(before)
        await cluster.until(lambda: sorted(cluster.state(topic).isr) == [1, 2, 3])
        assert await bodies(cluster, before, topic) == [b"%d" % n for n in range(19)]

    ClusterBuilder().nodes(3).run(main)


def test_followers_have_their_index_ready() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        for n in range(5):
            await schedule(leader_of(cluster, topic), topic, b"%d" % n, delay_ms=100_000)
        for number in cluster.nodes:
            await cluster.until(lambda number=number: cluster.replica(number, topic).schedule.state.pending == 5)

    ClusterBuilder().nodes(3).run(main)


def test_what_a_deposed_leader_alone_appended_is_appended_by_the_next_one() -> None:
    """It was due while its leader was cut off: that one appends it, and nobody else has it."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2, max_replica_lag_ms=1_000)
        for n in range(6):
            await schedule(leader_of(cluster, topic), topic, b"%d" % n, delay_ms=1_000 + n)
        deposed = cluster.state(topic).leader
        await asyncio.sleep(0.9)
        cluster.cut()
        await asyncio.sleep(1)
        await cluster.stop(deposed)
        cluster.mend()
        await led_by_another(cluster, topic, deposed)
        await asyncio.sleep(3)
        assert await bodies(cluster, cluster.state(topic).leader, topic) == [b"%d" % n for n in range(6)]
        await cluster.start(deposed)
        await cluster.until(lambda: sorted(cluster.state(topic).isr) == [1, 2, 3])
        await asyncio.sleep(3)
        assert await bodies(cluster, deposed, topic) == [b"%d" % n for n in range(6)]

    ClusterBuilder().nodes(3).run(main)


def test_a_node_with_an_empty_disk_gets_them() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1, max_replica_lag_ms=500)
        away = next(number for number in (1, 2, 3) if number != cluster.state(topic).leader)
        await cluster.stop(away)
        for n in range(10):
            await schedule(leader_of(cluster, topic), topic, b"%d" % n, delay_ms=200_000)
        await cluster.wipe(away)
        await cluster.start(away)
        await cluster.until(lambda: cluster.replica(away, topic).schedule.state.pending == 10)

    ClusterBuilder().nodes(3).run(main)
