"""An operator has a replica elected that was not in sync: real nodes, controllers and connections on virtual time."""

from functools import partial

import pytest

from acklog.wire.batch import decode_records, read_header
from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.errors import ServerError
from cluster.model.unclean_election import LogReach, ReplicaReport, longest, loss_by
from cluster.model.values import NO_LEADER, Topic
from storage.rpc.deletion_messages import DeleteRequest
from storage.rpc.messages import ReplicaReportRequest, SettleItem, SettleRequest
from tests.support.cluster import Cluster, ClusterBuilder


async def reports_of(cluster: Cluster, topic: Topic) -> list[ReplicaReport]:
    found = []
    for number, node in cluster.nodes.items():
        said = await node.node.replica_report(ReplicaReportRequest(topic.id, 0))
        messages, delivery = (
            LogReach(each.log_start, each.log_end, each.last_epoch, each.high_watermark)
            for each in (said.messages, said.delivery)
        )
        found.append(ReplicaReport(number, said.incarnation, said.directory_id, messages, delivery, said.is_damaged))
    return found


async def elect_unclean(cluster: Cluster, topic: Topic) -> int:
    """Whoever loses least; which node that is."""
    node = next(iter(cluster.nodes.values()))
    reports = await reports_of(cluster, topic)
    state = cluster.state(topic)
    revision = node.metadata.revision_of(f"/acklog/partitions/{topic.id}/0000")
    chosen = longest([each for each in reports if each.messages.log_end])
    assert chosen is not None
    admin = ClusterAdmin(cluster.store, node.metadata, clock=cluster.clock)
    loss = loss_by(chosen, reports, state)
    await admin.elect_unclean(topic.name, 0, chosen, loss, revision=revision)
    return chosen.node


async def bodies(cluster: Cluster, number: int, topic: Topic) -> list[bytes]:
    return [
        record.body
        for batch in await cluster.records(number, topic)
        for record in decode_records(batch, read_header(batch))
    ]


async def out_of_sync(cluster: Cluster, topic: Topic) -> tuple[int, list[int]]:
    """One follower stops, and leaves the ISR: (which one, who stays in sync)."""
    leader = cluster.state(topic).leader
    away = next(number for number in sorted(cluster.nodes) if number != leader)
    await cluster.stop(away)
    await cluster.until(lambda: away not in cluster.state(topic).isr)
    return away, list(cluster.state(topic).isr)


async def nobody_in_sync_is_left(cluster: Cluster, topic: Topic, away: int, members: list[int]) -> None:
    """Only who was out of sync is there."""
    for number in [*members[1:], members[0]]:
        await cluster.stop(number)
    await cluster.start(away)
    await cluster.clock.sleep(15_000)


def test_nobody_is_elected_uncleanly_by_itself() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1, max_replica_lag_ms=1_000)
        await cluster.send(topic, b"1")
        away, members = await out_of_sync(cluster, topic)
        await cluster.send(topic, b"2")
        await nobody_in_sync_is_left(cluster, topic, away, members)
        await cluster.clock.sleep(120_000)
        state = cluster.state(topic)
        assert away not in state.isr
        assert state.leader != away
        assert state.unclean_election is None

    ClusterBuilder().nodes(3).run(main)


def test_members_with_longer_logs_come_back_and_follow() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1, max_replica_lag_ms=1_000)
        group = await cluster.group()
        for number in range(4):
            await cluster.send(topic, b"old %d" % number)
        delivered = await cluster.receive(topic, group)
        assert await cluster.ack(topic, group, delivered[:2]) == ["", ""]
        away, members = await out_of_sync(cluster, topic)
        for number in range(4, 8):
            await cluster.send(topic, b"lost %d" % number)
        late = await cluster.receive(topic, group)
        assert await cluster.ack(topic, group, [*delivered[2:], *late]) == [""] * (2 + len(late))
        await nobody_in_sync_is_left(cluster, topic, away, members)

        assert await elect_unclean(cluster, topic) == away
        for number in range(6):
            await cluster.send(topic, b"new %d" % number)
        mark = cluster.state(topic).unclean_election
        assert mark is not None
        assert (mark.count, mark.node, mark.log_end) == (1, away, 4)
        for attempt, code in ((late[0].attempt, "RECEIPT_STALE"), (0, "MESSAGE_NOT_FOUND")):
            stale = SettleItem(late[0].offset, 0, late[0].leader_epoch, attempt)
            request = SettleRequest(topic.id, 0, group.id, "ack", [stale])
            answer = await cluster.following(partial(cluster.leader(topic).settle, request))
            assert answer.results == [code], "it was another message's"
        again = await cluster.receive(topic, group)
        assert [each.record.body for each in again][-6:] == [b"new %d" % number for number in range(6)]

        await cluster.start(*members)
        await cluster.until(lambda: sorted(cluster.state(topic).isr) == [1, 2, 3])
        everywhere = [await cluster.records(number, topic) for number in cluster.nodes]
        assert everywhere[0] == everywhere[1] == everywhere[2]
        kept = [b"old %d" % number for number in range(4)]
        assert await bodies(cluster, members[0], topic) == [*kept, *(b"new %d" % number for number in range(6))]
        assert all(cluster.replica(number, topic).contradiction is None for number in cluster.nodes)
        for _ in members:  # whoever leads has the group's state from the one that was elected
            await cluster.stop(cluster.state(topic).leader)
            then = await cluster.receive(topic, group)
            assert [each.record.body for each in then] == [each.record.body for each in again]

    ClusterBuilder().nodes(3).run(main)


