"""Groups whose filter changes while messages are out: what comes back is judged by the filter of then."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from acklog.wire.batch import encode_batch
from acklog.wire.record import Record
from cluster.model.values import Exhausted, Group, GroupMode, GroupSettings, Topic
from storage.rpc import messages
from storage.rpc.membership_messages import Ownership
from tests.support.simulated_node import SimulatedNode, with_node

MODES = list(GroupMode)
NOT_RED = 'not tag = "red"'
VISIBILITY_MS = 1_000
SETTINGS = GroupSettings(retry_backoff_min_ms=0, retry_backoff_max_ms=0, visibility_ms=VISIBILITY_MS)


async def sent(sim: SimulatedNode, *tags: str) -> Topic:
    """One message of one key for each tag."""
    topic = await sim.topic()
    records = [Record(b"%d" % number, key="k", tags=[tag]) for number, tag in enumerate(tags)]
    await sim.node.produce(messages.ProduceRequest(topic.id, 0, encode_batch(records)))
    return topic


async def group_of(sim: SimulatedNode, mode: GroupMode, settings: GroupSettings = SETTINGS) -> Group:
    return await sim.groups.create("workers", mode=mode, settings=settings)


async def change_filter(sim: SimulatedNode, group: Group) -> None:
    await sim.groups.update(group.name, settings=replace(group.settings, filter=NOT_RED))
    await sim.clock.sleep(50)


async def received(sim: SimulatedNode, topic: Topic, group: Group, **options: Any) -> list[messages.DeliveredMessage]:
    claims = [Ownership(topic.id, 0, 1)] if group.mode is GroupMode.EXCLUSIVE else []
    return (await sim.receive(topic, group, claims=claims, **options)).messages


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("looks_in_between", [False, True])
@pytest.mark.parametrize("restarts", [False, True])
def test_what_comes_back_and_does_not_match_is_passed_over(
    mode: GroupMode, looks_in_between: bool, restarts: bool
) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sent(sim, "blue", "red", "blue", "red"), await group_of(sim, mode)
        assert len(await received(sim, topic, group)) == 4
        await change_filter(sim, group)
        if looks_in_between:
            assert await received(sim, topic, group) == []
        await sim.clock.sleep(VISIBILITY_MS)
        if restarts:
            await sim.lose_power()
            await sim.start()
        found: list[int] = []
        while messages_of_answer := await received(sim, topic, group):
            found += [message.offset for message in messages_of_answer]
            await sim.settle("ack", topic, group, messages_of_answer)
        assert found == [0, 2]

    with_node(main)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("waits", [False, True])
def test_who_waits_gets_what_was_behind_it(mode: GroupMode, waits: bool) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sent(sim, "red", "blue"), await group_of(sim, mode)
        assert len(await received(sim, topic, group)) == 2
        await change_filter(sim, group)
        if not waits:  # else whoever waits sees it come back
            await sim.clock.sleep(VISIBILITY_MS)
        began_ms = sim.clock.monotonic_ms()
        found = await received(sim, topic, group, wait_ms=20_000)
        assert [message.offset for message in found] == [1]
        assert sim.clock.monotonic_ms() - began_ms < 3_000

    with_node(main)


@pytest.mark.parametrize("mode", [GroupMode.KEY_ORDERED, GroupMode.EXCLUSIVE])
def test_who_waits_gets_what_was_behind_one_that_is_released_and_does_not_match(mode: GroupMode) -> None:
    async def main(sim: SimulatedNode) -> None:
        settings = replace(SETTINGS, max_attempts=1, on_exhausted=Exhausted.BLOCK)
        topic, group = await sent(sim, "red", "blue"), await group_of(sim, mode, settings)
        [first] = await received(sim, topic, group, max_messages=1)
        await sim.settle("nack", topic, group, [first])
        await change_filter(sim, group)
        waiting = asyncio.ensure_future(received(sim, topic, group, wait_ms=20_000))
        await sim.clock.sleep(1_000)
        released_ms = sim.clock.monotonic_ms()
        await sim.node.blocked(messages.BlockedRequest(topic.id, 0, group.id, "release", 0))
        assert [message.offset for message in await waiting] == [1]
        assert sim.clock.monotonic_ms() - released_ms < 3_000

    with_node(main)
