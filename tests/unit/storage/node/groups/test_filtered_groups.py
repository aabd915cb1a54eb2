"""A node whose groups have filters: what is read, what is recorded and when, and how far one receive looks."""

import dataclasses

import pytest

from acklog.wire import batch as batches
from acklog.wire.batch import encode_batch
from acklog.wire.record import Record
from cluster.model.values import Group, Topic
from storage.node.groups.candidate_feeds import CandidateFeeds
from storage.node.partition import batch_cache
from storage.rpc import messages
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

FEW_LOOKS = dataclasses.replace(SMALL, looks_per_receive_max=3, filter_read_bytes=1000)


async def send(sim: SimulatedNode, topic: Topic, *records: Record) -> None:
    await sim.node.produce(messages.ProduceRequest(topic.id, 0, encode_batch(list(records))))


async def fill(sim: SimulatedNode, topic: Topic, batches_count: int, tag: str = "blue") -> None:
    for _ in range(batches_count):
        await send(sim, topic, *(Record(b"x" * 50, tags=[tag]) for _ in range(10)))


async def offsets(sim: SimulatedNode, topic: Topic, group: Group, **options: int) -> list[int]:
    return [message.offset for message in (await sim.receive(topic, group, **options)).messages]


async def progress(sim: SimulatedNode, topic: Topic) -> int:
    (group,) = (await sim.positions(topic)).groups
    return group.progress


def test_a_long_run_is_one_record_a_second_and_not_one_a_look() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group(filter='tag = "red"')
        await fill(sim, topic, 40)
        [partition] = sim.node.partitions_led()
        before = partition.groups.applied_records
        assert await offsets(sim, topic, group, wait_ms=2_000) == []
        assert await progress(sim, topic) == 400
        assert partition.groups.applied_records - before <= 3  # the group's start, and one or two seconds
        await sim.lose_power()
        await sim.start()
        assert await progress(sim, topic) == 400

    with_node(main, settings=FEW_LOOKS)


def test_what_is_in_front_of_a_message_is_recorded_before_it_is_settled() -> None:
    """A crash right behind the ack makes nobody look at what was in front of it again."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group(filter='tag = "red"')
        await fill(sim, topic, 3)
        await send(sim, topic, Record(b"it", tags=["red"]))
        delivered = (await sim.receive(topic, group)).messages
        assert [message.offset for message in delivered] == [30]
        await sim.settle("ack", topic, group, delivered)
        assert await progress(sim, topic) == 31
        await sim.lose_power()
        await sim.start()
        assert await progress(sim, topic) == 31

    with_node(main)


def test_one_receive_looks_only_so_far_and_says_so() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group(filter='header.x = "y"')
        await fill(sim, topic, 60)
        await send(sim, topic, Record(b"it", headers={"x": "y"}))
        await sim.stop()  # nothing is in the cache
        await sim.start()
        answer = await sim.receive(topic, group)
        assert (answer.messages, answer.reason) == ([], "FILTER_REACH")
        assert await offsets(sim, topic, group, wait_ms=1_000) == [600]
        assert (await sim.receive(topic, group)).reason == "ALL_LEASED"

    with_node(main, settings=FEW_LOOKS)


def test_batches_without_the_tag_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group(filter='tag = "red" and not exists(header.test)')
        await fill(sim, topic, 20)
        await send(sim, topic, Record(b"it", tags=["red"]))
        await sim.stop()
        await sim.start()
        decoded: list[int] = []

        def decode(data: batches.Buffer, header: batches.BatchHeader) -> list[Record]:
            decoded.append(header.base_offset)
            return batches.decode_records(data, header)

        monkeypatch.setattr(batch_cache, "decode_remaining", decode)
        assert await offsets(sim, topic, group) == [200]
        assert decoded == [200]

    with_node(main)


def test_who_reads_a_whole_log_pushes_nothing_out_of_the_cache() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group(filter='tag = "red"')
        await fill(sim, topic, 50)
        await send(sim, topic, Record(b"it", tags=["red"]))
        await sim.stop()
        await sim.start()
        [partition] = sim.node.partitions_led()
        assert await offsets(sim, topic, group) == [500]
        assert partition.reader.cached(0) is None
        kept = partition.reader.cached(500)
        assert kept is not None
        assert len(kept.data) == kept.header.length

    with_node(main)


def test_what_groups_that_are_fair_by_a_header_look_at_is_bounded_likewise() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await fill(sim, topic, 2)
        [partition] = sim.node.partitions_led()
        feeds: CandidateFeeds = partition.groups._receives._finder._feeds
        for name in ("a", "b", "c", "c"):
            await offsets(sim, topic, await sim.group(f"g-{name}", fair_by_header=name))
        filtered = await sim.group("filtered", fair_by_header="c", filter='tag = "blue"')
        assert len(await offsets(sim, topic, filtered)) == 10
        assert list(feeds._particular) == [((), "c"), (('tag = "blue"',), "c")]

    with_node(main, settings=dataclasses.replace(SMALL, filters_per_partition_max=2))


def test_groups_with_one_filter_share_what_was_found_out_and_few_are_remembered() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await fill(sim, topic, 2)
        [partition] = sim.node.partitions_led()
        feeds: CandidateFeeds = partition.groups._receives._finder._feeds
        for number in range(2):
            group = await sim.group(f"g{number}", filter='tag = "red"')
            await offsets(sim, topic, group)
        assert list(feeds._particular) == [(('tag = "red"',), None)]
        for number in range(2 + 1):
            group = await sim.group(f"other{number}", filter=f'tag = "{number}"')
            await offsets(sim, topic, group)
        assert list(feeds._particular) == [(('tag = "1"',), None), (('tag = "2"',), None)]

    with_node(main, settings=dataclasses.replace(SMALL, filters_per_partition_max=2))
