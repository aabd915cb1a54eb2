"""Partitions and topics of very different volume: each comes to its turn, whoever else asks meanwhile."""

from cluster.model.values import Group, Topic
from storage.rpc.messages import ReceiveRequest
from tests.support.simulated_node import SimulatedNode, with_node

LARGE, SMALL = 400, 1


async def receive(
    sim: SimulatedNode, topics: list[Topic], group: Group, max_messages: int = 10
) -> set[tuple[str, int]]:
    """Where the messages of one receive are from."""
    request = ReceiveRequest([topic.id for topic in topics], group.id, "c", max_messages, 1_000_000)
    return {(message.topic_id, message.partition) for message in (await sim.node.receive(request)).messages}


async def receives_until(sim: SimulatedNode, topics: list[Topic], groups: list[Group], place: tuple[str, int]) -> int:
    """How many receives until each of the groups, which ask by turns, has got something from there."""
    starving = {group.id for group in groups}
    for count in range(1, LARGE):
        for group in groups:
            if place in await receive(sim, topics, group):
                starving.discard(group.id)
        if not starving:
            return count
    raise AssertionError("some starve")


def test_a_small_partition_waits_for_one_receive_of_each_larger_one() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(partitions=4), await sim.group()
        for number in range(3):
            await sim.send(topic, *[b"x"] * LARGE, partition=number)
        await sim.send(topic, *[b"x"] * SMALL, partition=3)
        assert await receives_until(sim, [topic], [group], (topic.id, 3)) <= 4

    with_node(main)


def test_a_small_topic_waits_for_one_receive_of_the_larger_one_whatever_other_groups_ask() -> None:
    """With one count of turns for all, two groups by turns would begin at the same topic for ever."""

    async def main(sim: SimulatedNode) -> None:
        large, small = await sim.topic("large"), await sim.topic("small")
        await sim.send(large, *[b"x"] * LARGE)
        await sim.send(small, *[b"x"] * SMALL)
        for names in (["a"], ["b", "c"], ["d", "e", "f"]):
            groups = [await sim.group(name) for name in names]
            assert await receives_until(sim, [large, small], groups, (small.id, 0)) <= 2

    with_node(main)


def test_a_topic_that_was_not_come_to_is_first_next_time() -> None:
    async def main(sim: SimulatedNode) -> None:
        topics = [await sim.topic(name) for name in ("a", "b", "c")]
        for topic in topics:
            await sim.send(topic, *[b"x"] * LARGE)
        group = await sim.group()
        found = [await receive(sim, topics, group) for _ in range(6)]
        assert found == [{(topic.id, 0)} for topic in topics] * 2

    with_node(main)
