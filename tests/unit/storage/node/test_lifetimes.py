"""What a node does about messages whose time to live is over: what is durable, when, and how far one receive goes."""

import dataclasses
from typing import Any

import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.processes.node_metrics import NodeCollector
from cluster.errors import ServerError
from cluster.model.values import Expired, Group, Topic
from storage.rpc import messages
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

FEW = dataclasses.replace(SMALL, expired_per_look_max=20, expired_per_receive_max=60)


async def send(sim: SimulatedNode, topic: Topic, count: int, *, ttl_ms: int | None = 1_000) -> None:
    batch = encode_batch([Record(b"%d" % number, ttl_ms=ttl_ms) for number in range(count)])
    await sim.node.produce(messages.ProduceRequest(topic.id, 0, batch))


async def offsets(sim: SimulatedNode, topic: Topic, group: Group, **options: Any) -> list[int]:
    return [message.offset for message in (await sim.receive(topic, group, **options)).messages]


async def position(sim: SimulatedNode, topic: Topic) -> messages.GroupPosition:
    (group,) = (await sim.positions(topic)).groups
    return group


def test_it_expires_at_the_millisecond_and_not_before() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        assert await offsets(sim, topic, group) == []  # its start is written
        await send(sim, topic, 2)
        appended_ms = (await sim.positions(topic)).last_append_ms
        await sim.clock.sleep(appended_ms + 999 - sim.clock.now_ms())
        assert await offsets(sim, topic, group, max_messages=1) == [0]
        await sim.clock.sleep(appended_ms + 1000 - sim.clock.now_ms())
        assert await offsets(sim, topic, group, max_messages=1) == []
        assert (await position(sim, topic)).expired == 1

    with_node(main)


def test_what_is_passed_over_stays_so_after_a_crash_and_with_another_clock() -> None:
    """R41: the clock was set back, and what had expired by the one of before does not come again."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await send(sim, topic, 5)
        await sim.clock.sleep(2_000)
        await send(sim, topic, 1)
        assert await offsets(sim, topic, group) == [5]
        await sim.lose_power()
        sim.machine_clock.jump(-3600_000)
        await sim.start()
        assert await offsets(sim, topic, group) == [5]
        assert ((await position(sim, topic)).progress, (await position(sim, topic)).expired) == (5, 5)

    with_node(main)


def test_nothing_behind_it_is_given_out_before_that_is_durable() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group(visibility_ms=5_000)
        await send(sim, topic, 3)
        await send(sim, topic, 1, ttl_ms=None)
        assert await offsets(sim, topic, group, max_messages=1) == [0]
        await sim.clock.sleep(10_000)
        [partition] = sim.node.partitions_led()
        partition.groups._delivery.leadership_ended()
        with pytest.raises(ServerError) as failed:
            await sim.receive(topic, group)
        assert failed.value.code is ProblemCode.OUTCOME_UNKNOWN
        await sim.lose_power()
        await sim.start()
        assert (await position(sim, topic)).progress == 0
        assert await offsets(sim, topic, group) == [3]

    with_node(main)


def test_one_receive_goes_only_so_far_and_one_that_waits_goes_on() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await send(sim, topic, 200)
        await send(sim, topic, 1, ttl_ms=None)
        await sim.clock.sleep(2_000)
        assert await offsets(sim, topic, group, max_messages=1) == []
        found = await position(sim, topic)
        assert 60 <= found.expired < 80
        assert (found.progress, found.in_flight) == (found.expired, 0)
        assert await offsets(sim, topic, group, max_messages=1, wait_ms=1_000) == [200]

    with_node(main, settings=FEW)


@pytest.mark.parametrize("count", [1, 9, 10])
def test_a_message_that_had_expired_leaves_its_room_to_others(count: int) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group(max_in_flight=10)
        await send(sim, topic, count)
        await send(sim, topic, 20, ttl_ms=None)
        await sim.clock.sleep(2_000)
        first = await offsets(sim, topic, group)
        assert len(first + await offsets(sim, topic, group)) == 10

    with_node(main)


def test_a_letter_is_moved_once_though_the_group_looks_again() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group(on_expired=Expired.DEAD_LETTER)
        await send(sim, topic, 3)
        await sim.clock.sleep(2_000)
        assert await offsets(sim, topic, group) == []
        await sim.lose_power()
        await sim.start()
        assert await offsets(sim, topic, group) == []
        await sim.clock.sleep(2_000)
        found = await position(sim, topic)
        assert (found.progress, found.expired, found.dead_lettered) == (3, 3, 3)
        letters = sim.metadata.topic("orders.workers.dlq")
        assert letters is not None
        assert await sim.bodies_in_log(letters) == [b"0", b"1", b"2"]
        assert {(record.headers or {})["acklog-dead-letter-cause"] for record in await sim.records_in_log(letters)} == {
            "expired"
        }

    with_node(main)


def test_the_metric_counts_them_by_topic_and_group() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await send(sim, topic, 4)
        await sim.clock.sleep(2_000)
        assert await offsets(sim, topic, group) == []
        families = {each.name: each for each in NodeCollector(sim.node, sim.metadata, names_max=10).collect()}
        [sample] = families["acklog_group_expired"].samples
        assert (sample.labels, sample.value) == ({"topic": "orders", "group": "workers"}, 4)

    with_node(main)
