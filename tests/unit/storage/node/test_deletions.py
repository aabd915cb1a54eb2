"""Messages that are deleted on purpose: readers and groups begin behind them, and keys are remembered."""

import pytest

from acklog.wire.problems import ProblemCode
from app.processes.node_metrics import NodeCollector
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import Deletion, PartitionState, Topic
from storage.rpc import messages
from storage.rpc.deletion_messages import DeleteRequest, DeleteResponse
from storage.rpc.inspect_messages import InspectRequest
from storage.rpc.schedule_messages import DELIVERED
from storage.schedule.changes import Note
from tests.support.schedules import look, schedule
from tests.support.simulated_node import SimulatedNode, with_node


async def delete(
    sim: SimulatedNode, topic: Topic, to: str, value: int = -1, *, dry_run: bool = False
) -> DeleteResponse:
    return await sim.node.delete(DeleteRequest(topic.id, 0, to, value, dry_run))


async def ten(sim: SimulatedNode, topic: Topic) -> None:
    for number in range(10):
        await sim.send(topic, b"%d" % number)
        await sim.clock.sleep(10)


def test_everything_is_deleted_and_its_file_is_gone() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        group = await sim.group()
        await ten(sim, topic)
        [first] = (await sim.receive(topic, group, max_messages=1)).messages
        answer = await delete(sim, topic, "end")
        assert (answer.log_start, answer.previous) == (10, 0)
        assert [(each.group_id, each.undone) for each in answer.undone] == [(group.id, 10)]
        position = await sim.positions(topic)
        assert (position.log_start, position.high_watermark, position.size_bytes) == (10, 10, 0)
        assert (position.groups[0].progress, position.groups[0].lost, position.groups[0].deleted) == (10, 10, 10)
        assert lost_to_retention(sim) == 0, "somebody did it on purpose"
        assert await sim.settle("ack", topic, group, [first]) == [""]
        with pytest.raises(ServerError) as gone:
            await sim.node.inspect(InspectRequest(topic.id, 0, 0, 1))
        assert gone.value.code is ProblemCode.MESSAGE_EXPIRED
        await sim.send(topic, b"new")
        assert [message.record.body for message in (await sim.receive(topic, group)).messages] == [b"new"]

    with_node(main)


def test_a_dry_run_says_it_and_changes_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        group = await sim.group()
        await ten(sim, topic)
        await sim.settle("ack", topic, group, (await sim.receive(topic, group, max_messages=3)).messages[1:])
        answer = await delete(sim, topic, "offset", 5, dry_run=True)
        assert (answer.log_start, answer.previous, answer.undone[0].undone) == (5, 0, 3)
        assert (await sim.positions(topic)).log_start == 0
        assert len(await sim.bodies_in_log(topic)) == 10

    with_node(main)


def test_an_offset_in_the_middle_of_a_file_and_of_a_batch_holds_exactly_and_after_a_power_loss() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        group = await sim.group()
        await sim.send(topic, *[b"%d" % number for number in range(10)])
        await delete(sim, topic, "offset", 4)
        for _ in range(2):
            position = await sim.positions(topic)
            assert position.log_start == 4
            with pytest.raises(ServerError) as refused:
                await sim.node.records(messages.RecordsRequest(topic.id, 0, 3))
            assert refused.value.extra == {"logStart": 4, "highWatermark": 10}
            await sim.lose_power()
            await sim.start()
        received = (await sim.receive(topic, group)).messages
        assert [message.record.body for message in received] == [b"%d" % number for number in range(4, 10)]

    with_node(main)


def test_a_time_deletes_what_was_appended_before_it() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await ten(sim, topic)
        between_ms = sim.clock.now_ms() - 35
        assert (await delete(sim, topic, "time", between_ms)).log_start == 7
        assert await sim.bodies_in_log(topic) == [b"7", b"8", b"9"]
        again = await delete(sim, topic, "time", between_ms - 20)
        assert (again.log_start, again.previous) == (7, 7), "nothing comes back"

    with_node(main)


