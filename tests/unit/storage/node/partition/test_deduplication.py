"""What a node remembers of idempotency keys, on virtual time and a simulated disk (rules R19, R28)."""

import asyncio
import dataclasses

import msgspec
import pytest

from acklog.wire.batch import DedupKey, encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.mapping_starts import latest_mapping
from cluster.model.values import Topic, TopicConfig
from storage.produce.dedup_window import ENTRY_OVERHEAD_BYTES
from storage.rpc import messages
from tests.support.simulated_node import SMALL, SimulatedNode, with_node


def test_keys_are_remembered_over_a_restart_and_forgotten_after_the_window() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=60_000)
        first = await sim.send(topic, b"1", keys=["a"])
        await sim.lose_power()
        await sim.start()
        again = await sim.send(topic, b"1", keys=["a"])
        assert [(known.offset, known.conflict) for known in again.known] == [(first.base_offset, False)]
        other = await sim.send(topic, b"2", keys=["a"])
        assert [known.conflict for known in other.known] == [True]
        await sim.clock.sleep(61_000)
        assert (await sim.send(topic, b"2", keys=["a"])).known == []
        assert await sim.bodies_in_log(topic) == [b"1", b"2"]

    with_node(main)


@pytest.mark.parametrize(("before_ms", "after_ms"), [(60_000, 600_000), (600_000, 60_000)])
def test_a_window_that_changes_holds_for_what_is_sent_from_then_on(before_ms: int, after_ms: int) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=before_ms)
        await sim.topics.update(topic.name, config=msgspec.structs.replace(topic.config, dedup_window_ms=after_ms))
        await sim.clock.sleep(1)
        await sim.send(topic, b"1", keys=["a"])
        await sim.clock.sleep(after_ms - 1000)
        assert (await sim.send(topic, b"1", keys=["a"])).known
        await sim.clock.sleep(2000)
        assert (await sim.send(topic, b"1", keys=["a"])).known == []

    with_node(main)


def test_a_retry_that_comes_while_the_first_try_is_written_waits_for_its_outcome() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        first, second = await asyncio.gather(sim.send(topic, b"1", keys=["a"]), sim.send(topic, b"1", keys=["a"]))
        assert sorted([len(first.known), len(second.known)]) == [0, 1]
        assert await sim.bodies_in_log(topic) == [b"1"]

    with_node(main)


def test_a_run_is_remembered_over_a_restart_by_one_key() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=60_000)
        await sim.send(topic, b"before")
        first = await sim.send(topic, b"1", b"2", b"3", run_key="request\n")
        await sim.lose_power()
        await sim.start()
        again = await sim.send(topic, b"1", b"2", b"3", run_key="request\n")
        assert first.base_offset == 1
        assert again.known == [messages.KeyedResult(0, 1, first.leader_epoch, False, 3)]
        for others in ([b"1", b"2"], [b"1", b"2", b"4"], [b"1", b"2", b"3", b"4"]):
            other = await sim.send(topic, *others, run_key="request\n")
            assert [(known.conflict, known.count) for known in other.known] == [(True, len(others))]
        assert await sim.bodies_in_log(topic) == [b"before", b"1", b"2", b"3"]
        await sim.clock.sleep(61_000)
        assert (await sim.send(topic, b"4", run_key="request\n")).known == []

    with_node(main)


def test_a_retry_of_a_run_that_is_being_written_waits_for_it() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        tries = [sim.send(topic, b"1", b"2", run_key="request\n") for _ in range(3)]
        answers = sorted(await asyncio.gather(*tries), key=lambda answer: -answer.base_offset)
        [first, *others] = answers
        assert first.known == []
        known = messages.KeyedResult(0, first.base_offset, first.leader_epoch, False, 2)
        assert [other.known for other in others] == [[known], [known]]
        assert await sim.bodies_in_log(topic) == [b"1", b"2"]

    with_node(main)


