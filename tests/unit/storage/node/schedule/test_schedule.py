"""A partition's schedule on one node, on virtual time and a simulated disk (rule R31)."""

import asyncio
from dataclasses import replace

import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record, Schedule
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.rpc import messages
from storage.rpc.schedule_messages import CANCELLED, DELIVERED, SCHEDULED, ScheduledItem
from storage.schedule.entries import Key, ScheduledEntry
from storage.schedule.memory_index import MemoryScheduleIndex
from storage.schedule.schedule_index import IndexFailedError
from storage.schedule.schedule_settings import ScheduleSettings
from tests.support.schedules import KeptIndexes, listed, look, schedule
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

FEW = replace(
    SMALL,
    schedule=ScheduleSettings(near_messages_max=8, due_messages_max=4, near_window_ms=2_000, look_ahead_ms=1_000),
)


def test_a_message_is_there_when_it_is_due_and_not_before() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        sent = await schedule(sim.node, topic, b"later", delay_ms=5_000)
        await sim.clock.sleep(4_950)
        assert await sim.bodies_in_log(topic) == []
        item = await look(sim.node, topic, sent)
        assert (item.state, item.due_ms) == (SCHEDULED, sent.append_time_ms + 5_000)
        assert item.record is not None
        assert item.record.body == b"later"
        await sim.clock.sleep(200)
        assert await sim.bodies_in_log(topic) == [b"later"]
        item = await look(sim.node, topic, sent)
        assert (item.state, item.message_offset) == (DELIVERED, 0)

    with_node(main)


def test_messages_go_by_time_and_those_of_one_time_by_arrival() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        due_ms = sim.clock.now_ms() + 1_000
        for number in range(20):
            await schedule(sim.node, topic, b"b%d" % number, at_ms=due_ms)
        for number in range(20):
            await schedule(sim.node, topic, b"a%d" % number, at_ms=due_ms - 1)
        assert [item.due_ms for item in await listed(sim.node, topic)] == [due_ms - 1] * 20 + [due_ms] * 20
        await sim.clock.sleep(2_000)
        expected = [b"a%d" % number for number in range(20)] + [b"b%d" % number for number in range(20)]
        assert await sim.bodies_in_log(topic) == expected
        assert await listed(sim.node, topic) == []

    with_node(main, FEW)


@pytest.mark.parametrize("end", ["stop", "lose_power"])
def test_they_survive_a_restart_once(end: str) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        for number in range(30):
            await schedule(sim.node, topic, b"%d" % number, delay_ms=100 * number)
        await sim.clock.sleep(1_000)
        await getattr(sim, end)()
        await sim.start()
        await sim.clock.sleep(5_000)
        assert await sim.bodies_in_log(topic) == [b"%d" % number for number in range(30)]

    with_node(main, FEW)


def test_what_was_appended_and_not_recorded_is_not_appended_again() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await sim.send(topic, b"before")
        sent = await schedule(sim.node, topic, b"later", delay_ms=1_000)
        name = f"s-{topic.id}-0-{sent.leader_epoch}-{sent.base_offset}"
        as_due = encode_batch([Record(b"later", schedule=Schedule(sent.append_time_ms + 1_000, id=name))])
        await sim.node.produce(messages.ProduceRequest(topic.id, 0, as_due))  # as a leader that died then would have
        await sim.lose_power()
        await sim.start()
        await sim.clock.sleep(2_000)
        assert await sim.bodies_in_log(topic) == [b"before", b"later"]
        assert (await look(sim.node, topic, sent)).message_offset == 1

    with_node(main)


def test_a_name_of_another_partition_says_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, other = await sim.topic(), await sim.topic("other")
        sent = await schedule(sim.node, topic, b"later", delay_ms=1_000)
        name = f"s-{other.id}-0-{sent.leader_epoch}-{sent.base_offset}"
        await sim.node.produce(
            messages.ProduceRequest(topic.id, 0, encode_batch([Record(b"copy", schedule=Schedule(id=name))]))
        )
        await sim.lose_power()
        await sim.start()
        await sim.clock.sleep(2_000)
        assert await sim.bodies_in_log(topic) == [b"copy", b"later"]

    with_node(main)


def test_it_can_be_cancelled_and_moved_until_it_is_due() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        first = await schedule(sim.node, topic, b"cancelled", delay_ms=1_000)
        second = await schedule(sim.node, topic, b"moved", delay_ms=1_000)
        third = await schedule(sim.node, topic, b"sooner", delay_ms=1_000_000)
        assert (await look(sim.node, topic, first, "cancel")).state == CANCELLED
        assert (await look(sim.node, topic, first, "cancel")).state == CANCELLED
        await look(sim.node, topic, second, "move", delay_ms=60_000)
        await look(sim.node, topic, third, "move", at_ms=sim.clock.now_ms() + 500)
        await sim.clock.sleep(2_000)
        assert await sim.bodies_in_log(topic) == [b"sooner"]
        await sim.lose_power()
        await sim.start()
        assert (await look(sim.node, topic, first)).state == CANCELLED
        await sim.clock.sleep(60_000)
        assert await sim.bodies_in_log(topic) == [b"sooner", b"moved"]
        for sent, action in ((second, "cancel"), (second, "move"), (first, "move")):
            with pytest.raises(ServerError) as caught:
                await look(sim.node, topic, sent, action, delay_ms=5)
            assert caught.value.code is ProblemCode.SCHEDULE_OVER

    with_node(main)


def test_an_unknown_one_is_not_found() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        for sent in (messages.ProduceResponse(7, 1, 0), await schedule(sim.node, topic, b"x", delay_ms=9_000)):
            with pytest.raises(ServerError) as caught:
                await look(sim.node, topic, messages.ProduceResponse(sent.base_offset, sent.leader_epoch + 1, 0))
            assert caught.value.code is ProblemCode.MESSAGE_NOT_FOUND

    with_node(main)


