"""A node that compacts a topic: what is left, and what readers and groups of each mode make of it."""

import dataclasses

import msgspec
import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.compacted_batch import decode_remaining
from acklog.wire.log_page import verified
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.processes.node_metrics import NodeCollector
from cluster.errors import ServerError
from cluster.model.values import CleanupPolicy, GroupMode, GroupSettings, Topic
from storage.compaction.compaction_settings import CompactionSettings
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from storage.node.compaction import log_compaction
from storage.rpc.inspect_messages import InspectRequest
from storage.rpc.messages import ProduceRequest, RecordsRequest
from tests.support.compaction import table, tombstone, value
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

QUICK = dataclasses.replace(
    SMALL, compaction=CompactionSettings(look_interval_ms=1_000, step_bytes=500, dirty_ratio_min=0.3)
)
KEYS = 5


async def compacted_topic(sim: SimulatedNode, **config: object) -> Topic:
    settings = {"cleanup_policy": CleanupPolicy.COMPACT, "segment_bytes": 600, "dedup_window_ms": 0, **config}
    return await sim.topic(**settings)


async def send(sim: SimulatedNode, topic: Topic, *records: Record) -> None:
    await sim.node.produce(ProduceRequest(topic.id, 0, encode_batch(list(records))))


async def fill(sim: SimulatedNode, topic: Topic, first: int, count: int) -> None:
    for number in range(first, first + count):
        await send(sim, topic, value(f"k{number % KEYS}", str(number)))


async def records(sim: SimulatedNode, topic: Topic) -> dict[int, Record]:
    found: dict[int, Record] = {}
    offset = 0
    while True:
        answer = await sim.node.records(RecordsRequest(topic.id, 0, offset))
        for at, header in verified(answer.batches):
            left = enumerate(decode_remaining(answer.batches, header, at), header.base_offset)
            found.update((number, record) for number, record in left if record is not None)
        if answer.next_offset == offset:
            return found
        offset = answer.next_offset


async def settle_down(sim: SimulatedNode) -> None:
    await sim.clock.sleep(5_000)


def test_the_latest_of_each_key_is_left_and_offsets_stay() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim)
        await fill(sim, topic, 0, 100)
        before = await records(sim, topic)
        await settle_down(sim)
        after = await records(sim, topic)
        assert table(after) == table(before)
        assert len(after) < 40
        assert after.items() <= before.items()
        assert sim.node.compactor.figures.bytes_reclaimed > 0
        positions = await sim.positions(topic)
        assert (positions.log_start, positions.high_watermark) == (0, 100)
        with pytest.raises(ServerError) as gone:
            await sim.node.inspect(InspectRequest(topic.id, 0, 0, 1))
        assert gone.value.code is ProblemCode.MESSAGE_EXPIRED
        await sim.stop()
        await sim.start()
        assert await records(sim, topic) == after

    with_node(main, QUICK)


def test_a_topic_without_the_policy_is_left_alone() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(segment_bytes=600)
        await fill(sim, topic, 0, 60)
        await settle_down(sim)
        assert len(await records(sim, topic)) == 60

    with_node(main, QUICK)


def test_whoever_reads_at_the_head_sees_every_message_within_the_least_lag() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, min_compaction_lag_ms=60_000)
        await fill(sim, topic, 0, 60)
        await sim.clock.sleep(50_000)
        assert len(await records(sim, topic)) == 60
        await sim.clock.sleep(20_000)
        assert len(await records(sim, topic)) < 30

    with_node(main, QUICK)


def test_the_active_segment_is_compacted_after_the_greatest_lag() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, segment_bytes=1_000_000, max_compaction_lag_ms=60_000)
        await fill(sim, topic, 0, 20)
        await sim.clock.sleep(50_000)
        assert len(await records(sim, topic)) == 20
        await sim.clock.sleep(20_000)
        assert sorted(await records(sim, topic)) == [15, 16, 17, 18, 19]

    with_node(main, QUICK)


