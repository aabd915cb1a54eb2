"""A leader that may have been deposed without knowing it hands out nothing, and says so instead of blaming receipts."""

import pytest

from cluster.errors import ServerError
from cluster.model.values import Group, Topic
from storage.node.storage_node import StorageNode
from storage.rpc.messages import ReceiveRequest, SettleItem, SettleRequest
from tests.support.cluster import Cluster, ClusterBuilder


def receive_of(topic: Topic, group: Group, *, wait_ms: int = 0) -> ReceiveRequest:
    return ReceiveRequest([topic.id], group.id, "", 10, 1 << 20, visibility_ms=600_000, wait_ms=wait_ms)


async def refusal_of(leader: StorageNode, topic: Topic, group: Group) -> str:
    """The code; "" when it hands something out."""
    try:
        assert (await leader.receive(receive_of(topic, group))).messages
    except ServerError as error:
        return error.code.name
    return ""


@pytest.mark.parametrize("is_registered", [True, False])
def test_a_leader_that_hears_nobody_hands_out_nothing(is_registered: bool) -> None:
    """Whatever it believes of its registration: somebody else may have it by now."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        group = await cluster.group()
        await cluster.send(topic, *(b"%d" % number for number in range(40)))
        leader = cluster.leader(topic)
        assert await refusal_of(leader, topic, group) == ""
        for node in cluster.nodes.values():
            node.node.coordination_changed(is_registered)
        cluster.cut()
        assert await refusal_of(leader, topic, group) == "", "it may be a passing trouble"
        await cluster.clock.sleep(3_500)
        assert await refusal_of(leader, topic, group) == "UNAVAILABLE"
        cluster.mend()
        await cluster.clock.sleep(10_000)
        assert await cluster.receive(topic, group)

    ClusterBuilder().nodes(3).run(main)


def test_a_leader_that_needs_nobody_hands_out_alone() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(replicas=1)
        group = await cluster.group()
        await cluster.send(topic, b"1")
        cluster.cut()
        await cluster.clock.sleep(10_000)
        assert await refusal_of(cluster.leader(topic), topic, group) == ""

    ClusterBuilder().nodes(3).run(main)


def test_a_receipt_of_a_later_leader_is_not_called_wrong() -> None:
    """The client goes on to the next leader with it; INVALID_RECEIPT would make it forget the message."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        group = await cluster.group()
        await cluster.send(topic, b"1")
        [message] = await cluster.receive(topic, group)
        later = SettleItem(message.offset, 0, message.leader_epoch + 1, 1)
        for action in ("ack", "nack", "extend"):
            request = SettleRequest(topic.id, 0, group.id, action, [later], visibility_ms=1_000)
            with pytest.raises(ServerError) as caught:
                await cluster.leader(topic).settle(request)
            assert caught.value.code.name == "UNAVAILABLE"
        assert await cluster.ack(topic, group, [message]) == [""]

    ClusterBuilder().nodes(3).run(main)


def test_an_idle_partition_is_heard_all_the_time() -> None:
    """Its followers fetch, though not a word of it: nothing of it has changed."""

    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(min_insync_replicas=2)
        group = await cluster.group()
        await cluster.send(topic, b"1")
        await cluster.clock.sleep(60_000)
        assert await refusal_of(cluster.leader(topic), topic, group) == ""

    ClusterBuilder().nodes(3).run(main)
