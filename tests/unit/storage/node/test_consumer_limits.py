"""How much one consumer may have leased at a time, over all partitions that a node leads (rule R30)."""

import asyncio
import random
from typing import Any

import pytest
from msgspec.structs import replace

from cluster.model.values import Group, Topic
from storage.rpc.messages import ReceiveRequest, ReceiveResponse
from tests.support.simulated_node import SimulatedNode, with_node

PARTITIONS, LIMIT = 3, 4
VISIBILITY_MS = 5_000


async def made(sim: SimulatedNode, *, messages: int = 5) -> tuple[Topic, Group]:
    """So many messages in each partition."""
    topic = await sim.topic(partitions=PARTITIONS)
    group = await sim.group(max_in_flight_per_consumer=LIMIT, visibility_ms=VISIBILITY_MS, max_attempts=1_000)
    for number in range(PARTITIONS):
        if messages:
            await sim.send(topic, *[b"x"] * messages, partition=number)
    return topic, group


async def receive(
    sim: SimulatedNode, topic: Topic, group: Group, consumer: str = "a", max_messages: int = 3, **options: Any
) -> ReceiveResponse:
    return await sim.node.receive(ReceiveRequest([topic.id], group.id, consumer, max_messages, 1 << 20, **options))


async def settle(sim: SimulatedNode, topic: Topic, group: Group, delivered: list, action: str = "ack") -> None:
    for message in delivered:
        assert await sim.settle(action, topic, group, [message]) == [""]


def test_it_is_counted_over_all_partitions_and_told() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim)
        first = (await receive(sim, topic, group)).messages
        assert [len(first), len((await receive(sim, topic, group)).messages)] == [3, 1]
        assert await receive(sim, topic, group) == ReceiveResponse([], "IN_FLIGHT_LIMIT_PER_CONSUMER")
        assert len((await receive(sim, topic, group, "b", 10)).messages) == LIMIT
        await settle(sim, topic, group, first[:2])
        assert len((await receive(sim, topic, group)).messages) == 2

    with_node(main)


def test_receives_of_one_consumer_at_the_same_time_do_not_exceed_it_together() -> None:
    """Each of them waits for the disk after every partition, and the others go on meanwhile."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim, messages=2)
        await sim.stop()
        sim.disk.misses_cache = lambda _: True
        await sim.start()
        found = await asyncio.gather(*[receive(sim, topic, group, max_messages=LIMIT, wait_ms=100) for _ in range(6)])
        assert sum(len(each.messages) for each in found) == LIMIT
        assert not sim.node._receiver._limits._turns

    with_node(main)


@pytest.mark.parametrize("action", ["ack", "nack", "release"])
def test_who_waits_at_the_limit_gets_more_as_soon_as_there_is_room(action: str) -> None:
    """Also from a partition where nothing has come back."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim)
        delivered = (await receive(sim, topic, group, max_messages=10)).messages
        poll = asyncio.create_task(receive(sim, topic, group, wait_ms=20_000))
        await sim.clock.sleep(1_000)
        assert not poll.done()
        began_ms = sim.clock.monotonic_ms()
        await settle(sim, topic, group, delivered[:1], action)
        assert len((await poll).messages) == 1
        assert sim.clock.monotonic_ms() - began_ms < 100

    with_node(main)


def test_a_consumer_whose_leases_ran_out_comes_back() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim)
        await receive(sim, topic, group, max_messages=10)
        found = (await receive(sim, topic, group, wait_ms=20_000)).messages
        assert len(found) == 3
        assert sim.clock.monotonic_ms() < 2 * VISIBILITY_MS

    with_node(main)


def test_who_waits_at_the_limit_keeps_no_news_from_others() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim, messages=2)
        await receive(sim, topic, group, max_messages=10)
        await receive(sim, topic, group, "c", 10)
        at_limit = [asyncio.create_task(receive(sim, topic, group, wait_ms=4_000)) for _ in range(3)]
        other = asyncio.create_task(receive(sim, topic, group, "b", wait_ms=4_000))
        await sim.clock.sleep(100)
        await sim.send(topic, b"news", partition=1)
        assert [message.record.body for message in (await other).messages] == [b"news"]
        assert sim.clock.monotonic_ms() < 1_000
        assert {answer.reason for answer in await asyncio.gather(*at_limit)} == {"IN_FLIGHT_LIMIT_PER_CONSUMER"}

    with_node(main)


def test_a_limit_that_is_taken_back_lets_who_waits_go_on() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim)
        await receive(sim, topic, group, max_messages=10)
        poll = asyncio.create_task(receive(sim, topic, group, max_messages=10, wait_ms=4_000))
        await sim.clock.sleep(100)
        await sim.groups.update(group.name, settings=replace(group.settings, max_in_flight_per_consumer=None))
        assert (await poll).messages
        assert sim.clock.monotonic_ms() < 1_000

    with_node(main)


@pytest.mark.parametrize("seed", range(6))
def test_the_limit_holds_and_everything_is_done_whoever_does_what(seed: int) -> None:
    async def main(sim: SimulatedNode) -> None:
        chance = random.Random(seed)
        topic, group = await made(sim, messages=20)
        leased: dict[str, dict[tuple[int, int], tuple[int, int]]] = {name: {} for name in "abc"}
        done: set[tuple[int, int]] = set()

        def live(name: str) -> int:
            now_ms = sim.clock.monotonic_ms()
            return sum(until_ms > now_ms for _, until_ms in leased[name].values())

        async def consume(name: str) -> None:
            while len(done) < 20 * PARTITIONS:
                asked = chance.randint(1, 6)
                found = (await receive(sim, topic, group, name, asked, wait_ms=chance.choice([0, 3_000]))).messages
                for message in found:
                    place = message.partition, message.offset
                    leased[name][place] = message.attempt, sim.clock.monotonic_ms() + VISIBILITY_MS - 50
                assert live(name) <= LIMIT
                for message in found:
                    place = message.partition, message.offset
                    what = chance.choice(["ack", "ack", "nack", "forget"])
                    if what != "forget":
                        assert await sim.settle(what, topic, group, [message], delay_ms=0) == [""]
                        leased[name].pop(place, None)
                    if what == "ack":
                        done.add(place)
                await sim.clock.sleep(chance.random() * 500)

        await asyncio.gather(*[consume(name) for name in "abc"])

    with_node(main)
