"""One more row of the table of logs, and everything that goes by the table has it."""

import pytest

from acklog.wire.batch import decode_records, read_header
from cluster.model.values import Topic
from cluster.stores.sqlite_copy import SqliteContent
from storage.check.directory_check import DirectoryCheck
from storage.check.findings import FindingKind, Severity
from storage.log.keys import LogKey
from storage.log.partition_log import PartitionLog
from storage.rpc.handshake import NEWEST_VERSION
from tests.support.cluster import Cluster, ClusterBuilder
from tests.support.log_harness import SMALL_LOG, LogHarness, opaque_batch
from tests.support.toy_log import TOY, toy_log, write_toy


async def write(cluster: Cluster, topic: Topic, *bodies: bytes) -> None:
    """Until all of it is committed."""
    replica = cluster.replica(cluster.state(topic).leader, topic)
    for body in bodies:
        end = (await write_toy(replica, body)).next_offset
    await cluster.until(lambda: replica.high_watermarks[TOY] >= end)


async def stored(cluster: Cluster, number: int, topic: Topic) -> list[bytes]:
    log = cluster.replica(number, topic).logs[TOY]
    batches = [batch.data for batch in await log.read(log.log_start, max_bytes=1 << 20)]
    return [record.body for batch in batches for record in decode_records(batch, read_header(batch))]


def test_it_is_replicated_and_moves_with_the_leadership() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        await cluster.send(topic, b"a message")
        written = [b"%d" % number for number in range(40)]
        await write(cluster, topic, *written)
        before = cluster.state(topic).leader
        await cluster.stop(before)
        await cluster.send(topic, b"another")
        await write(cluster, topic, b"after")
        await cluster.start(before)
        await cluster.until(lambda: sorted(cluster.state(topic).isr) == [1, 2, 3])
        for number in cluster.nodes:
            assert await stored(cluster, number, topic) == [*written, b"after"]

    with toy_log():
        ClusterBuilder().nodes(3).run(main)


def test_what_a_deposed_leader_alone_has_is_cut() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2, max_replica_lag_ms=1_000)
        await write(cluster, topic, b"everywhere")
        deposed = cluster.state(topic).leader
        cluster.cut()
        await write_toy(cluster.replica(deposed, topic), b"here only")
        await cluster.stop(deposed)
        cluster.mend()
        await cluster.until(lambda: cluster.state(topic).leader not in {deposed, -1})
        await write(cluster, topic, b"by the next leader")
        await cluster.start(deposed)
        await cluster.until(lambda: sorted(cluster.state(topic).isr) == [1, 2, 3])
        assert await stored(cluster, deposed, topic) == [b"everywhere", b"by the next leader"]

    with toy_log():
        ClusterBuilder().nodes(3).run(main)


def test_a_node_with_an_empty_disk_gets_it() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1, max_replica_lag_ms=500)
        away = next(number for number in (1, 2, 3) if number != cluster.state(topic).leader)
        await cluster.stop(away)
        written = [b"%d" % number for number in range(40)]
        await cluster.until(lambda: away not in cluster.state(topic).isr)
        await write(cluster, topic, *written)
        await cluster.wipe(away)
        await cluster.start(away)
        await cluster.until(lambda: away in cluster.state(topic).isr)
        assert await stored(cluster, away, topic) == written

    with toy_log():
        ClusterBuilder().nodes(3).run(main)


def test_nodes_that_do_not_know_it_go_on_and_nothing_of_it_counts_as_committed() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2, max_replica_lag_ms=60_000)
        await cluster.send(topic, b"a message")
        leader = cluster.replica(cluster.state(topic).leader, topic)
        await write_toy(leader, b"unknown to the others")
        await cluster.send(topic, b"another")
        await cluster.until(lambda: leader.high_watermarks[0] == 2)
        assert leader.high_watermarks[TOY] == 0
        assert sorted(cluster.state(topic).isr) == [1, 2, 3]

    with toy_log(since_version=NEWEST_VERSION + 1):
        ClusterBuilder().nodes(3).run(main)


@pytest.mark.parametrize("end", ["close", "kill", "lose_power"])
def test_it_is_recovered_checked_and_removed(end: str) -> None:
    key = LogKey("alpha", 0, 0)
    with toy_log():
        toy = LogKey("alpha", 0, TOY)
        harness = LogHarness()
        store = harness.open()
        logs = [harness.run(store.open_log(each, SMALL_LOG)) for each in (key, toy)]
        for number in range(30):
            harness.run(_append(logs[number % 2], number))
        before = [harness.read_bytes(log) for log in logs]
        getattr(harness, end)()

        content = SqliteContent(faults=["none was made"])
        report = DirectoryCheck(harness.disk, coordination=content, findings_max=100, decodes_records=False).run()
        errors = [each.kind for each in report.findings.kept if each.kind.severity is Severity.ERROR]
        assert errors == [FindingKind.COORDINATION_DAMAGED]

        store = harness.open()
        assert sorted(store.keys()) == [key, toy]
        logs = [harness.run(store.open_log(each, SMALL_LOG)) for each in (key, toy)]
        assert [harness.read_bytes(log) for log in logs] == before
        harness.run(store.remove_log(key))
        assert harness.disk.list_directory(key.directory) == ["toy"]
        harness.run(store.remove_log(toy))
        assert not harness.disk.exists(key.directory)
        harness.dispose()


async def _append(log: PartitionLog, number: int) -> None:
    await log.append(opaque_batch(number), leader_epoch=1)
