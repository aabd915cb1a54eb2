"""Messages that came back, wait, and are removed by compaction: they hold up nobody, in any mode."""

import pytest
from msgspec.structs import replace

from acklog.wire.record import Record
from cluster.model.values import Exhausted, Group, GroupMode, GroupSettings, Topic
from storage.rpc.membership_messages import Ownership
from storage.rpc.messages import DeliveredMessage, GroupPosition
from tests.support.compaction import value
from tests.support.simulated_node import SimulatedNode, with_node
from tests.unit.storage.node.test_compaction import QUICK, compacted_topic, records, send

MODES = [GroupMode.SHARED, GroupMode.KEY_ORDERED, GroupMode.EXCLUSIVE]
HOUR_MS = 3_600_000
BLOCKS = GroupSettings(max_attempts=1, on_exhausted=Exhausted.BLOCK)
DELAYS = GroupSettings(retry_backoff_min_ms=HOUR_MS, retry_backoff_max_ms=HOUR_MS)
GIVES_UP = GroupSettings(max_attempts=1)


async def receive(sim: SimulatedNode, topic: Topic, group: Group) -> list[DeliveredMessage]:
    claims = [Ownership(topic.id, 0, 1)] if group.mode is GroupMode.EXCLUSIVE else []
    return (await sim.receive(topic, group, max_messages=20, claims=claims)).messages


async def position_of(sim: SimulatedNode, topic: Topic) -> GroupPosition:
    [position] = (await sim.positions(topic)).groups
    return position


async def first_of(sim: SimulatedNode, topic: Topic, group: Group) -> DeliveredMessage:
    """Somebody has the first message, which compaction will remove."""
    await send(sim, topic, value("a", "old"))
    [first] = await receive(sim, topic, group)
    await send(sim, topic, value("a", "new"))
    for number in range(20):
        await send(sim, topic, value(f"other{number % 3}", str(number)))
    return first


async def is_removed(sim: SimulatedNode, topic: Topic) -> None:
    await sim.clock.sleep(10_000)
    assert 0 not in await records(sim, topic)


async def assert_all_goes_on(sim: SimulatedNode, topic: Topic, group: Group) -> None:
    got: dict[int, Record] = {}
    while messages := await receive(sim, topic, group):
        got |= {message.offset: message.record for message in messages}
        await sim.settle("ack", topic, group, messages)
    assert got == await records(sim, topic)
    position = await position_of(sim, topic)
    assert (position.progress, position.delayed, position.blocked) == (22, 0, 0)
    assert (position.lost, position.dead_lettered) == (0, 0)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("settings", [BLOCKS, DELAYS])
@pytest.mark.parametrize("restarts", [False, True])
def test_what_waits_is_passed_over_when_it_is_removed(mode: GroupMode, settings: GroupSettings, restarts: bool) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, max_compaction_lag_ms=1_000)
        group = await sim.groups.create("workers", mode=mode, settings=settings)
        await sim.settle("nack", topic, group, [await first_of(sim, topic, group)])
        await is_removed(sim, topic)
        position = await position_of(sim, topic)
        assert (position.progress, position.delayed, position.blocked) == (1, 0, 0), "whether anybody receives or not"
        if restarts:
            await sim.lose_power()
            await sim.start()
        await assert_all_goes_on(sim, topic, group)

    with_node(main, QUICK)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("settings", [BLOCKS, DELAYS])
def test_a_new_leader_looks_whether_what_waits_is_still_there(mode: GroupMode, settings: GroupSettings) -> None:
    """The leader before has not recorded it: its own log was not compacted as far, or it had no time to."""

    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, max_compaction_lag_ms=1_000)
        group = await sim.groups.create("workers", mode=mode, settings=settings)
        await sim.settle("nack", topic, group, [await first_of(sim, topic, group)])
        [replica] = sim.node.replicas()
        assert replica.partition is not None
        await replica.partition.steps.close()
        await is_removed(sim, topic)
        assert (await position_of(sim, topic)).progress == 0
        await sim.lose_power()
        await sim.start()
        await sim.clock.sleep(100)
        assert (await position_of(sim, topic)).progress == 1
        await assert_all_goes_on(sim, topic, group)

    with_node(main, QUICK)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("settings", [BLOCKS, DELAYS, GIVES_UP])
@pytest.mark.parametrize("comes_back", ["nack", "lease"])
def test_what_somebody_had_is_done_when_it_comes_back(
    mode: GroupMode, settings: GroupSettings, comes_back: str
) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, max_compaction_lag_ms=1_000)
        group = await sim.groups.create("workers", mode=mode, settings=replace(settings, visibility_ms=60_000))
        first = await first_of(sim, topic, group)
        await is_removed(sim, topic)
        position = await position_of(sim, topic)
        assert (position.progress, position.in_flight) == (0, 1), "it is his"
        if comes_back == "nack":
            assert await sim.settle("nack", topic, group, [first]) == [""]
            await sim.clock.sleep(100)
        else:
            await sim.clock.sleep(60_000)
        await assert_all_goes_on(sim, topic, group)
        assert [each.name for each in sim.metadata.topics()] == [topic.name], "there is no topic of dead letters"

    with_node(main, QUICK)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_still_there_goes_on_waiting(mode: GroupMode) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, max_compaction_lag_ms=1_000)
        group = await sim.groups.create("workers", mode=mode, settings=BLOCKS)
        await send(sim, topic, value("alone", "1"))
        await sim.settle("nack", topic, group, await receive(sim, topic, group))
        for number in range(20):
            await send(sim, topic, value("a", str(number)))
        await sim.clock.sleep(10_000)
        assert list(await records(sim, topic)) == [0, 20]
        await sim.stop()
        await sim.start()
        await sim.clock.sleep(1_000)
        assert (await position_of(sim, topic)).blocked == 1

    with_node(main, QUICK)