def test_keys_are_remembered_over_both_logs_and_restarts() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        sent = await schedule(sim.node, topic, b"1", delay_ms=3_000, keys=["a"])
        plain = await sim.send(topic, b"2", keys=["b"])
        for _ in range(2):
            again = await schedule(sim.node, topic, b"1", delay_ms=3_000, keys=["a"])
            assert [(known.offset, known.log) for known in again.known] == [(sent.base_offset, 2)]
            assert [known.log for known in (await sim.send(topic, b"1", keys=["a"])).known] == [2]
            other = await schedule(sim.node, topic, b"2", delay_ms=1, keys=["b"])
            assert [(known.offset, known.log) for known in other.known] == [(plain.base_offset, 0)]
            await sim.lose_power()
            await sim.start()
        await sim.clock.sleep(4_000)
        assert await sim.bodies_in_log(topic) == [b"2", b"1"]

    with_node(main)


def test_a_full_disk_delays_and_loses_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        for number in range(10):
            await schedule(sim.node, topic, b"%d" % number, delay_ms=1_000)
        sim.disk.capacity_bytes = 0
        await sim.clock.sleep(3_000)
        sim.disk.capacity_bytes = 1 << 30
        await sim.clock.sleep(3_000)
        assert await sim.bodies_in_log(topic) == [b"%d" % number for number in range(10)]

    with_node(main, FEW)


def test_a_removed_index_is_made_anew_from_the_log() -> None:
    """The index in memory is gone with its process: that of `test_they_survive_a_restart_once` was made anew, too."""

    async def main(sim: SimulatedNode) -> None:
        topic: Topic = await sim.topic()
        sent = [await schedule(sim.node, topic, b"%d" % number, delay_ms=60_000 + number) for number in range(40)]
        await look(sim.node, topic, sent[3], "cancel")
        await sim.stop()
        await sim.start()
        assert len(await listed(sim.node, topic)) == 39
        assert (await look(sim.node, topic, sent[3])).state == CANCELLED

    with_node(main, FEW)


@pytest.mark.parametrize("end", ["stop", "lose_power"])
def test_an_index_that_is_complete_is_gone_on_with(end: str) -> None:
    async def main(sim: SimulatedNode) -> None:
        sim.schedule_indexes = KeptIndexes()
        await sim.stop()
        await sim.start()
        topic = await sim.topic()
        for number in range(10):
            await schedule(sim.node, topic, b"%d" % number, delay_ms=1_000 + number)
        await sim.clock.sleep(500)
        await getattr(sim, end)()
        await sim.start()
        assert len(await listed(sim.node, topic)) == 10
        await sim.clock.sleep(2_000)
        assert await sim.bodies_in_log(topic) == [b"%d" % number for number in range(10)]

    with_node(main, FEW)


@pytest.mark.parametrize("moment_ms", range(0, 60, 4))
def test_a_stop_in_the_middle_of_a_note_ends(moment_ms: int) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        sent = [await schedule(sim.node, topic, b"%d" % number, delay_ms=1_000 + number) for number in range(40)]
        kept = await schedule(sim.node, topic, b"kept", delay_ms=90_000)
        await sim.clock.sleep(980 + moment_ms)
        moving = asyncio.gather(
            *(look(sim.node, topic, kept, "move", delay_ms=80_000 + number) for number in range(5)),
            *(look(sim.node, topic, each, "cancel") for each in sent[-3:]),
            return_exceptions=True,
        )
        before_ms = sim.clock.monotonic_ms()
        await sim.stop()
        assert sim.clock.monotonic_ms() - before_ms < 10_000
        await moving
        await sim.start()
        await sim.clock.sleep(3_000)
        bodies = await sim.bodies_in_log(topic)
        assert len(bodies) == len(set(bodies)) >= 37
        assert len(await listed(sim.node, topic)) == 1

    with_node(main, FEW)


class RottenIndex(MemoryScheduleIndex):
    """It takes what is written, and fails whoever reads what is next."""

    def after(self, since: Key, *, before_ms: int, limit: int) -> list[ScheduledEntry]:
        raise IndexFailedError("rotten")


class OnceRotten(KeptIndexes):
    """After the next start it fails those that read, until it is removed."""

    def rot(self) -> None:
        for index in self.kept.values():
            index.__class__ = RottenIndex


def test_an_index_that_fails_who_reads_is_made_anew_though_nothing_is_written() -> None:
    async def main(sim: SimulatedNode) -> None:
        sim.schedule_indexes = indexes = OnceRotten()
        await sim.stop()
        await sim.start()
        topic = await sim.topic()
        for number in range(10):
            await schedule(sim.node, topic, b"%d" % number, delay_ms=3_000 + number)
        await sim.stop()
        indexes.rot()
        await sim.start()
        await sim.clock.sleep(10_000)
        assert await sim.bodies_in_log(topic) == [b"%d" % number for number in range(10)]
        assert await listed(sim.node, topic) == []

    with_node(main, FEW)


def test_two_that_cancel_and_move_at_once_are_one_after_the_other() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        sent = await schedule(sim.node, topic, b"x", delay_ms=60_000)
        moved, cancelled = await asyncio.gather(
            look(sim.node, topic, sent, "move", delay_ms=90_000),
            look(sim.node, topic, sent, "cancel"),
            return_exceptions=True,
        )
        assert isinstance(cancelled, ScheduledItem)
        assert cancelled.state == CANCELLED
        if isinstance(moved, ServerError):  # it came second
            assert moved.code is ProblemCode.SCHEDULE_OVER
        await sim.clock.sleep(100_000)
        assert await sim.bodies_in_log(topic) == []

    with_node(main)
