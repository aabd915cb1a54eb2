"""Exclusive groups on three nodes: the coordinator moves, and nobody notices but by the time it takes."""

import asyncio
from dataclasses import replace

import msgspec
import pytest

from acklog.wire.problems import ProblemCode
from app.calls.members import Subscription
from app.services.membership import GroupMembership
from app.services.registry import Services
from cluster.catalog.group_admin import GroupAdmin
from cluster.errors import ServerError
from cluster.model.internal_topics import GROUPS_TOPIC, coordinator_partition, groups_topic_config
from cluster.model.values import Group, GroupMode, GroupSettings, Topic
from storage.groups.coordinator_settings import CoordinatorSettings
from storage.rpc.membership_messages import HeartbeatRequest, HeartbeatResponse
from tests.sim.environment import SimEntropy
from tests.support.cluster import Cluster, ClusterBuilder
from tests.support.simulated_node import SMALL


def membership_of(cluster: Cluster) -> GroupMembership:
    return Services(cluster.gateways[0].gateway).membership


async def exclusive_group(cluster: Cluster, name: str = "workers") -> Group:
    view = cluster.gateways[0].metadata
    groups = GroupAdmin(cluster.store, view, clock=cluster.clock, entropy=SimEntropy(f"group {name}"))
    return await groups.create(name, mode=GroupMode.EXCLUSIVE, settings=GroupSettings())


def coordinator(cluster: Cluster, group: Group) -> tuple[Topic, int]:
    topic = cluster.gateways[0].metadata.topic(GROUPS_TOPIC)
    assert topic is not None
    return topic, coordinator_partition(group.id, topic)


def test_the_coordinators_node_dies_and_every_member_keeps_what_it_has() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(partitions=9)
        group = await exclusive_group(cluster)
        membership = membership_of(cluster)
        subscription = Subscription((topic.id,))
        for name in ("one", "two", "three"):
            await membership.heartbeat(group, name, subscription)
        before = {name: await membership.heartbeat(group, name, subscription) for name in ("one", "two", "three")}
        assert [len(answer.assigned) for answer in before.values()] == [3, 3, 3]
        place, number = coordinator(cluster, group)
        assert place.replication_factor == 3
        assert place.config.min_insync_replicas == 2
        await cluster.in_sync(place)
        waiting = [
            asyncio.create_task(
                membership.heartbeat(
                    group,
                    name,
                    subscription,
                    member_epoch=answer.member_epoch,
                    known_epoch=answer.member_epoch,
                    wait_ms=20_000,
                )
            )
            for name, answer in before.items()
        ]
        await cluster.clock.sleep(100)
        await cluster.stop(cluster.state(place, number).leader)
        after = dict(zip(before, await asyncio.gather(*waiting), strict=True))
        assert after == before
        assert len((await membership.members(group)).members) == 3

    ClusterBuilder().nodes(3).gateway().run(main)


def test_a_member_that_is_not_heard_goes_also_after_the_coordinator_moved() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(partitions=4)
        group = await exclusive_group(cluster)
        membership, subscription = membership_of(cluster), Subscription((topic.id,))
        first = await membership.heartbeat(group, "one", subscription)
        await membership.heartbeat(group, "two", subscription)
        place, number = coordinator(cluster, group)
        await cluster.in_sync(place)
        await cluster.stop(cluster.state(place, number).leader)

        async def members() -> int:
            await membership.heartbeat(group, "two", subscription)
            return len((await membership.members(group)).members)

        while await members() > 1:
            await cluster.clock.sleep(1_000)
        answer = await membership.heartbeat(group, "two", subscription)
        assert len(answer.assigned) == 4
        with pytest.raises(ServerError) as refused:
            await membership.heartbeat(group, "one", subscription, member_epoch=first.member_epoch)
        assert refused.value.code is ProblemCode.MEMBER_UNKNOWN

    ClusterBuilder().nodes(3).gateway().run(main)


def test_topics_that_come_are_assigned_while_members_wait() -> None:
    async def main(cluster: Cluster) -> None:
        group = await exclusive_group(cluster)
        membership, subscription = membership_of(cluster), Subscription((), ("orders.*",))
        first = await membership.heartbeat(group, "one", subscription)
        assert first.assigned == []
        waiting = asyncio.create_task(
            membership.heartbeat(group, "one", subscription, known_epoch=first.member_epoch, wait_ms=20_000)
        )
        begun_ms = cluster.clock.monotonic_ms()
        await cluster.topic("orders.new", partitions=5)
        answer: HeartbeatResponse = await waiting
        assert len(answer.assigned) == 5
        assert cluster.clock.monotonic_ms() - begun_ms < 1_000

    ClusterBuilder().nodes(3).gateway().run(main)


def test_a_change_that_cannot_be_made_durable_is_told_to_nobody() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(partitions=4)
        group = await exclusive_group(cluster)
        membership, subscription = membership_of(cluster), Subscription((topic.id,))
        first = await membership.heartbeat(group, "one", subscription)
        place, number = coordinator(cluster, group)
        await cluster.in_sync(place)
        cluster.cut()
        request = HeartbeatRequest(number, group.id, "two", 0, [topic.id])
        with pytest.raises(ServerError) as refused:
            await cluster.leader(place, number).heartbeat(request)
        assert refused.value.code is ProblemCode.UNAVAILABLE
        cluster.mend()
        await cluster.in_sync(place)
        again = await membership.heartbeat(group, "one", subscription, member_epoch=first.member_epoch)
        assert first.member_epoch <= again.member_epoch
        two = await membership.heartbeat(group, "two", subscription)
        assert len(two.assigned) == 2
        assert two.member_epoch > first.member_epoch

    ClusterBuilder().nodes(3).gateway().run(main)


def test_the_log_is_written_anew_and_trimmed_and_read_again() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(partitions=64)
        group = await exclusive_group(cluster)
        membership, subscription = membership_of(cluster), Subscription((topic.id,))
        await membership.heartbeat(group, "one", subscription)
        place, number = coordinator(cluster, group)
        await cluster.in_sync(place)
        longest = 0
        for turn in range(400):
            await membership.heartbeat(group, f"other-{turn % 7}", subscription)
            await membership.leave(group, f"other-{turn % 7}")
            longest = max(
                longest, cluster.replica(cluster.state(place, number).leader, place, number).logs[0].size_bytes
            )
        before = await membership.heartbeat(group, "one", subscription)
        sizes = [cluster.replica(node, place, number).logs[0] for node in cluster.nodes]
        assert longest < 64 * 1024
        assert all(log.log_start > 0 for log in sizes)
        await cluster.stop(cluster.state(place, number).leader)
        assert await membership.heartbeat(group, "one", subscription) == before

    settings = CoordinatorSettings(log_bytes_max=16 * 1024, batch_bytes_max=1024)
    segments = groups_topic_config(2)
    with pytest.MonkeyPatch.context() as patch:
        small = msgspec.structs.replace(segments, segment_bytes=4 * 1024)
        patch.setattr("app.services.membership.groups_topic_config", lambda _min_insync: small)
        ClusterBuilder().nodes(3).gateway().storing(replace(SMALL, coordinator=settings)).run(main)
