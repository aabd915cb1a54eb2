"""What a node promises to its gateways, one promise a test, on virtual time and a simulated disk."""

import asyncio
import dataclasses
from typing import Any

import msgspec
import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.projected_offsets import ProjectedOffsets
from cluster.model.values import StartPosition
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.rpc import inspect_messages, messages
from tests.support.simulated_node import SMALL, SimulatedNode, with_node


def test_what_was_acknowledged_survives_a_power_loss() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        for number in range(20):
            await sim.send(topic, b"%d" % number)
        done = (await sim.receive(topic, group, max_messages=5)).messages
        assert set(await sim.settle("ack", topic, group, done)) == {""}
        await sim.lose_power()
        await sim.start()
        assert await sim.bodies_in_log(topic) == [b"%d" % number for number in range(20)]
        left = (await sim.receive(topic, group, max_messages=100)).messages
        assert [message.offset for message in left] == list(range(5, 20))

    with_node(main)


def test_a_start_takes_a_new_leader_epoch_before_it_appends() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        first = await sim.send(topic, b"1")
        await sim.stop()
        await sim.start()
        second = await sim.send(topic, b"2")
        assert second.leader_epoch > first.leader_epoch

    with_node(main)


def test_a_receipt_from_before_a_restart_still_acknowledges() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.send(topic, b"1")
        delivered = (await sim.receive(topic, group)).messages
        await sim.lose_power()
        await sim.start()
        assert await sim.settle("ack", topic, group, delivered) == [""]
        assert (await sim.receive(topic, group)).reason == "EMPTY"

    with_node(main)


def test_a_receipt_is_stale_once_somebody_else_has_the_message() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.send(topic, b"1")
        first = (await sim.receive(topic, group, visibility_ms=1000)).messages
        second = (await sim.receive(topic, group, wait_ms=5000)).messages
        assert [message.attempt for message in first + second] == [1, 2]
        assert await sim.settle("ack", topic, group, first) == ["RECEIPT_STALE"]
        assert await sim.settle("ack", topic, group, second) == [""]

    with_node(main)


def test_a_long_poll_gets_a_message_as_soon_as_it_is_committed() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(partitions=4), await sim.group()
        poll = asyncio.create_task(sim.receive(topic, group, wait_ms=20_000))
        await sim.clock.sleep(1000)
        started_ms = sim.clock.monotonic_ms()
        await sim.send(topic, b"1", partition=3)
        assert len((await poll).messages) == 1
        assert sim.clock.monotonic_ms() - started_ms < 100

    with_node(main)


def test_each_of_many_waiting_polls_gets_its_message() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(partitions=4), await sim.group()
        polls = [asyncio.create_task(sim.receive(topic, group, wait_ms=20_000, max_messages=1)) for _ in range(40)]
        await sim.clock.sleep(100)
        for number in range(4):
            await sim.send(topic, *[b"%d" % number] * 10, partition=number)
        answers = await asyncio.gather(*polls)
        places = [(m.partition, m.offset) for answer in answers for m in answer.messages]
        assert len(places) == len(set(places)) == 40
        assert sim.clock.monotonic_ms() < 10_000

    with_node(main)


def test_a_cancelled_receive_gives_its_leases_back_at_once() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.receive(topic, group)
        await sim.send(topic, b"1" * 1000)
        await sim.stop()
        sim.disk.misses_cache = lambda _: True  # so that the receive has to wait for the disk
        await sim.start()
        poll = asyncio.create_task(sim.receive(topic, group))
        while not (await sim.positions(topic)).groups[0].in_flight:
            await asyncio.sleep(0)
        poll.cancel()
        await asyncio.gather(poll, return_exceptions=True)
        assert poll.cancelled()
        again = (await sim.receive(topic, group)).messages
        assert [message.attempt for message in again] == [1]

    with_node(main)


