"""Receives of a key-ordered group on a node: who waits for a key hears of it when it goes on."""

import asyncio

from acklog.wire.batch import encode_batch
from acklog.wire.record import Record
from cluster.model.values import GroupMode, GroupSettings
from storage.rpc.messages import ProduceRequest
from tests.support.simulated_node import SimulatedNode, with_node


def test_who_waits_gets_what_was_behind_a_message_when_that_is_a_dead_letter() -> None:
    """There is always somebody who waits, so nobody looks of their own accord."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        settings = GroupSettings(max_attempts=1, visibility_ms=1_000)
        group = await sim.groups.create("workers", mode=GroupMode.KEY_ORDERED, settings=settings)
        batch = encode_batch([Record(body, key="a") for body in (b"poison", b"next")])
        await sim.node.produce(ProduceRequest(topic.id, 0, batch))
        assert len((await sim.receive(topic, group, max_messages=1)).messages) == 1
        answer = await asyncio.wait_for(sim.receive(topic, group, wait_ms=20_000), 10)
        assert [message.record.body for message in answer.messages] == [b"next"]

    with_node(main)


def test_who_waits_gets_what_was_behind_a_message_that_is_done_as_it_is_given() -> None:
    """At most once: the first consumer has it while its ack is written, and the second one looks just then."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        group = await sim.groups.create("workers", mode=GroupMode.KEY_ORDERED, settings=GroupSettings())
        for turns in range(12):
            batch = encode_batch([Record(body, key="a") for body in (b"first", b"second")])
            await sim.node.produce(ProduceRequest(topic.id, 0, batch))
            first = asyncio.ensure_future(sim.receive(topic, group, max_messages=1, auto_ack=True))
            for _ in range(turns):
                await asyncio.sleep(0)
            second = asyncio.wait_for(sim.receive(topic, group, max_messages=1, auto_ack=True, wait_ms=20_000), 5)
            answers = await asyncio.gather(first, second)
            assert sorted(message.record.body for answer in answers for message in answer.messages) == [
                b"first",
                b"second",
            ]

    with_node(main)