def test_names_in_the_window_are_remembered_and_their_files_go_behind_it() -> None:
    """R28."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(dedup_window_ms=60_000)
        first = await sim.send(topic, b"1", keys=["a"])
        await sim.send(topic, b"2")
        await delete(sim, topic, "end")
        assert (await sim.positions(topic)).size_bytes > 0
        await sim.lose_power()
        await sim.start()
        again = await sim.send(topic, b"1", keys=["a"])
        assert [known.offset for known in again.known] == [first.base_offset]
        assert await sim.bodies_in_log(topic) == []
        await sim.clock.sleep(70_000)
        assert (await sim.positions(topic)).size_bytes == 0

    with_node(main)


def test_what_cannot_be_is_refused_and_changes_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await ten(sim, topic)
        for to, value, code in (
            ("offset", 11, ProblemCode.OFFSET_OUT_OF_RANGE),
            ("everywhere", -1, ProblemCode.INVALID_FIELD),
        ):
            with pytest.raises(ServerError) as refused:
                await delete(sim, topic, to, value)
            assert refused.value.code is code
        assert (await sim.positions(topic)).log_start == 0

    with_node(main)


def test_groups_that_begin_or_seek_begin_behind_it() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        old = await sim.group("old")
        await ten(sim, topic)
        await sim.receive(topic, old)
        await delete(sim, topic, "offset", 6)
        fresh = await sim.group("fresh")
        assert [message.offset for message in (await sim.receive(topic, fresh)).messages] == [6, 7, 8, 9]
        for to, value in (("earliest", -1), ("time", 0), ("relative", -100)):
            sought = await sim.node.seek(messages.SeekRequest(topic.id, 0, old.id, to, value))
            assert sought.offset == 6, to
        with pytest.raises(ServerError) as refused:
            await sim.node.seek(messages.SeekRequest(topic.id, 0, old.id, "offset", 5))
        assert refused.value.code is ProblemCode.OFFSET_OUT_OF_RANGE

    with_node(main)


def test_the_decision_stands_in_the_partitions_key() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await ten(sim, topic)
        await delete(sim, topic, "offset", 6)
        item = await sim.store.get(keys.partition(topic.id, 0))
        assert item is not None
        state = decode(PartitionState, item.value)
        assert state.deletion == Deletion(6, state.leader_epoch)

    with_node(main)


def test_what_was_due_and_is_not_recorded_yet_stays_on_the_disk_so_that_it_is_not_appended_again() -> None:
    """R31, and once."""

    async def main(sim: SimulatedNode) -> None:
        async def refuse(*_notes: Note) -> int:
            raise ServerError(ProblemCode.STORAGE_FULL, "the disk is full")

        topic = await sim.topic(dedup_window_ms=0)
        sent = await schedule(sim.node, topic, b"later", delay_ms=1_000)
        [partition] = sim.node.partitions_led()
        await sim.clock.sleep(500)
        partition.schedule.writer.write = refuse  # type: ignore[method-assign]
        await sim.clock.sleep(1_000)
        assert await sim.bodies_in_log(topic) == [b"later"]
        assert (await delete(sim, topic, "end")).log_start == 1
        await sim.clock.sleep(5_000)
        assert (await sim.positions(topic)).size_bytes > 0
        await sim.lose_power()
        await sim.start()
        await sim.clock.sleep(5_000)
        assert await sim.bodies_in_log(topic) == []
        assert (await look(sim.node, topic, sent)).state == DELIVERED
        assert (await sim.positions(topic)).size_bytes == 0

    with_node(main)


def test_metrics_count_what_was_deleted_and_neither_dry_runs_nor_repetitions() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await ten(sim, topic)
        assert deletion_counts(sim) == (0, 0)
        await delete(sim, topic, "offset", 4, dry_run=True)
        assert deletion_counts(sim) == (0, 0)
        await delete(sim, topic, "offset", 4)
        await delete(sim, topic, "offset", 4)
        assert deletion_counts(sim) == (1, 4)
        await delete(sim, topic, "end")
        assert deletion_counts(sim) == (2, 10)

    with_node(main)


def lost_to_retention(sim: SimulatedNode) -> float:
    found = NodeCollector(sim.node, sim.metadata, names_max=10).collect()
    [family] = [each for each in found if each.name == "acklog_group_lost_to_retention"]
    return sum(sample.value for sample in family.samples)


def deletion_counts(sim: SimulatedNode) -> tuple[float, float]:
    collector = NodeCollector(sim.node, sim.metadata, names_max=10)
    values = {sample.name: sample.value for family in collector.collect() for sample in family.samples}
    return values["acklog_deletions_total"], values["acklog_deleted_messages_total"]
