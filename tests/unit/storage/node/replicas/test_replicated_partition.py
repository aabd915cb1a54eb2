"""A partition on several nodes: real nodes, controllers and connections, on virtual time."""

import asyncio

import pytest

from acklog.wire.batch import decode_records, encode_batch, read_header
from acklog.wire.record import Record
from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.catalog.topic_admin import TopicAdmin
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.values import PartitionLife
from cluster.ports.coordination import Put
from storage.log.log_table import LogKind
from storage.node.partition.node_settings import NodeSettings
from storage.replication.replica_events import Role
from storage.rpc.messages import ProduceRequest, RecordsRequest
from tests.sim.environment import SimEntropy
from tests.support.cluster import Cluster, ClusterBuilder
from tests.support.simulated_node import SMALL


def code_of(error: BaseException) -> str:
    assert isinstance(error, ServerError)
    return error.code.name


def test_what_is_acknowledged_is_on_every_replica() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        response = await cluster.send(topic, b"1", b"2")
        assert response.base_offset == 0
        for number in cluster.nodes:
            [batch] = await cluster.records(number, topic)
            assert [record.body for record in decode_records(batch, read_header(batch))] == [b"1", b"2"]
        everywhere = [await cluster.records(number, topic) for number in cluster.nodes]
        assert everywhere[0] == everywhere[1] == everywhere[2], "byte for byte the same"

    ClusterBuilder().nodes(3).run(main)


def test_a_send_waits_for_followers_and_is_unknown_when_they_do_not_come() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        await cluster.send(topic, b"1")
        cluster.cut()
        with pytest.raises(ServerError) as caught:
            await cluster.send(topic, b"2", timeout_ms=500)
        assert code_of(caught.value) == "OUTCOME_UNKNOWN"
        leader = cluster.state(topic).leader
        assert cluster.replica(leader, topic).high_watermarks[0] == 1
        assert (await cluster.send(topic, b"3", acks=1)).base_offset == 2, "one copy is what was asked for"
        assert cluster.replica(leader, topic).high_watermarks[0] == 1, "and readers do not see it yet (rule R5)"
        cluster.mend()
        await cluster.until(lambda: cluster.replica(leader, topic).high_watermarks[0] == 3)

    ClusterBuilder().nodes(3).run(main)


def test_too_few_replicas_refuse_acks_all_before_anything_is_written() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2, max_replica_lag_ms=1_000)
        await cluster.send(topic, b"1")
        leader = cluster.state(topic).leader
        await cluster.stop(*(number for number in (1, 2, 3) if number != leader))
        await cluster.send(topic, b"2", acks=1)
        await cluster.clock.sleep(15_000)
        with pytest.raises(ServerError) as caught:
            await cluster.send(topic, b"3")
        assert code_of(caught.value) == "NOT_ENOUGH_REPLICAS"
        assert caught.value.is_retriable
        assert cluster.replica(leader, topic).logs[0].log_end == 2

    ClusterBuilder().nodes(3).run(main)


def test_leadership_moves_with_everything_that_was_acknowledged() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        group = await cluster.group()
        for number in range(10):
            await cluster.send(topic, b"%d" % number)
        delivered = await cluster.receive(topic, group)
        assert await cluster.ack(topic, group, delivered[:4]) == [""] * 4
        before = cluster.state(topic)
        await cluster.stop(before.leader)
        assert (await cluster.send(topic, b"10")).base_offset == 10
        assert cluster.state(topic).leader_epoch > before.leader_epoch
        again = await cluster.receive(topic, group)
        assert [each.offset for each in again] == [4, 5, 6, 7, 8, 9, 10], "what was acknowledged does not come again"
        assert await cluster.ack(topic, group, delivered[4:5]) == ["RECEIPT_STALE"], "it has a newer lease"

        await cluster.start(before.leader)
        await cluster.until(lambda: sorted(cluster.state(topic).isr) == [1, 2, 3])
        assert await cluster.records(before.leader, topic) == await cluster.records(cluster.state(topic).leader, topic)

    ClusterBuilder().nodes(3).run(main)