def test_who_asks_gets_all_of_it_compacted_however_little_that_is() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, segment_bytes=1_000_000)
        await fill(sim, topic, 0, 20)
        await settle_down(sim)
        assert len(await records(sim, topic)) == 20
        [replica] = sim.node.replicas()
        sim.node.compactor.ask(replica)
        await settle_down(sim)
        assert not sim.node.compactor.is_asked(replica.id)
        assert sorted(await records(sim, topic)) == [15, 16, 17, 18, 19]
        assert (await sim.node.compactor.plan(replica)).dirty_bytes == 0

    with_node(main, QUICK)


def test_how_much_is_dirty_is_a_metric() -> None:
    async def main(sim: SimulatedNode) -> None:
        await sim.topic("other")
        topic = await compacted_topic(sim)
        await fill(sim, topic, 0, 20)
        await settle_down(sim)
        [replica] = [each for each in sim.node.replicas() if each.topic.id == topic.id]
        sim.node.compactor.ask(replica)
        await settle_down(sim)
        assert dirty_ratios(sim) == {"orders": 0.0}
        await fill(sim, topic, 20, 20)
        await settle_down(sim)
        assert 0.5 < dirty_ratios(sim)["orders"] < 1

    with_node(main, dataclasses.replace(QUICK, compaction=dataclasses.replace(QUICK.compaction, dirty_ratio_min=1.0)))


def dirty_ratios(sim: SimulatedNode) -> dict[str, float]:
    collector = NodeCollector(sim.node, sim.metadata, names_max=10)
    [found] = [each for each in collector.collect() if each.name == "acklog_compaction_dirty_ratio"]
    return {sample.labels["topic"]: sample.value for sample in found.samples}


def test_a_tombstone_goes_so_long_after_it_was_met() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, tombstone_retention_ms=60_000, max_compaction_lag_ms=1_000)
        await send(sim, topic, value("gone", "1"))
        await fill(sim, topic, 0, 10)
        await send(sim, topic, tombstone("gone"))
        await fill(sim, topic, 10, 10)
        await sim.clock.sleep(10_000)
        left = await records(sim, topic)
        assert 0 not in left
        assert left[11].is_tombstone
        await sim.stop()
        await sim.start()
        await sim.clock.sleep(45_000)
        assert 11 in await records(sim, topic)
        await sim.clock.sleep(20_000)
        assert 11 not in await records(sim, topic)
        assert "gone" not in table(await records(sim, topic))

    with_node(main, QUICK)


def test_more_keys_than_fit_into_memory_take_more_passes() -> None:
    settings = dataclasses.replace(QUICK, compaction=dataclasses.replace(QUICK.compaction, keys_bytes_max=500))

    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, max_compaction_lag_ms=1_000)
        await fill(sim, topic, 0, 60)
        await sim.clock.sleep(60_000)
        assert sorted(await records(sim, topic)) == [55, 56, 57, 58, 59]
        assert sim.node.compactor.figures.passes > 10

    with_node(main, settings)


PACE = 4_000
SELDOM = dataclasses.replace(QUICK, compaction=dataclasses.replace(QUICK.compaction, look_interval_ms=10_000_000))


