"""Exclusive groups on three nodes: the coordinator moves, and nobody notices but by the time it takes."""

import asyncio

import pytest

from acklog.wire.problems import ProblemCode
from app.calls.members import Subscription
from app.services.membership import GroupMembership
from app.services.registry import Services
from cluster.catalog.group_admin import GroupAdmin
from cluster.errors import ServerError
from cluster.model.internal_topics import GROUPS_TOPIC, coordinator_partition
from cluster.model.values import Group, GroupMode, GroupSettings, Topic
from storage.rpc.membership_messages import HeartbeatResponse
from tests.sim.environment import SimEntropy
from tests.support.cluster import Cluster, ClusterBuilder


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