def test_what_used_up_its_attempts_goes_to_the_dead_letter_topic_and_then_counts_as_done() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        group = await sim.group(max_attempts=3, visibility_ms=1000)
        await sim.send(topic, b"poison")
        attempts = []
        for _ in range(3):
            answer = await sim.receive(topic, group, wait_ms=20_000)
            attempts += [message.attempt for message in answer.messages]
        assert attempts == [1, 2, 3]
        await sim.clock.sleep(20_000)
        assert (await sim.receive(topic, group)).reason == "EMPTY"
        dead = sim.metadata.topic("orders.workers.dlq")
        assert dead is not None
        assert await sim.bodies_in_log(dead) == [b"poison"]
        [position] = (await sim.positions(topic)).groups
        assert (position.progress, position.dead_lettered) == (1, 1)
        found = await sim.node.inspect(inspect_messages.InspectRequest(topic.id, 0, 0, 1))
        assert [view.state for view in found.groups] == ["deadLettered"]

    with_node(main)


def test_a_message_that_dies_again_after_a_seek_back_has_a_letter_of_that_too() -> None:
    """Within the dead-letter topic's window of idempotency keys: it is not the letter of before that is sent again."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        group = await sim.group(max_attempts=1, visibility_ms=1000)
        await sim.send(topic, b"poison")
        for deaths in (1, 2, 3):
            assert len((await sim.receive(topic, group, wait_ms=20_000)).messages) == 1
            await sim.clock.sleep(10_000)
            dead = sim.metadata.topic("orders.workers.dlq")
            assert dead is not None
            assert await sim.bodies_in_log(dead) == [b"poison"] * deaths
            await sim.node.seek(messages.SeekRequest(topic.id, 0, group.id, "earliest"))

    with_node(main)


def test_letters_that_die_themselves_and_those_of_a_topic_made_anew_are_letters_of_their_own() -> None:
    async def main(sim: SimulatedNode) -> None:
        group = await sim.group(max_attempts=1, visibility_ms=1000)
        for lives in (1, 2):
            topic = await sim.topic()
            await sim.send(topic, b"%d" % lives)
            await sim.receive(topic, group, wait_ms=20_000)
            await sim.clock.sleep(10_000)
            letters = sim.metadata.topic("orders.workers.dlq")
            assert letters is not None
            assert [m.record.body for m in (await sim.receive(letters, group)).messages] == [b"%d" % lives]
            await sim.clock.sleep(10_000)
            of_letters = sim.metadata.topic("orders.workers.dlq.workers.dlq")
            assert of_letters is not None
            assert await sim.bodies_in_log(of_letters) == [b"1", b"2"][:lives]
            await sim.topics.delete("orders")
            await sim.clock.sleep(1_000)

    with_node(main)


def test_a_dead_letter_that_was_interrupted_by_a_power_loss_is_not_lost() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        group = await sim.group(max_attempts=1, visibility_ms=1000)
        await sim.send(topic, b"poison")
        await sim.receive(topic, group)
        await sim.clock.sleep(1000)
        await sim.lose_power()
        await sim.start()
        await sim.receive(topic, group)
        await sim.clock.sleep(20_000)
        dead = sim.metadata.topic("orders.workers.dlq")
        assert dead is not None
        assert await sim.bodies_in_log(dead) == [b"poison"]

    with_node(main)


def test_a_new_group_at_latest_sees_only_what_comes_later_also_after_a_restart() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await sim.send(topic, b"old")
        group = await sim.group(start_position=StartPosition.LATEST)
        assert (await sim.receive(topic, group)).messages == []
        await sim.send(topic, b"new")
        await sim.lose_power()
        await sim.start()
        assert [message.record.body for message in (await sim.receive(topic, group)).messages] == [b"new"]

    with_node(main)


def test_a_group_at_latest_misses_nothing_of_a_partition_that_comes_later() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group(start_position=StartPosition.LATEST)
        await sim.receive(topic, group)
        await sim.topics.update("orders", partitions=2)
        while len(sim.metadata.partitions(topic.id)) < 2:
            await sim.clock.sleep(1)
        await sim.send(topic, b"1", partition=1)
        assert [message.record.body for message in (await sim.receive(topic, group)).messages] == [b"1"]

    with_node(main)


def test_a_long_poll_sees_a_partition_that_comes_while_it_waits() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group(start_position=StartPosition.LATEST)
        poll = asyncio.create_task(sim.receive(topic, group, wait_ms=20_000))
        await sim.clock.sleep(100)
        await sim.topics.update("orders", partitions=2)
        while len(sim.metadata.partitions(topic.id)) < 2:
            await sim.clock.sleep(1)
        await sim.send(topic, b"1", partition=1)
        assert len((await poll).messages) == 1

    with_node(main)


def test_the_delivery_log_is_snapshotted_and_trimmed_and_the_snapshot_is_enough() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        for _ in range(40):
            await sim.send(topic, b"1", b"2", b"3")
            delivered = (await sim.receive(topic, group)).messages
            await sim.settle("ack", topic, group, delivered[1:])
        partition = sim.node.partitions_led()[0]
        assert partition.delivery.snapshots_taken > 1
        before = await sim.positions(topic)
        await sim.lose_power()
        await sim.start()
        after = await sim.positions(topic)
        [was], [now] = before.groups, after.groups
        assert (now.progress, now.done_above) == (was.progress, was.done_above)

    with_node(main, dataclasses.replace(SMALL, delivery_snapshot_bytes=1000, delivery_segment_bytes=500))


def test_a_damaged_snapshot_refuses_its_partition_and_no_other() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(partitions=2), await sim.group()
        for number in range(2):
            await sim.send(topic, b"1", partition=number)
            await sim.settle("ack", topic, group, (await sim.receive(topic, group)).messages)
        await sim.stop()
        sim.disk.bit_rot(f"partitions/{topic.id}-0/delivery/snapshot", 20, 3)
        await sim.start()
        with pytest.raises(ServerError) as refused:
            await sim.positions(topic, 0)
        assert refused.value.code is ProblemCode.RECORDS_CORRUPT
        assert (await sim.positions(topic, 1)).high_watermark == 1
        assert (await sim.receive(topic, group)).reason == "EMPTY"
        assert sim.node.partitions_refused == 1

    with_node(main)


def test_a_partition_without_its_delivery_state_goes_on_from_the_offset_store() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.send(topic, b"1", b"2", b"3")
        delivered = (await sim.receive(topic, group, max_messages=2)).messages
        await sim.settle("ack", topic, group, delivered)
        await sim.clock.sleep(3_000)
        await sim.stop()
        await sim.start()
        await sim.node.logs.remove_log(LogKey(topic.id, 0, LogKind.DELIVERY))
        await sim.lose_power()
        await sim.start()
        assert [message.offset for message in (await sim.receive(topic, group)).messages] == [2]

    with_node(main)


def test_a_deleted_topics_data_goes_and_its_successor_starts_empty() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.send(topic, b"1")
        await sim.receive(topic, group)
        await sim.topics.delete("orders")
        await sim.clock.sleep(1_000)
        assert not any(topic.id in path for path in sim.disk.files())
        successor = await sim.topic()
        assert successor.id != topic.id
        assert (await sim.receive(successor, group)).reason == "EMPTY"

    with_node(main)


def test_data_of_an_unknown_topic_without_a_tombstone_is_kept() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await sim.send(topic, b"1")
        await sim.stop()
        for item in (await sim.store.list(keys.ROOT)).items:
            if topic.id in item.key or item.key == keys.topic("orders"):
                from cluster.ports.coordination import Delete, unchanged

                await sim.store.transact([unchanged(item)], [Delete(item.key)])
        await sim.start()
        await sim.clock.sleep(5_000)
        assert any(topic.id in path for path in sim.disk.files())

    with_node(main)


def test_a_deleted_group_is_forgotten_and_a_new_one_of_its_name_starts_afresh() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.send(topic, b"1")
        await sim.settle("ack", topic, group, (await sim.receive(topic, group)).messages)
        await sim.groups.delete("workers")
        await sim.clock.sleep(5_000)
        assert (await sim.positions(topic)).groups == []
        again = await sim.group()
        assert len((await sim.receive(topic, again)).messages) == 1

    with_node(main)


def test_a_seek_replays_and_makes_older_receipts_stale() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.send(topic, b"1", b"2")
        delivered = (await sim.receive(topic, group)).messages
        await sim.settle("ack", topic, group, delivered[:1])
        dry = await sim.node.seek(messages.SeekRequest(topic.id, 0, group.id, "earliest", dry_run=True))
        assert (dry.offset, dry.previous) == (0, 1)
        assert (await sim.receive(topic, group)).messages == []
        await sim.node.seek(messages.SeekRequest(topic.id, 0, group.id, "earliest"))
        shown = await sim.store.get(keys.offsets(group.id, topic.id))
        assert shown is not None
        projected = msgspec.json.decode(shown.value, type=ProjectedOffsets).partitions["0"]
        assert (projected.offset, projected.generation) == (0, 1), "it is a lower bound, whatever else is lost"
        assert await sim.settle("ack", topic, group, delivered[1:]) == ["RECEIPT_STALE"]
        again = (await sim.receive(topic, group)).messages
        assert [(message.offset, message.attempt) for message in again] == [(0, 1), (1, 1)]

    with_node(main)


def test_a_seek_outside_the_log_is_refused() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        with pytest.raises(ServerError) as refused:
            await sim.node.seek(messages.SeekRequest(topic.id, 0, group.id, "offset", 5))
        assert refused.value.code is ProblemCode.OFFSET_OUT_OF_RANGE

    with_node(main)


def test_auto_ack_is_done_before_it_is_seen() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.send(topic, b"1")
        [message] = (await sim.receive(topic, group, auto_ack=True)).messages
        assert message.receipt == ""
        await sim.lose_power()
        await sim.start()
        assert (await sim.receive(topic, group)).reason == "EMPTY"

    with_node(main)


def test_answers_keep_to_their_bytes_but_for_a_single_large_message() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.send(topic, b"1" * 1000, b"2" * 1000, b"3" * 1000)
        first = (await sim.receive(topic, group, max_bytes=2500)).messages
        second = (await sim.receive(topic, group, max_bytes=10)).messages
        assert [message.offset for message in first] == [0, 1]
        assert [(message.offset, message.attempt) for message in second] == [(2, 1)]

    with_node(main)


def test_more_waiting_receives_than_the_limit_are_refused() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        polls = [asyncio.create_task(sim.receive(topic, group, wait_ms=1000)) for _ in range(2)]
        await sim.clock.sleep(100)
        with pytest.raises(ServerError) as refused:
            await sim.receive(topic, group, wait_ms=1000)
        assert refused.value.code is ProblemCode.TOO_MANY_WAITING
        assert refused.value.retry_after_ms
        await asyncio.gather(*polls)

    with_node(main, dataclasses.replace(SMALL, waiting_receives_max=2))


def test_more_waiting_reads_of_records_than_the_limit_are_refused() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        read = asyncio.create_task(sim.node.records(messages.RecordsRequest(topic.id, 0, 0, wait_ms=1000)))
        await sim.clock.sleep(100)
        with pytest.raises(ServerError) as refused:
            await sim.node.records(messages.RecordsRequest(topic.id, 0, 0, wait_ms=1000))
        assert refused.value.code is ProblemCode.TOO_MANY_WAITING
        await read

    with_node(main, dataclasses.replace(SMALL, waiting_records_max=1))


def test_a_waiting_read_of_records_gets_what_comes() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        read = asyncio.create_task(sim.node.records(messages.RecordsRequest(topic.id, 0, 0, wait_ms=20_000)))
        await sim.clock.sleep(100)
        await sim.send(topic, b"1")
        assert (await read).next_offset == 1
        assert sim.clock.monotonic_ms() < 5_000

    with_node(main)


def test_a_full_inbox_answers_overloaded_and_loses_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        sends = [asyncio.create_task(sim.send(topic, b"x" * 1000)) for _ in range(20)]
        outcomes = await asyncio.gather(*sends, return_exceptions=True)
        refused = [outcome for outcome in outcomes if isinstance(outcome, ServerError)]
        assert refused
        assert {error.code for error in refused} == {ProblemCode.OVERLOADED}
        assert len(await sim.bodies_in_log(topic)) == 20 - len(refused)

    with_node(main, dataclasses.replace(SMALL, partition_inbox_bytes_max=5_000))


def test_more_groups_than_the_limit_are_refused() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        for number in range(2):
            await sim.receive(topic, await sim.group(f"group{number}"))
        with pytest.raises(ServerError) as refused:
            await sim.receive(topic, await sim.group("one-too-many"))
        assert refused.value.code is ProblemCode.OVERLOADED

    with_node(main, dataclasses.replace(SMALL, groups_per_partition_max=2))


def test_a_failed_sync_stops_the_serving_and_says_why() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.send(topic, b"1")
        sim.disk.fail_next_sync()
        with pytest.raises(ServerError) as failed:
            await sim.send(topic, b"2")
        assert failed.value.code is ProblemCode.STORAGE_FAILED
        assert sim.node.failure
        for later in (sim.send(topic, b"3"), sim.receive(topic, group), sim.bodies_in_log(topic)):
            with pytest.raises(ServerError) as refused:
                await later
            assert refused.value.code is ProblemCode.STORAGE_FAILED

    with_node(main)


def test_a_crashed_background_task_stops_the_serving() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()

        def broken(*_: object) -> None:
            raise RuntimeError("a bug")

        sim.node._projection.flush_if_due = broken  # type: ignore[method-assign, assignment]
        await sim.clock.sleep(5_000)
        with pytest.raises(ServerError) as refused:
            await sim.send(topic, b"1")
        assert refused.value.code is ProblemCode.STORAGE_FAILED
        assert "a bug" in refused.value.detail

    with_node(main)


def test_a_batch_that_is_no_batch_is_refused() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        damaged = encode_batch([Record(b"1")])
        damaged[-1] ^= 1
        for batch in (b"", b"AKB1" + bytes(100), damaged):
            with pytest.raises(ServerError) as refused:
                await sim.node.produce(messages.ProduceRequest(topic.id, 0, batch))
            assert refused.value.code is ProblemCode.INVALID_FIELD
        assert await sim.bodies_in_log(topic) == []

    with_node(main)


def test_more_replicas_than_there_are_cannot_be_asked_for() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        with pytest.raises(ServerError) as refused:
            await sim.node.produce(messages.ProduceRequest(topic.id, 0, encode_batch([Record(b"1")]), acks=2))
        assert refused.value.code is ProblemCode.INVALID_FIELD

    with_node(main)


def test_a_partition_that_is_led_elsewhere_is_unavailable() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        with pytest.raises(ServerError) as refused:
            await sim.send(topic, b"1", partition=7)
        assert refused.value.code is ProblemCode.UNAVAILABLE

    with_node(main)


def test_a_stop_answers_the_long_polls_and_refuses_new_work() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        poll = asyncio.create_task(sim.receive(topic, group, wait_ms=20_000))
        read = asyncio.create_task(sim.node.records(messages.RecordsRequest(topic.id, 0, 0, wait_ms=20_000)))
        await sim.clock.sleep(100)
        sim.node.stop_waiting()
        assert (await poll).reason == "SHUTTING_DOWN"
        assert (await read).next_offset == 0
        with pytest.raises(ServerError) as refused:
            await sim.send(topic, b"1")
        assert refused.value.code is ProblemCode.SHUTTING_DOWN
        assert sim.clock.monotonic_ms() < 5_000

    with_node(main)


@pytest.mark.parametrize("has_done_it", [True, False])
def test_auto_ack_gives_nobody_what_somebody_else_has_got_meanwhile(has_done_it: bool) -> None:
    """The lease runs out while the message is read; another receive gets it, and has it, or done it, by then."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.send(topic, b"1", b"2")
        [partition] = sim.node.partitions_led()
        read, is_slow = partition.reader.batch_at, asyncio.Event()
        reads = 0

        async def slow(*arguments: Any, **fields: Any) -> Any:
            nonlocal reads
            reads += 1
            if reads == 1:
                await is_slow.wait()
            return await read(*arguments, **fields)

        partition.reader.batch_at = slow  # type: ignore[method-assign]
        first = asyncio.create_task(sim.receive(topic, group, max_messages=2, visibility_ms=10, auto_ack=True))
        await sim.clock.sleep(1_000)
        second = await sim.receive(topic, group, max_messages=1, auto_ack=has_done_it)
        is_slow.set()
        answers = [*second.messages, *(await first).messages]
        assert sorted(message.record.body for message in answers) == [b"1", b"2"]

    with_node(main)