def test_what_is_written_anew_unchanged_is_taken_up_too() -> None:
    """A leader guards its changes by the revision of the partition's key: with an old one it could never change it."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic()
        await cluster.send(topic, b"1")
        key = keys.partition(topic.id, 0)
        item = await cluster.store.get(key)
        assert item is not None
        written = await cluster.store.transact((), (Put(key, item.value),))
        await cluster.until(lambda: all(node.metadata.revision >= written.revision for node in cluster.nodes.values()))
        await cluster.until(
            lambda: cluster.replica(cluster.state(topic).leader, topic).seen_revision == written.revision
        )

    ClusterBuilder().nodes(3).run(main)


def test_a_batch_that_is_sent_again_to_the_next_leader_is_there_once() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        first = await cluster.send(topic, b"1", source=(77, 0))
        await cluster.stop(cluster.state(topic).leader)
        again = await cluster.send(topic, b"1", source=(77, 0), is_retry=True)
        assert (again.base_offset, again.leader_epoch) == (first.base_offset, first.leader_epoch)
        other = await cluster.send(topic, b"2", source=(77, 1), is_retry=True)
        assert other.base_offset == 1, "the window knows that this one never came"

    ClusterBuilder().nodes(3).run(main)


def test_a_batch_that_is_sent_again_waits_for_as_many_copies_as_it_asks_for() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1, max_replica_lag_ms=1_000)
        await cluster.send(topic, b"1")
        away = next(number for number in cluster.nodes if number != cluster.state(topic).leader)
        await cluster.stop(away)
        await cluster.until(lambda: len(cluster.state(topic).isr) == 2)
        for is_retry in (False, True):
            with pytest.raises(ServerError) as caught:
                await cluster.send(topic, b"2", acks=3, source=(77, 0), is_retry=is_retry, timeout_ms=500)
            assert code_of(caught.value) == "OUTCOME_UNKNOWN"
        await cluster.start(away)
        assert (await cluster.send(topic, b"2", acks=3, source=(77, 0), is_retry=True)).base_offset == 1

    ClusterBuilder().nodes(3).run(main)


def test_batches_that_are_sent_again_and_wait_in_vain_are_bounded() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1, max_replica_lag_ms=1_000)
        await cluster.send(topic, b"1")
        await cluster.stop(next(number for number in cluster.nodes if number != cluster.state(topic).leader))
        await cluster.until(lambda: len(cluster.state(topic).isr) == 2)
        waited_ms = []
        for is_retry in (False, True, True):
            began_ms = cluster.clock.monotonic_ms()
            with pytest.raises(ServerError) as caught:
                await cluster.send(topic, b"2", acks=3, source=(77, 0), is_retry=is_retry, timeout_ms=500)
            assert code_of(caught.value) == "OUTCOME_UNKNOWN"
            waited_ms.append(cluster.clock.monotonic_ms() - began_ms)
        assert waited_ms[:2] == [500, 500]
        assert waited_ms[2] < 500, "two wait already"

    ClusterBuilder().nodes(3).replicating(waiting_acks_max=2).run(main)


@pytest.mark.parametrize("acks", [0, 1])
def test_a_batch_that_is_sent_again_waits_for_no_more_copies_than_it_asks_for(acks: int) -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        await cluster.send(topic, b"1")
        cluster.cut()
        for is_retry in (False, True):
            answer = await cluster.send(topic, b"2", acks=acks, source=(77, 0), is_retry=is_retry, timeout_ms=500)
            assert answer.base_offset == (1 if acks else -1)

    ClusterBuilder().nodes(3).run(main)


@pytest.mark.parametrize("is_started_again", [False, True])
def test_a_next_leader_whose_clock_is_far_ahead_knows_what_was_sent_just_now(is_started_again: bool) -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        leader = cluster.state(topic).leader
        others = [number for number in (1, 2, 3) if number != leader]
        cluster.ahead_ms = dict.fromkeys(others, 600_000)

        async def start_others_again() -> None:
            for number in others:
                await cluster.stop(number)
                await cluster.start(number)
                await cluster.until(lambda: sorted(cluster.state(topic).isr) == [1, 2, 3])

        if not is_started_again:
            await start_others_again()
        first = await cluster.send(topic, b"1", source=(77, 0))
        if is_started_again:
            await start_others_again()
        await cluster.stop(leader)
        again = await cluster.send(topic, b"1", source=(77, 0), is_retry=True)
        assert (again.base_offset, again.leader_epoch) == (first.base_offset, first.leader_epoch)

    ClusterBuilder().nodes(3).run(main)


def test_a_batch_that_is_sent_twice_at_once_is_there_once() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        both = await asyncio.gather(*(cluster.send(topic, b"1", source=(77, 0), is_retry=bool(n)) for n in range(2)))
        assert both[0] == both[1]
        assert (await cluster.send(topic, b"2")).base_offset == 1

    ClusterBuilder().nodes(3).run(main)


def test_a_node_that_does_not_know_what_was_sent_before_its_start_says_so() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(replicas=2, min_insync_replicas=1)
        for number in range(200):
            await cluster.send(topic, bytes(200), source=(77, number))
        await cluster.stop(1, 2)
        await cluster.start(1, 2)
        known = await cluster.send(topic, bytes(200), source=(77, 3), is_retry=True)
        assert known.base_offset == 3, "the log itself tells"

        await cluster.stop(1, 2)
        cluster.settings = NodeSettings(log_store=SMALL.log_store, producers_read_bytes_max=1000)
        await cluster.start(1, 2)
        with pytest.raises(ServerError) as caught:
            await cluster.send(topic, bytes(200), source=(77, 1000), is_retry=True)
        assert code_of(caught.value) == "OUTCOME_UNKNOWN", "not all of the log was read"
        assert (await cluster.send(topic, bytes(200), source=(77, 1001))).base_offset == 200

    ClusterBuilder().nodes(2).run(main)


def test_a_wiped_follower_is_filled_anew_and_takes_over() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        group = await cluster.group()
        for number in range(10):
            await cluster.send(topic, b"%d" % number)
        await cluster.ack(topic, group, (await cluster.receive(topic, group))[:7])
        wiped = next(number for number in (1, 2, 3) if number != cluster.state(topic).leader)
        await cluster.stop(wiped)
        await cluster.wipe(wiped)
        await cluster.start(wiped)
        await cluster.until(lambda: sorted(cluster.state(topic).isr) == [1, 2, 3])
        others = [number for number in (1, 2, 3) if number != wiped]
        await cluster.stop(others[0])
        await cluster.send(topic, b"10")
        assert [each.offset for each in await cluster.receive(topic, group)] == [7, 8, 9, 10]

    ClusterBuilder().nodes(3).run(main)


def test_a_follower_that_missed_a_trimmed_delivery_log_begins_with_the_leaders_snapshot() -> None:
    settings = NodeSettings(log_store=SMALL.log_store, delivery_snapshot_bytes=300, delivery_segment_bytes=400)

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1, max_replica_lag_ms=500)
        group = await cluster.group()
        away = next(number for number in (1, 2, 3) if number != cluster.state(topic).leader)
        await cluster.send(topic, b"0")
        await cluster.ack(topic, group, await cluster.receive(topic, group))
        await cluster.stop(away)
        for number in range(40):
            await cluster.send(topic, b"%d" % number)
            await cluster.ack(topic, group, await cluster.receive(topic, group))
        leader = cluster.state(topic).leader
        await cluster.until(lambda: cluster.replica(leader, topic).logs[LogKind.DELIVERY].log_start > 5)
        await cluster.start(away)
        await cluster.until(lambda: away in cluster.state(topic).isr)
        assert cluster.replica(away, topic).logs[LogKind.DELIVERY].log_start > 5
        await cluster.stop(*(number for number in (1, 2, 3) if number != away))
        await cluster.send(topic, b"last")
        assert [each.record.body for each in await cluster.receive(topic, group)] == [b"last"]

    ClusterBuilder().nodes(3).storing(settings).run(main)


def test_a_follower_trims_its_own_delivery_log() -> None:
    settings = NodeSettings(
        log_store=SMALL.log_store,
        delivery_snapshot_bytes=300,
        delivery_segment_bytes=400,
        retention_interval_ms=1000,
    )

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        group = await cluster.group()
        for number in range(40):
            await cluster.send(topic, b"%d" % number)
            await cluster.ack(topic, group, await cluster.receive(topic, group))
        for number in cluster.nodes:
            log = cluster.replica(number, topic).logs[LogKind.DELIVERY]
            await cluster.until(lambda log=log: log.log_start > 5)  # type: ignore[misc]
        await cluster.stop(cluster.state(topic).leader)
        await cluster.send(topic, b"last")
        assert [each.record.body for each in await cluster.receive(topic, group)] == [b"last"]

    ClusterBuilder().nodes(3).storing(settings).run(main)


def test_leaders_serve_without_the_store_as_long_as_they_hear_their_followers() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        leader = cluster.leader(topic)
        for node in cluster.nodes.values():
            node.node.coordination_changed(False)
        await cluster.clock.sleep(10_000)
        assert (await cluster.send(topic, b"1")).base_offset == 0
        cluster.cut()
        await cluster.clock.sleep(10_000)
        with pytest.raises(ServerError) as caught:
            await leader.produce(ProduceRequest(topic.id, 0, encode_batch([Record(b"x")])))
        assert code_of(caught.value) == "UNAVAILABLE"
        cluster.mend()
        await cluster.clock.sleep(5_000)
        assert (await cluster.send(topic, b"2")).base_offset == 1

    ClusterBuilder().nodes(3).run(main)


def test_a_replica_that_was_moved_away_takes_its_data_along() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(replicas=2, min_insync_replicas=1)
        await cluster.send(topic, b"1")
        state = cluster.state(topic)
        [free] = {1, 2, 3} - set(state.replicas)
        admin = ClusterAdmin(cluster.store, cluster.nodes[1].metadata, clock=cluster.clock)
        await admin.reassign(topic.name, 0, [state.leader, free])
        gone = next(number for number in state.replicas if number != state.leader)
        await cluster.until(lambda: set(cluster.state(topic).replicas) == {state.leader, free})
        await cluster.until(lambda: not cluster.nodes[gone].node.replicas())
        await cluster.until(lambda: not cluster.nodes[gone].node.logs.keys())
        assert cluster.replica(free, topic).role is Role.FOLLOWER
        await cluster.send(topic, b"2")

    ClusterBuilder().nodes(3).run(main)


def test_a_stop_hands_out_nothing_and_loses_nothing() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        sending = [asyncio.ensure_future(cluster.send(topic, b"%d" % number)) for number in range(20)]
        await asyncio.sleep(0.002)
        await cluster.stop(cluster.state(topic).leader)
        outcomes = await asyncio.gather(*sending, return_exceptions=True)
        stored = [each.base_offset for each in outcomes if not isinstance(each, BaseException)]
        assert {code_of(each) for each in outcomes if isinstance(each, BaseException)} <= {"OUTCOME_UNKNOWN"}
        assert len(stored) == len(set(stored))
        [number, *_] = cluster.nodes
        assert cluster.replica(cluster.state(topic).leader, topic).logs[0].log_end >= len(stored), number

    ClusterBuilder().nodes(3).run(main)


def test_readers_get_from_a_follower_what_it_knows_to_be_committed() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        await cluster.send(topic, b"1")
        follower = next(number for number in (1, 2, 3) if number != cluster.state(topic).leader)
        node = cluster.nodes[follower].node
        await cluster.until(lambda: cluster.replica(follower, topic).high_watermarks[0] == 1)
        read = await node.records(RecordsRequest(topic.id, 0, 0, any_replica=True))
        assert (read.next_offset, read.high_watermark) == (1, 1)
        waiting = asyncio.ensure_future(node.records(RecordsRequest(topic.id, 0, 1, wait_ms=5_000, any_replica=True)))
        await cluster.send(topic, b"2")
        assert (await waiting).next_offset == 2
        with pytest.raises(ServerError) as caught:
            await node.records(RecordsRequest(topic.id, 0, 9, any_replica=True))
        assert code_of(caught.value) == "UNAVAILABLE", "it may only be behind"
        with pytest.raises(ServerError) as caught:
            await node.records(RecordsRequest(topic.id, 0, 0))
        assert code_of(caught.value) == "UNAVAILABLE"

    ClusterBuilder().nodes(3).run(main)


def test_a_decommissioned_partition_takes_nothing_and_goes_when_it_is_empty() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(partitions=2, min_insync_replicas=1, retention_ms=2_000, dedup_window_ms=1_000)
        await cluster.send(topic, b"1", partition=1)
        node = cluster.nodes[1]
        topics = TopicAdmin(cluster.store, node.metadata, clock=cluster.clock, entropy=SimEntropy(97))
        await topics.decommission(topic.name, [1])
        await cluster.until(lambda: cluster.state(topic, 1).life is not PartitionLife.ACTIVE)
        with pytest.raises(ServerError) as caught:
            await cluster.send(topic, b"2", partition=1)
        assert code_of(caught.value) == "PARTITION_DECOMMISSIONED"
        await cluster.until(lambda: cluster.state(topic, 1).life is PartitionLife.GONE)
        for each in cluster.nodes.values():
            await cluster.until(lambda each=each: [held.number for held in each.node.replicas()] == [0])  # type: ignore[misc]
        await cluster.send(topic, b"3")

    ClusterBuilder().nodes(3).run(main)