def test_what_was_acknowledged_beyond_the_new_end_is_not_done_any_more() -> None:
    """The deliveries of the elected replica go further than its messages: new ones must not count as done."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1, max_replica_lag_ms=1_000)
        group = await cluster.group()
        for number in range(6):
            await cluster.send(topic, b"old %d" % number)
        delivered = await cluster.receive(topic, group)
        assert await cluster.ack(topic, group, [delivered[0], *delivered[3:]]) == [""] * 4
        away, members = await out_of_sync(cluster, topic)
        await cluster.send(topic, b"lost")
        await nobody_in_sync_is_left(cluster, topic, away, members)
        await cluster.replica(away, topic).logs[0].truncate_to(4)
        await elect_unclean(cluster, topic)
        for number in range(4):
            await cluster.send(topic, b"new %d" % number)
        again = [each.record.body for each in await cluster.receive(topic, group)]
        assert again == [b"old 1", b"old 2", *(b"new %d" % number for number in range(4))]
        await cluster.start(*members)
        await cluster.until(lambda: sorted(cluster.state(topic).isr) == [1, 2, 3])
        await cluster.stop(away)
        assert [each.record.body for each in await cluster.receive(topic, group)] == again, "on every replica"

    ClusterBuilder().nodes(3).run(main)


def test_what_was_deleted_before_takes_no_message_that_came_to_its_offset_since() -> None:
    """R9: the log that it was said of was cut."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1, max_replica_lag_ms=1_000)
        for number in range(3):
            await cluster.send(topic, b"old %d" % number)
        away, members = await out_of_sync(cluster, topic)
        for _ in range(3):
            await cluster.send(topic, b"lost")
        await cluster.leader(topic).delete(DeleteRequest(topic.id, 0, "end"))
        deletion = cluster.state(topic).deletion
        assert deletion is not None
        assert deletion.before == 6
        await nobody_in_sync_is_left(cluster, topic, away, members)
        await elect_unclean(cluster, topic)
        for number in range(2):
            await cluster.send(topic, b"new %d" % number)
        group = await cluster.group()
        assert [each.record.body for each in await cluster.receive(topic, group)] == [b"new 0", b"new 1"]
        await cluster.leader(topic).delete(DeleteRequest(topic.id, 0, "offset", 4))
        await cluster.start(*members)
        await cluster.until(lambda: sorted(cluster.state(topic).isr) == [1, 2, 3])
        await cluster.stop(away)
        other = await cluster.group("other")
        assert [each.record.body for each in await cluster.receive(topic, other)] == [b"new 1"]

    ClusterBuilder().nodes(3).run(main)


def test_what_was_projected_of_lost_messages_is_no_start_for_others() -> None:
    """The elected replica has never heard of the group, and the offset store has, of messages that are gone."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1, max_replica_lag_ms=1_000)
        for number in range(4):
            await cluster.send(topic, b"old %d" % number)
        away, members = await out_of_sync(cluster, topic)
        group = await cluster.group()
        for number in range(4):
            await cluster.send(topic, b"lost %d" % number)
        delivered = await cluster.receive(topic, group)
        assert await cluster.ack(topic, group, delivered) == [""] * 8
        await cluster.clock.sleep(30_000)
        await nobody_in_sync_is_left(cluster, topic, away, members)
        await elect_unclean(cluster, topic)
        for number in range(6):
            await cluster.send(topic, b"new %d" % number)
        found = [each.record.body for each in await cluster.receive(topic, group)]
        assert found == [b"new %d" % number for number in range(6)]

    ClusterBuilder().nodes(3).run(main)


def test_a_wiped_member_leaves_a_partition_without_leader_until_somebody_asks() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2, max_replica_lag_ms=1_000)
        await cluster.send(topic, b"1")
        away, members = await out_of_sync(cluster, topic)
        await cluster.send(topic, b"2")
        for number in members:
            await cluster.stop(number)
            await cluster.wipe(number)
        await cluster.start(away, *members)
        await cluster.until(lambda: cluster.state(topic).leader == NO_LEADER)
        await cluster.clock.sleep(60_000)
        assert cluster.state(topic).leader == NO_LEADER
        assert await elect_unclean(cluster, topic) == away
        assert (await cluster.send(topic, b"3")).base_offset == 1, "as soon as two are in sync again"
        await cluster.until(lambda: sorted(cluster.state(topic).isr) == [1, 2, 3])
        assert [await bodies(cluster, number, topic) for number in (1, 2, 3)] == [[b"1", b"3"]] * 3

    ClusterBuilder().nodes(3).run(main)


def test_it_is_refused_while_somebody_in_sync_can_be_elected() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=1)
        await cluster.send(topic, b"1")
        with pytest.raises(ServerError) as caught:
            await elect_unclean(cluster, topic)
        assert caught.value.code.name == "CLEAN_ELECTION_POSSIBLE"
        assert cluster.state(topic).unclean_election is None

    ClusterBuilder().nodes(3).run(main)
