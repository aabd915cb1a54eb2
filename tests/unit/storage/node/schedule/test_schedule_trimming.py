"""A schedule log is kept short, and nothing that is pending goes with what is over."""

from dataclasses import replace

import pytest

from cluster.model.values import Topic
from storage.rpc.schedule_messages import SCHEDULED
from storage.schedule.schedule_settings import ScheduleSettings
from tests.support.schedules import listed, look, schedule
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

SHORT = replace(
    SMALL,
    schedule=ScheduleSettings(log_bytes_min=3_000, near_messages_max=8, due_messages_max=4),
    schedule_segment_bytes=1_000,
    retention_interval_ms=1_000,
)


def size_of(sim: SimulatedNode, topic: Topic) -> tuple[int, int]:
    [partition] = sim.node.partitions_led()
    log = partition.schedule.scheduled.log
    return log.log_start, log.size_bytes


def test_what_is_over_is_removed() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=1_000)
        for number in range(200):
            await schedule(sim.node, topic, b"%d" % number, delay_ms=50)
        await sim.clock.sleep(10_000)
        start, size_bytes = size_of(sim, topic)
        assert start > 0
        assert size_bytes < 10_000
        assert await sim.bodies_in_log(topic) == [b"%d" % number for number in range(200)]

    with_node(main, SHORT)


@pytest.mark.parametrize("end", ["stop", "lose_power"])
def test_what_is_pending_moves_to_the_end_and_keeps_its_name(end: str) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=1_000)
        far = [await schedule(sim.node, topic, b"far %d" % number, delay_ms=600_000) for number in range(5)]
        cancelled = await schedule(sim.node, topic, b"never", delay_ms=600_000)
        for number in range(300):
            await schedule(sim.node, topic, b"%d" % number, delay_ms=50)
        await sim.clock.sleep(20_000)
        start, size_bytes = size_of(sim, topic)
        assert start > far[-1].base_offset
        assert size_bytes < 10_000
        await getattr(sim, end)()
        await sim.start()
        assert len(await listed(sim.node, topic)) == 6
        item = await look(sim.node, topic, far[2])
        assert (item.state, item.record and item.record.body) == (SCHEDULED, b"far 2")
        await look(sim.node, topic, cancelled, "cancel")
        await sim.clock.sleep(600_000)
        assert (await sim.bodies_in_log(topic))[300:] == [b"far %d" % number for number in range(5)]

    with_node(main, SHORT)


def test_what_was_appended_is_found_though_its_records_were_removed() -> None:
    """The note up to where all is recorded outlives the records before it."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=1_000)
        await schedule(sim.node, topic, b"far", delay_ms=600_000)
        for number in range(300):
            await schedule(sim.node, topic, b"%d" % number, delay_ms=50)
        await sim.clock.sleep(20_000)
        before = await sim.bodies_in_log(topic)
        await sim.lose_power()
        await sim.start()
        await sim.clock.sleep(1_000)
        [partition] = sim.node.partitions_led()
        assert partition.schedule.keeper.state.messages_end == 300
        assert await sim.bodies_in_log(topic) == before

    with_node(main, SHORT)