def test_runs_of_any_length_cost_the_window_the_same() -> None:
    """The memory for four keys holds forty thousand messages, before and after a restart."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        bodies = [b"%d" % number for number in range(10_000)]
        for number in range(4):
            await sim.send(topic, *bodies, run_key=f"{number}\n")
        await sim.stop()
        await sim.start()
        with pytest.raises(ServerError) as refused:
            await sim.send(topic, b"1", run_key="one more\n")
        assert refused.value.code is ProblemCode.DEDUP_WINDOW_FULL
        for number in range(4):
            [known] = (await sim.send(topic, *bodies, run_key=f"{number}\n")).known
            assert (known.offset, known.count, known.conflict) == (10_000 * number, 10_000, False)

    with_node(main, dataclasses.replace(SMALL, dedup_window_bytes_max=4 * (ENTRY_OVERHEAD_BYTES + 2)))


@pytest.mark.parametrize(
    "key", [DedupKey(0, "a", b"12345678", 3), DedupKey(2, "a", b"12345678"), DedupKey(-1, "a", b"12345678", 2)]
)
def test_a_key_that_covers_records_beyond_its_batch_is_refused(key: DedupKey) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        batch = encode_batch([Record(b"1"), Record(b"2")], keys=[key])
        with pytest.raises(ServerError, match="there are 2") as refused:
            await sim.node.produce(messages.ProduceRequest(topic.id, 0, batch))
        assert refused.value.code is ProblemCode.INVALID_FIELD
        assert await sim.bodies_in_log(topic) == []

    with_node(main)


async def change_partitions(sim: SimulatedNode, topic: Topic) -> Topic:
    """The topic with one partition more, as soon as the node knows it."""
    grown = await sim.topics.update(topic.name, partitions=topic.partitions + 1)
    while (partition := sim.node.partitions_led()[0]).host.topic != grown:
        assert partition.host.topic == topic
        await sim.clock.sleep(1)
    return grown


def known_request(topic: Topic, key: str, mapping: int) -> messages.KnownKeysRequest:
    fingerprints = [DedupKey(0, key, b"x", 1)]
    return messages.KnownKeysRequest(topic.id, 0, fingerprints, 1, mapping, 5_000)


def test_a_partition_takes_no_keys_by_an_earlier_mapping_and_says_what_it_has() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        first = await sim.send(topic, b"1", keys=["a"], mapping=0)
        grown = await change_partitions(sim, topic)
        with pytest.raises(ServerError) as refused:
            await sim.send(grown, b"2", keys=["b"], mapping=0)
        assert (refused.value.code, refused.value.retry_after_ms) == (ProblemCode.CONFLICT, 100)
        again = await sim.send(grown, b"1", keys=["a"], mapping=0)
        assert [(known.offset, known.conflict) for known in again.known] == [(first.base_offset, False)]
        found = await sim.node.known_keys(known_request(grown, "a", grown.mapping))
        assert [(known.index, known.offset, known.count) for known in found.known] == [(0, first.base_offset, 1)]
        assert (await sim.node.known_keys(known_request(grown, "b", grown.mapping))).known == []
        while not all(latest_mapping(state) for state in sim.metadata.partitions(topic.id)):
            await sim.clock.sleep(1)
        assert (await sim.send(grown, b"2", keys=["b"], mapping=grown.mapping)).base_offset == 1
        assert (await sim.send(grown, b"3")).base_offset == 2, "what has no key may come as it likes"
        assert await sim.bodies_in_log(grown) == [b"1", b"2", b"3"]

    with_node(main)


def test_a_leader_says_nothing_of_keys_before_it_has_heard_of_the_mapping() -> None:
    """Until then it would take such a key itself."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        with pytest.raises(ServerError) as unheard:
            await sim.node.known_keys(known_request(topic, "a", topic.mapping + 1))
        assert unheard.value.code is ProblemCode.UNAVAILABLE

    with_node(main)


def test_a_key_that_is_being_written_is_waited_for() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await sim.send(topic, b"0")
        sending = asyncio.create_task(sim.send(topic, b"1", keys=["a"], mapping=0))
        while not sim.node.partitions_led()[0].host.dedup_bytes:
            await asyncio.sleep(0)
        found, sent = await asyncio.gather(sim.node.known_keys(known_request(topic, "a", 0)), sending)
        assert [known.offset for known in found.known] == [sent.base_offset]

    with_node(main)


@pytest.mark.parametrize("pause_ms", [0, 1, 2, 3, 5])
def test_partitions_that_were_being_opened_know_the_latest_mapping(pause_ms: int) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topics.create("orders", partitions=3, config=TopicConfig(), replication_factor=1)
        for partitions in range(4, 10):
            topic = await sim.topics.update("orders", partitions=partitions)
            await sim.clock.sleep(pause_ms)
        while len(sim.node.partitions_led()) < topic.partitions:
            await sim.clock.sleep(1)
        assert {partition.host.topic for partition in sim.node.partitions_led()} == {topic}

    with_node(main)


def test_a_leader_whose_disk_has_failed_does_not_say_that_it_knows_nothing() -> None:
    """What was being written may be there after the next start."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await sim.send(topic, b"0")
        sim.disk.fail_next_sync()
        sending = asyncio.create_task(sim.send(topic, b"1", keys=["a"], mapping=0))
        while not sim.node.partitions_led()[0].host.dedup_bytes:
            await asyncio.sleep(0)
        asked = (sim.node.known_keys(known_request(topic, "a", 0)) for _ in range(2))
        outcomes = await asyncio.gather(sending, next(asked), return_exceptions=True)
        outcomes += await asyncio.gather(next(asked), return_exceptions=True)
        assert [each.code for each in outcomes if isinstance(each, ServerError)] == [ProblemCode.STORAGE_FAILED] * 3
        await sim.stop()
        await sim.start()
        assert await sim.bodies_in_log(topic) == [b"0", b"1"]

    with_node(main)