def test_a_pass_that_cannot_see_all_that_is_older_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log may be cut between the plan and the pass: a tombstone would go while what it removes stays."""

    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim)
        await fill(sim, topic, 0, 40)
        await sim.node.logs.sync()
        before = await records(sim, topic)
        [replica] = sim.node.replicas()
        compaction = sim.node.compactor._compaction_of(replica)
        sealed = replica.logs[LogKind.MESSAGES].sealed_segments()
        assert len(sealed) > 1
        monkeypatch.setattr(PartitionLog, "sealed_segments", lambda _log: sealed[:1])
        with pytest.raises(ServerError) as caught:
            await compaction.go_through(
                sealed[-1].end_offset, tombstone_ms=0, identities_ms=0, tombstones_may_go=lambda: True
            )
        assert caught.value.code is ProblemCode.OFFSET_OUT_OF_RANGE
        assert await records(sim, topic) == before
        assert (await compaction.compacted()).clean_end == 0

    with_node(main, SELDOM)


SLOW = dataclasses.replace(
    SMALL,
    compaction=CompactionSettings(
        look_interval_ms=1_000, step_bytes=500, dirty_ratio_min=0.3, bytes_per_second=PACE, asked_look_interval_ms=100
    ),
)
AT_ONCE_MS = 100
"""Longer nobody waits whose send or read has the disk to itself."""


def test_a_pass_keeps_to_its_pace_and_nobody_waits_for_it() -> None:
    """It reads all of it twice, once for the keys and once to write it anew; meanwhile sends and reads are answered as
    fast as ever, and what they find is right."""

    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, max_compaction_lag_ms=-1)
        await fill(sim, topic, 0, 150)
        [replica] = [each for each in sim.node.replicas() if each.topic.id == topic.id]
        size_bytes = sum(each.size_bytes for each in replica.logs[LogKind.MESSAGES].sealed_segments())
        before = table(await records(sim, topic))
        while sim.node.compactor.under_way is None:
            await sim.clock.sleep(10)
        began_ms = sim.clock.monotonic_ms()
        answered = 0
        while sim.node.compactor.under_way is not None:
            asked_ms = sim.clock.monotonic_ms()
            await send(sim, topic, value("other", str(answered)))
            assert table(await records(sim, topic)) == before | {"other": str(answered).encode()}
            assert sim.clock.monotonic_ms() - asked_ms <= AT_ONCE_MS
            answered += 1
            await sim.clock.sleep(200)
        took_ms = sim.clock.monotonic_ms() - began_ms
        least_ms = 2 * size_bytes * 1000 / PACE
        assert 0.9 * least_ms <= took_ms <= 2 * least_ms + 1_000
        assert least_ms >= 5_000, "or little is shown"
        assert answered >= 10
        assert sim.node.compactor.figures.passes >= 1
        assert sim.node.compactor.figures.records_removed > 100

    with_node(main, SLOW)


@pytest.mark.parametrize("mode", [GroupMode.SHARED, GroupMode.KEY_ORDERED])
@pytest.mark.parametrize("restarts", [False, True])
def test_groups_pass_over_what_was_removed_durably(mode: GroupMode, restarts: bool) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, max_compaction_lag_ms=1_000)
        group = await sim.groups.create("workers", mode=mode, settings=GroupSettings())
        await fill(sim, topic, 0, 100)
        [first] = (await sim.receive(topic, group, max_messages=1)).messages
        await sim.clock.sleep(10_000)
        assert await sim.settle("ack", topic, group, [first]) == [""], "who has one may still say that it is done"
        received = []
        for _ in range(20):
            if restarts:
                await sim.stop()
                await sim.start()
            answer = await sim.receive(topic, group, max_messages=2)
            received += [message.offset for message in answer.messages]
            if answer.messages:
                await sim.settle("ack", topic, group, answer.messages)
            if len(received) == KEYS:
                break
        assert sorted(received) == [95, 96, 97, 98, 99]
        [position] = (await sim.positions(topic)).groups
        assert (position.progress, position.lost, position.dead_lettered) == (100, 0, 0)

    with_node(main, QUICK)


def test_a_message_that_was_out_and_is_removed_is_done_when_it_comes_back() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, max_compaction_lag_ms=1_000)
        group = await sim.group(max_attempts=2)
        await fill(sim, topic, 0, 50)
        first = (await sim.receive(topic, group, max_messages=3)).messages
        await sim.clock.sleep(10_000)
        await sim.settle("nack", topic, group, first)
        await sim.clock.sleep(10_000)
        received = []
        for _ in range(10):
            answer = await sim.receive(topic, group, max_messages=10)
            received += [message.offset for message in answer.messages]
            if answer.messages:
                await sim.settle("ack", topic, group, answer.messages)
        assert sorted(received) == [45, 46, 47, 48, 49]
        [position] = (await sim.positions(topic)).groups
        assert (position.progress, position.in_flight) == (50, 0)

    with_node(main, QUICK)


def test_a_letter_of_what_was_removed_is_not_written() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, max_compaction_lag_ms=1_000)
        group = await sim.group(max_attempts=1)
        await fill(sim, topic, 0, 50)
        first = (await sim.receive(topic, group, max_messages=3)).messages
        await sim.clock.sleep(10_000)
        await sim.settle("nack", topic, group, first)
        await sim.clock.sleep(20_000)
        [position] = (await sim.positions(topic)).groups
        assert position.progress == 3
        assert [each.name for each in sim.metadata.topics()] == [topic.name], "there is no topic of dead letters"

    with_node(main, QUICK)


def test_a_batch_that_comes_again_is_still_known() -> None:
    """R19, R28."""

    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, max_compaction_lag_ms=1_000, dedup_window_ms=60_000)
        request = lambda: ProduceRequest(  # noqa: E731
            topic.id, 0, encode_batch([value("k0", "x")], producer_id=77, producer_epoch=0, base_sequence=5)
        )
        first = await sim.node.produce(request())
        await fill(sim, topic, 0, 50)
        await sim.clock.sleep(10_000)
        assert 0 not in await records(sim, topic)
        await sim.stop()
        await sim.start()
        again = request()
        again.is_retry = True
        assert (await sim.node.produce(again)).base_offset == first.base_offset
        assert (await sim.positions(topic)).high_watermark == 51

    with_node(main, QUICK)


def test_a_checkpoint_that_is_damaged_or_gone_costs_a_pass_and_nothing_else() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, max_compaction_lag_ms=1_000)
        await fill(sim, topic, 0, 50)
        await sim.clock.sleep(10_000)
        after = await records(sim, topic)
        await sim.stop()
        [replica_directory] = {path.rpartition("/")[0] for path in sim.disk.files() if path.endswith("/compacted")}
        sim.disk.bit_rot(f"{replica_directory}/compacted", 17, 1)
        await sim.start()
        await sim.clock.sleep(10_000)
        assert await records(sim, topic) == after
        [replica] = sim.node.replicas()
        assert (await sim.node.compactor.plan(replica)).dirty_bytes == 0
        assert not replica.logs[LogKind.MESSAGES].damage

    with_node(main, QUICK)


def test_retention_removes_what_is_old_only_where_the_policy_says_so() -> None:
    async def main(sim: SimulatedNode) -> None:
        kept = await compacted_topic(sim, retention_ms=20_000)
        await fill(sim, kept, 0, 30)
        await sim.clock.sleep(40_000)
        assert (await sim.positions(kept)).log_start == 0
        await sim.topics.update(
            kept.name,
            config=lambda config: msgspec.structs.replace(config, cleanup_policy=CleanupPolicy.COMPACT_AND_DELETE),
        )
        await sim.clock.sleep(10_000)
        assert (await sim.positions(kept)).log_start == 30

    with_node(main, QUICK)


def test_a_file_that_is_gone_fails_a_pass_and_not_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(sim: SimulatedNode) -> None:
        def is_gone(*_: object) -> None:
            raise FileNotFoundError(2, "No such file or directory")

        with monkeypatch.context() as patch:
            patch.setattr(log_compaction, "write_checkpoint", is_gone)
            topic = await compacted_topic(sim, max_compaction_lag_ms=1_000)
            for number in range(20):
                await send(sim, topic, value("k", str(number)))
            await sim.clock.sleep(5_000)
        assert sim.node.compactor.figures.failures > 0
        assert sim.node.failure is None
        await sim.clock.sleep(60_000)
        await send(sim, topic, value("k", "last"))

    with_node(main, QUICK)


def test_a_replica_that_goes_while_it_is_compacted_is_no_failure() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await compacted_topic(sim, max_compaction_lag_ms=1_000)
        for number in range(60):
            await send(sim, topic, value("k", str(number)))
        while sim.node.compactor.under_way is None:
            await sim.clock.sleep(10)
        await sim.topics.delete(topic.name)
        await sim.clock.sleep(60_000)
        assert (sim.node.failure, sim.node.compactor.figures.failures) == (None, 0)
        assert list(sim.node.replicas()) == []

    slow = dataclasses.replace(QUICK.compaction, bytes_per_second=1_000)
    with_node(main, dataclasses.replace(QUICK, compaction=slow))
