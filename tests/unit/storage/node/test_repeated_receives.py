"""A receive by an id that is made again: the same messages by the same receipts, as long as nothing became of them."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from cluster.model.pauses import with_pause
from cluster.model.values import Group, GroupMode, GroupSettings, Topic
from storage.delivery.receive_attempts import ATTEMPT_AGE_MAX_MS
from storage.rpc.messages import ReceiveResponse
from tests.support.simulated_node import SimulatedNode, with_node

VISIBILITY_MS = 30_000


async def made(sim: SimulatedNode, *bodies: bytes) -> tuple[Topic, Group]:
    topic = await sim.topic(partitions=2)
    settings = GroupSettings(visibility_ms=VISIBILITY_MS)
    group = await sim.groups.create("workers", mode=GroupMode.KEY_ORDERED, settings=settings)
    await sim.send(topic, *bodies)
    return topic, group


async def repeated(sim: SimulatedNode, topic: Topic, group: Group, **options: Any) -> ReceiveResponse:
    return await sim.receive(topic, group, **{"attempt_id": "a", "max_messages": 0} | options)


def receipts(response: ReceiveResponse) -> list[str]:
    return [message.receipt for message in response.messages]


def test_the_same_messages_by_the_same_receipts() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim, b"1", b"2", b"3")
        first = await sim.receive(topic, group, attempt_id="a", max_messages=2)
        assert first.attempt is not None
        await sim.clock.sleep(5_000)
        again = await repeated(sim, topic, group)
        assert [message.record.body for message in again.messages] == [b"1", b"2"]
        assert receipts(again) == receipts(first)
        assert again.attempt == first.attempt
        assert await sim.settle("ack", topic, group, again.messages) == ["", ""]
        assert (await repeated(sim, topic, group)).messages == []

    with_node(main)


def test_another_id_and_another_group_have_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim, b"1")
        await sim.receive(topic, group, attempt_id="a")
        assert (await repeated(sim, topic, group, attempt_id="b")).messages == []
        other = await sim.groups.create("others", mode=GroupMode.KEY_ORDERED, settings=GroupSettings())
        assert (await repeated(sim, topic, other)).messages == []

    with_node(main)


def test_each_repetition_hides_the_messages_for_as_long_again() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim, b"1")
        first = await sim.receive(topic, group, attempt_id="a")
        for _ in range(3):
            await sim.clock.sleep(VISIBILITY_MS - 1_000)
            assert receipts(await repeated(sim, topic, group)) == receipts(first)
        await sim.clock.sleep(VISIBILITY_MS - 1_000)
        assert (await sim.receive(topic, group)).messages == []
        await sim.clock.sleep(1_000)
        assert (await repeated(sim, topic, group)).messages == []
        assert [message.attempt for message in (await sim.receive(topic, group, wait_ms=1_000)).messages] == [2]

    with_node(main)


Change = Callable[[SimulatedNode, Topic, Group, ReceiveResponse], Awaitable[Any]]


async def _acked(sim: SimulatedNode, topic: Topic, group: Group, first: ReceiveResponse) -> None:
    await sim.settle("ack", topic, group, first.messages[1:])


async def _given_back(sim: SimulatedNode, topic: Topic, group: Group, first: ReceiveResponse) -> None:
    await sim.settle("nack", topic, group, first.messages[1:], delay_ms=0)


async def _extended(sim: SimulatedNode, topic: Topic, group: Group, first: ReceiveResponse) -> None:
    await sim.settle("extend", topic, group, first.messages[1:], visibility_ms=VISIBILITY_MS)


async def _timed_out(sim: SimulatedNode, topic: Topic, group: Group, first: ReceiveResponse) -> None:
    await sim.clock.sleep(VISIBILITY_MS)


async def _restarted(sim: SimulatedNode, topic: Topic, group: Group, first: ReceiveResponse) -> None:
    await sim.stop()
    await sim.start()
    while not (await sim.receive(topic, group, attempt_id="other", wait_ms=100)).messages:
        pass


@pytest.mark.parametrize("change", [_acked, _given_back, _extended, _timed_out, _restarted])
def test_what_became_of_one_message_ends_it_for_all(change: Change) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim, b"1", b"2")
        first = await sim.receive(topic, group, attempt_id="a")
        assert len(first.messages) == 2
        await change(sim, topic, group, first)
        assert (await repeated(sim, topic, group)).messages == []

    with_node(main)


def test_what_was_acknowledged_and_what_was_not_is_as_it_was_when_nothing_is_given_again() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim, b"1", b"2")
        first = await sim.receive(topic, group, attempt_id="a")
        await _acked(sim, topic, group, first)
        await repeated(sim, topic, group)
        assert (await sim.receive(topic, group)).messages == []
        assert await sim.settle("ack", topic, group, first.messages[:1]) == [""]

    with_node(main)


def test_only_for_some_minutes_after_the_first_receive() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim, b"1")
        await sim.receive(topic, group, attempt_id="a", visibility_ms=2 * ATTEMPT_AGE_MAX_MS)
        await sim.clock.sleep(ATTEMPT_AGE_MAX_MS - 1)
        options = {"visibility_ms": 2 * ATTEMPT_AGE_MAX_MS}
        assert len((await repeated(sim, topic, group, **options)).messages) == 1
        await sim.clock.sleep(1)
        assert (await repeated(sim, topic, group, **options)).messages == []

    with_node(main)


def test_an_id_gets_messages_of_one_partition_whole() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim, b"1", b"2")
        await sim.send(topic, b"3", b"4", partition=1)
        for name in ("a", "b"):
            found = await sim.receive(topic, group, attempt_id=name)
            assert len(found.messages) == 2
            assert len({message.partition for message in found.messages}) == 1
            assert receipts(await repeated(sim, topic, group, attempt_id=name)) == receipts(found)

    with_node(main)


def test_nothing_is_given_again_of_what_is_paused() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await made(sim, b"1")
        await sim.receive(topic, group, attempt_id="a")
        paused = await sim.groups.pause(group.name, lambda pauses: with_pause(pauses, topic.id, (), now_ms=0))
        while sim.metadata.group(group.name) != paused:
            await sim.clock.sleep(1)
        assert (await repeated(sim, topic, group)).messages == []

    with_node(main)
