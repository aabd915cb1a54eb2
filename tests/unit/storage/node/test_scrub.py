"""What rots while nobody reads it is found, on virtual time and a simulated disk (rule R12)."""

import dataclasses

import pytest

from cluster.model.values import Topic
from storage.log.log_settings import LogStoreSettings
from storage.log.scrub import SCRUB_PATH
from storage.log.scrub_schedule import ScrubPosition
from storage.rpc import messages
from tests.sim.sim_disk import DiskOperation, OperationKind
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

RATE = 20_000
STORE = LogStoreSettings(
    journal_file_bytes=256 * 1024,
    reserve_bytes=0,
    scrub_bytes_per_second=RATE,
    scrub_interval_ms=100_000,
    scrub_min_age_ms=5_000,
    scrub_step_bytes=8_000,
    scrub_checkpoint_ms=1_000,
)
SETTINGS = dataclasses.replace(SMALL, log_store=STORE)


async def filled(sim: SimulatedNode, *, partitions: int = 1, batches: int = 60) -> Topic:
    topic = await sim.topic(partitions=partitions, segment_bytes=6_000)
    for number in range(batches):
        for partition in range(partitions):
            await sim.send(topic, b"%04d" % number * 100, partition=partition)
    return topic


async def passed(sim: SimulatedNode) -> ScrubPosition:
    """The next pass is over."""
    before = sim.node.logs.scrub.last_pass_ms
    while sim.node.logs.scrub.last_pass_ms == before:
        await sim.clock.sleep(100)
    return sim.node.logs.scrub.position


def size_of(sim: SimulatedNode) -> int:
    return sum(log.size_bytes for replica in sim.node.replicas() for log in replica.logs)


def segments(sim: SimulatedNode, topic: Topic) -> list[str]:
    return sorted(path for path in sim.disk.files() if topic.id in path and path.endswith(".log"))


def test_a_pass_reads_everything_once_at_its_rate() -> None:
    async def main(sim: SimulatedNode) -> None:
        await filled(sim, partitions=3)
        await sim.clock.sleep(10_000)
        await passed(sim)
        began_ms = sim.node.logs.scrub.position.began_ms
        before_bytes = sim.node.logs.scrub.verified_bytes
        position = await passed(sim)
        size = size_of(sim)
        verified = sim.node.logs.scrub.verified_bytes - before_bytes
        assert size <= verified <= 1.3 * size, "a step begins at a row of the index"
        assert position.began_ms == began_ms + 100_000
        took_ms = position.ended_ms - position.began_ms
        assert took_ms >= size * 1000 / RATE
        assert took_ms <= 1.5 * size * 1000 / RATE + 1_000
        assert position.last_damaged == 0

    with_node(main, SETTINGS)


def test_rot_is_found_counted_and_stepped_over() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await filled(sim)
        await sim.clock.sleep(10_000)
        for path in (segments(sim, topic)[0], segments(sim, topic)[1]):
            sim.disk.bit_rot(path, 2_000, 3)
        assert not sim.node.replicas()[0].is_damaged
        for _ in range(2):
            await passed(sim)
            assert sim.node.logs.scrub.damaged_places == 2
        assert sim.node.replicas()[0].is_damaged
        assert sim.node.failure is None

    with_node(main, SETTINGS)


def test_young_batches_are_left_to_the_next_pass() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await filled(sim)
        await passed(sim)
        assert sim.node.logs.scrub.verified_bytes == 0
        await sim.clock.sleep(5_000)
        sim.disk.bit_rot(segments(sim, topic)[0], 100, 3)
        assert (await passed(sim)).last_damaged == 1

    with_node(main, SETTINGS)


@pytest.mark.parametrize("end", ["stop", "lose_power"])
def test_a_start_goes_on_where_the_last_process_was(end: str) -> None:
    async def main(sim: SimulatedNode) -> None:
        await filled(sim, batches=300)
        await passed(sim)
        while sim.node.logs.scrub.position.offset < 150:
            await sim.clock.sleep(100)
        began_ms = sim.node.logs.scrub.position.began_ms
        await getattr(sim, end)()
        await sim.start()
        await sim.clock.sleep(1_100)
        assert sim.node.logs.scrub.position.offset >= 75
        position = await passed(sim)
        assert position.began_ms == began_ms
        assert sim.node.logs.scrub.verified_bytes < 0.8 * size_of(sim)

    with_node(main, SETTINGS)


@pytest.mark.parametrize("rotten", [True, False])
def test_a_position_that_cannot_be_read_begins_anew(rotten: bool) -> None:
    async def main(sim: SimulatedNode) -> None:
        await filled(sim)
        await passed(sim)
        await passed(sim)
        await sim.stop()
        if rotten:
            sim.disk.bit_rot(SCRUB_PATH, 20, 3)
        else:
            sim.disk.remove(SCRUB_PATH)
        await sim.start()
        await passed(sim)
        assert sim.node.logs.scrub.verified_bytes >= size_of(sim)

    with_node(main, SETTINGS)


def test_it_goes_on_while_logs_are_trimmed_and_removed_and_where_its_position_cannot_be_written() -> None:
    async def main(sim: SimulatedNode) -> None:
        topics = [await sim.topic(f"topic-{number}", partitions=2, segment_bytes=2_000) for number in range(3)]
        for number in range(30):
            for topic in topics:
                await sim.send(topic, b"%04d" % number * 100, partition=number % 2)
        await passed(sim)
        sim.disk.fails = lambda operation: (
            operation.kind is OperationKind.WRITE and operation.path.startswith(SCRUB_PATH)
        )
        while not sim.node.logs.scrub.position.log:
            await sim.clock.sleep(100)
        await sim.topics.delete(topics[0].name)
        for replica in sim.node.replicas():
            await replica.logs[0].remove_before(10)
        await passed(sim)
        sim.disk.fails = None
        position = await passed(sim)
        assert (position.last_damaged, sim.node.failure) == (0, None)

    with_node(main, SETTINGS)


def test_a_rate_of_zero_reads_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await filled(sim)
        read: list[DiskOperation] = []
        sim.disk.before_operation = lambda operation: read.append(operation) if operation.kind is _READ else None
        await sim.clock.sleep(1_000_000)
        assert read == []
        assert (await sim.node.records(messages.RecordsRequest(topic.id, 0, 0))).next_offset

    with_node(main, dataclasses.replace(SMALL, log_store=dataclasses.replace(STORE, scrub_bytes_per_second=0)))


_READ = OperationKind.READ
