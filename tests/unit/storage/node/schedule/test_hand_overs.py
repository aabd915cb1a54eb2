"""Delayed messages over changes of a topic's partitions, on one node: when it is due each goes, once and never early,
to the partition that its key belongs to by then."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.identifiers import ScheduleId
from acklog.wire.partition_mapping import partition_of_hash
from acklog.wire.partitioner import hash_of_key
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record, Schedule
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.mapping_starts import is_in_force
from cluster.model.values import CleanupPolicy, GroupMode, GroupSettings, NodeRegistration, PartitionLife, Topic
from cluster.ports.coordination import Delete, Put
from storage.log.log_table import LogKind
from storage.node.partition.partition_host import PartitionHost
from storage.node.replicas.led_partition import Partition
from storage.node.schedule.adoption_host import AdoptionHost
from storage.node.schedule.schedule_writer import ScheduleWriter
from storage.rpc.messages import ProduceRequest, ProduceResponse, ReceiveRequest
from storage.rpc.schedule_messages import (
    CANCELLED,
    DELIVERED,
    SCHEDULED,
    AdoptRequest,
    ScheduledItem,
    ScheduledListRequest,
    ScheduledRequest,
)
from storage.rpc.table_messages import LatestRequest
from storage.schedule.changes import Adopted, Fired, HandedOver, HandingOver
from storage.schedule.schedule_settings import ScheduleSettings
from tests.support.manual_clock import settle
from tests.support.schedules import KeptIndexes, listed, look
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

FEW = replace(
    SMALL,
    schedule=ScheduleSettings(near_messages_max=8, due_messages_max=3, near_window_ms=2_000, look_ahead_ms=1_000),
)
SHORT = replace(
    SMALL,
    schedule=ScheduleSettings(log_bytes_min=200, rewritten_batches_max=3),
    schedule_segment_bytes=1_000,
    retention_interval_ms=500,
)


def place(key: str, topic: Topic) -> int:
    return partition_of_hash(hash_of_key(key), partitions=topic.partitions, decommissioned=topic.decommissioned)


MOVING = next(f"k{n}" for n in range(100) if hash_of_key(f"k{n}") % 2 == 1)
"""Of partition 0 in a topic of one, and of 1 in a topic of two."""


async def later(
    sim: SimulatedNode, topic: Topic, *bodies: bytes, key: str | None = MOVING, delay_ms: int = 2_000, **when: Any
) -> ProduceResponse:
    partition = 0 if key is None else place(key, topic)
    records = [Record(body, key=key, schedule=Schedule(delay_ms=delay_ms, **when)) for body in bodies]
    mapping = -1 if key is None else topic.mapping
    return await sim.node.schedule(ProduceRequest(topic.id, partition, encode_batch(records), mapping=mapping))


async def now(sim: SimulatedNode, topic: Topic, body: bytes, *, key: str = MOVING) -> ProduceResponse:
    batch = encode_batch([Record(body, key=key)])
    return await sim.node.produce(ProduceRequest(topic.id, place(key, topic), batch, mapping=topic.mapping))


async def grown(sim: SimulatedNode, topic: Topic, partitions: int = 2) -> Topic:
    """Once the mapping is in force."""
    changed = await sim.topics.update(topic.name, partitions=partitions)
    return await in_force(sim, changed)


async def in_force(sim: SimulatedNode, topic: Topic) -> Topic:
    while len(sim.metadata.partitions(topic.id)) < topic.partitions or not is_in_force(
        topic.mapping, sim.metadata.partitions(topic.id)
    ):
        await sim.clock.sleep(5)
    return topic


async def bodies(sim: SimulatedNode, topic: Topic) -> list[list[bytes]]:
    return [await sim.bodies_in_log(topic, number) for number in range(topic.partitions)]


async def item_of(sim: SimulatedNode, topic: Topic, partition: int, offset: int, epoch: int) -> ScheduledItem:
    request = ScheduledRequest(topic.id, partition, "look", offset, epoch)
    return (await sim.node.scheduled(request)).item


def partition_of(sim: SimulatedNode, topic: Topic, number: int = 0) -> Partition:
    [found] = [each.partition for each in sim.node.replicas() if (each.topic.id, each.number) == (topic.id, number)]
    assert found is not None
    return found


async def restarted(sim: SimulatedNode) -> None:
    await sim.lose_power()
    await sim.start()


def test_a_message_goes_where_its_key_belongs_when_it_is_due() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        sent = await later(sim, topic, b"late")
        other = await later(sim, topic, b"stays", key=next(k for k in map(str, range(99)) if not hash_of_key(k) % 2))
        topic = await grown(sim, topic)
        await now(sim, topic, b"new")
        await sim.clock.sleep(1_900 - 300)
        assert await bodies(sim, topic) == [[], [b"new"]]
        await sim.clock.sleep(1_000)
        assert await bodies(sim, topic) == [[b"stays"], [b"new", b"late"]]
        [record] = (await sim.records_in_log(topic, 1))[1:]
        assert record.schedule is not None
        assert record.schedule.id == str(ScheduleId(topic.id, 0, sent.leader_epoch, sent.base_offset))
        assert record.schedule.at_ms == sent.append_time_ms + 2_000
        item = await look(sim.node, topic, sent)
        assert (item.state, item.partition, item.message_offset) == (DELIVERED, 1, -1)
        there = await item_of(sim, topic, 1, item.there_offset, item.there_epoch)
        assert (there.state, there.partition, there.message_offset) == (DELIVERED, -1, 1)
        assert (await look(sim.node, topic, other)).message_offset == 0
        assert await listed(sim.node, topic) == []

    with_node(main)


def test_none_moves_in_a_topic_that_never_changed_or_that_its_sender_has_bound() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(partitions=2)
        await sim.node.schedule(
            ProduceRequest(topic.id, 0, encode_batch([Record(b"odd", key=MOVING, schedule=Schedule(delay_ms=100))]))
        )
        await sim.clock.sleep(500)
        assert await bodies(sim, topic) == [[b"odd"], []]
        other = await sim.topic("other")
        await later(sim, other, b"bound", is_bound=True)
        await later(sim, other, b"keyless", key=None)
        other = await grown(sim, other)
        await sim.clock.sleep(3_000)
        assert await bodies(sim, other) == [[b"bound", b"keyless"], []]

    with_node(main)


def test_what_a_partition_has_leaves_it_when_it_is_decommissioned() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(partitions=2)
        await later(sim, topic, b"late", key=MOVING)
        topic = await sim.topics.decommission(topic.name, [1])
        await in_force(sim, topic)
        await now(sim, topic, b"new")
        await sim.clock.sleep(3_000)
        assert await sim.bodies_in_log(topic, 0) == [b"new", b"late"]
        state = sim.metadata.partition(topic.id, 1)
        assert state is not None
        assert state.life is PartitionLife.GONE  # nothing keeps it

    with_node(main)


def test_all_of_a_backlog_comes_in_order_and_once() -> None:
    """Over two changes, batch by batch: what waits for one partition holds up no other."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        keys = [f"k{n % 7}" for n in range(60)]
        for n, key in enumerate(keys):
            await later(sim, topic, b"%d" % n, key=key, delay_ms=2_000 + 10 * n)
        topic = await grown(sim, topic, 3)
        await sim.clock.sleep(1_900)
        topic = await grown(sim, topic, 5)
        await sim.clock.sleep(5_000)
        found = await bodies(sim, topic)
        assert sorted(int(body) for each in found for body in each) == list(range(60))
        for key in set(keys):
            mine = [int(b) for each in found for b in each if keys[int(b)] == key and b in found[place(key, topic)]]
            assert mine == sorted(mine)
        assert partition_of(sim, topic).schedule.figures.handed_over > 20
        assert [partition_of(sim, topic, number).schedule.pending for number in range(5)] == [0] * 5

    with_node(main, FEW)


def test_a_message_moves_on_when_the_topic_has_changed_again() -> None:
    """It came to a partition that it belonged to for a moment; the topic may even send it back."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        sent = await later(sim, topic, b"late", delay_ms=500)
        topic = await grown(sim, topic)
        batch = encode_batch([Record(b"far", schedule=Schedule(delay_ms=100_000))])
        await sim.node.schedule(ProduceRequest(topic.id, 1, batch))  # the partition stays for it
        schedule = partition_of(sim, topic, 1).schedule
        schedule._due._near.take_due = lambda *_: []  # type: ignore[method-assign]
        await sim.clock.sleep(1_000)
        request = ScheduledListRequest(topic.id, 1, 0, -1, 1 << 60, 100)
        there, _ = (await sim.node.scheduled_list(request)).items
        assert there.name == str(ScheduleId(topic.id, 0, sent.leader_epoch, sent.base_offset))
        assert (await look(sim.node, topic, sent)).partition == 1
        await in_force(sim, await sim.topics.decommission(topic.name, [1]))
        await restarted(sim)
        await sim.clock.sleep(1_000)
        assert await bodies(sim, topic) == [[b"late"], []]
        item = await look(sim.node, topic, sent)
        back = await item_of(sim, topic, 1, item.there_offset, item.there_epoch)
        assert (back.state, back.partition) == (DELIVERED, 0)
        last = await item_of(sim, topic, 0, back.there_offset, back.there_epoch)
        assert (last.state, last.message_offset) == (DELIVERED, 0)
        await restarted(sim)
        await sim.clock.sleep(1_000)
        assert await bodies(sim, topic) == [[b"late"], []]

    with_node(main)


def test_it_can_be_cancelled_and_moved_by_its_name_until_it_is_due() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        first = await later(sim, topic, b"cancelled")
        second = await later(sim, topic, b"moved")
        topic = await grown(sim, topic)
        assert (await look(sim.node, topic, first, "cancel")).state == CANCELLED
        assert (await look(sim.node, topic, second, "move", delay_ms=10_000)).state == SCHEDULED
        await sim.clock.sleep(5_000)
        assert await bodies(sim, topic) == [[], []]
        await sim.clock.sleep(6_000)
        assert await bodies(sim, topic) == [[], [b"moved"]]
        for action in ("cancel", "move"):
            with pytest.raises(ServerError) as caught:
                await look(sim.node, topic, second, action, delay_ms=1)
            assert caught.value.code is ProblemCode.SCHEDULE_OVER
            assert "messageOffset" not in caught.value.extra

    with_node(main)


STEPS = {
    "noted that it goes": (HandingOver, 0),
    "there, and not noted": (HandedOver, 0),
    "there, and not among the messages": (Fired, 1),
    "not taken over": (Adopted, 1),
}


@pytest.mark.parametrize("is_kept", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_any_step_neither_loses_nor_doubles_it(
    step: str, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The power fails when the record of the step is about to be written, or just was, and nobody has heard."""
    kind, _ = STEPS[step]
    write = ScheduleWriter.write

    async def main(sim: SimulatedNode) -> None:
        sim.schedule_indexes = KeptIndexes()
        topic = await sim.topic()
        for n in range(5):
            await later(sim, topic, b"%d" % n)
        topic = await grown(sim, topic)
        reached = asyncio.Event()

        async def stuck(self: ScheduleWriter, *notes: Any) -> int:
            if isinstance(notes[0], kind):
                if is_kept:
                    await write(self, *notes)
                reached.set()
                await asyncio.Event().wait()
            return await write(self, *notes)

        monkeypatch.setattr(ScheduleWriter, "write", stuck)
        async with asyncio.timeout(10):
            await reached.wait()
        await sim.clock.sleep(300)
        monkeypatch.setattr(ScheduleWriter, "write", write)
        for _ in range(2):
            await restarted(sim)
            await sim.clock.sleep(2_000)
            assert await bodies(sim, topic) == [[], [b"%d" % n for n in range(5)]]
        assert [partition_of(sim, topic, number).schedule.pending for number in (0, 1)] == [0, 0]

    with_node(main)


def test_what_is_on_its_way_can_be_neither_cancelled_nor_moved() -> None:
    """Also not at the next leader, which sends the same again."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        sent = await later(sim, topic, b"late", delay_ms=500)
        topic = await grown(sim, topic)

        async def refuse(_: object) -> None:
            raise ServerError(ProblemCode.UNAVAILABLE, "not now")

        for _ in range(2):
            host = partition_of(sim, topic).schedule
            host._hand_overs._others.adopt = refuse  # type: ignore[method-assign, assignment]
            await sim.clock.sleep(1_500)
            assert (await look(sim.node, topic, sent)).state == SCHEDULED
            for action in ("cancel", "move"):
                with pytest.raises(ServerError) as caught:
                    await look(sim.node, topic, sent, action, delay_ms=9)
                assert caught.value.code is ProblemCode.SCHEDULE_OVER
            await sim.lose_power()
            await sim.start()
        await sim.clock.sleep(1_500)
        assert await bodies(sim, topic) == [[], [b"late"]]

    with_node(main)


def test_a_hand_over_that_comes_again_changes_nothing_and_a_late_one_is_refused() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await grown(sim, await sim.topic(), 2)

        def request(number: int, body: bytes, *, epoch: int = 1, mapping: int = 1) -> AdoptRequest:
            when = Schedule(at_ms=5, id=str(ScheduleId(topic.id, 0, 1, number)))
            batch = bytes(encode_batch([Record(body, key=MOVING, schedule=when)]))
            return AdoptRequest(topic.id, 1, batch, origin=0, epoch=epoch, number=number, mapping=mapping)

        first = await asyncio.gather(*(sim.node.adopt(request(1, b"a")) for _ in range(5)))
        assert len(set(map(repr, first))) == 1
        await restarted(sim)
        assert await sim.node.adopt(request(1, b"a")) == first[0]
        second = await sim.node.adopt(request(2, b"b"))
        assert second.offset > first[0].offset
        for late in (request(1, b"a"), request(9, b"z", epoch=0)):
            with pytest.raises(ServerError) as caught:
                await sim.node.adopt(late)
            assert caught.value.code is ProblemCode.CONFLICT
        with pytest.raises(ServerError) as caught:
            await sim.node.adopt(request(3, b"c", mapping=2))
        assert caught.value.code is ProblemCode.UNAVAILABLE
        await sim.node.adopt(request(1, b"c", epoch=2))
        await sim.clock.sleep(500)
        assert await bodies(sim, topic) == [[], [b"a", b"b", b"c"]]

    with_node(main)


def test_who_gives_up_waiting_ends_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await grown(sim, await sim.topic(), 2)
        when = Schedule(at_ms=5, id=str(ScheduleId(topic.id, 0, 1, 7)))
        batch = bytes(encode_batch([Record(b"a", key=MOVING, schedule=when)]))
        request = AdoptRequest(topic.id, 1, batch, origin=0, epoch=1, number=1, mapping=1)
        await sim.clock.sleep(100)
        for _ in range(3):
            asking = asyncio.ensure_future(sim.node.adopt(request))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        await sim.node.adopt(request)
        await sim.clock.sleep(500)
        assert await bodies(sim, topic) == [[], [b"a"]]

    with_node(main)


def test_a_leadership_that_ends_is_told_and_cancels_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever hands over may be in the same process, and has to ask the next leader."""

    async def never(_self: AdoptionHost, _request: AdoptRequest) -> None:
        await asyncio.get_running_loop().create_future()

    async def main(sim: SimulatedNode) -> None:
        topic = await grown(sim, await sim.topic(), 2)
        when = Schedule(at_ms=5, id=str(ScheduleId(topic.id, 0, 1, 7)))
        batch = bytes(encode_batch([Record(b"a", key=MOVING, schedule=when)]))
        request = AdoptRequest(topic.id, 1, batch, origin=0, epoch=1, number=1, mapping=1)
        monkeypatch.setattr(AdoptionHost, "_adopt", never)
        asking = [asyncio.ensure_future(sim.node.adopt(request)) for _ in range(2)]
        await sim.clock.sleep(100)
        asking[1].cancel()
        await partition_of(sim, topic, 1).schedule.adoptions.close()
        told, gave_up = await asyncio.gather(*asking, return_exceptions=True)
        assert isinstance(told, ServerError)
        assert told.code is ProblemCode.OUTCOME_UNKNOWN
        assert isinstance(gave_up, asyncio.CancelledError)

    with_node(main)


def test_a_short_log_keeps_what_tells_a_repeated_hand_over() -> None:
    async def main(sim: SimulatedNode) -> None:
        sim.schedule_indexes = KeptIndexes()
        topic = await grown(sim, await sim.topic(dedup_window_ms=1_000), 2)
        when = Schedule(at_ms=5, id=str(ScheduleId(topic.id, 0, 1, 7)))
        batch = bytes(encode_batch([Record(b"a", key=MOVING, schedule=when)]))
        request = AdoptRequest(topic.id, 1, batch, origin=0, epoch=1, number=1, mapping=1)
        answer = await sim.node.adopt(request)
        for _ in range(20):
            await later(sim, topic, b"x" * 200, delay_ms=10)
            await sim.clock.sleep(500)
        log = partition_of(sim, topic, 1).schedule.scheduled.log
        assert log.log_start > answer.offset
        for _ in range(2):
            assert await sim.node.adopt(request) == answer
            await restarted(sim)
        assert (await bodies(sim, topic))[1].count(b"a") == 1

    with_node(main, SHORT)


def test_a_key_is_with_one_consumer_at_a_time() -> None:
    """`new` is out when `late` is due: it waits behind it."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        group = await sim.groups.create("ordered", mode=GroupMode.KEY_ORDERED, settings=GroupSettings())
        await later(sim, topic, b"late")
        topic = await grown(sim, topic)
        await now(sim, topic, b"new")

        async def receive() -> list[Any]:
            request = ReceiveRequest([topic.id], group.id, "tester", max_messages=10, max_bytes=1 << 20)
            return (await sim.node.receive(request)).messages

        out = []
        while not out:
            await sim.clock.sleep(300)
            out = await receive()
        await sim.clock.sleep(3_000)
        assert await receive() == []
        await sim.settle("ack", topic, group, out)
        [late] = await receive()
        assert (late.partition, late.offset) == (1, 1)

    with_node(main)


def test_the_latest_value_of_a_key_is_what_was_delayed() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(cleanup_policy=CleanupPolicy.COMPACT)
        await later(sim, topic, b"late")
        topic = await grown(sim, topic)
        await now(sim, topic, b"new")

        async def latest() -> bytes:
            found = await sim.node.latest(LatestRequest(topic.id, place(MOVING, topic), MOVING, topic.mapping))
            assert found.record is not None
            return found.record.body

        assert await latest() == b"new"
        await sim.clock.sleep(3_000)
        assert await latest() == b"late"

    with_node(main)


def test_nothing_is_taken_by_a_mapping_that_is_not_in_force() -> None:
    """While some partition has not said where the new mapping begins, what goes by a key waits, and what does not goes
    out; when it is in force, nothing stands behind its beginning that an earlier one put there."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(partitions=2)
        stays = next(f"s{n}" for n in range(99) if hash_of_key(f"s{n}") % 2 == 0 == hash_of_key(f"s{n}") % 3)
        starter = partition_of(sim, topic, 1).host.gate
        starter.under_way += 1  # something that never ends
        await sim.topics.update(topic.name, partitions=3)
        batch = encode_batch([Record(b"keyed", key=stays, schedule=Schedule(delay_ms=300))])
        await sim.node.schedule(ProduceRequest(topic.id, 0, batch))
        await later(sim, topic, b"keyless", key=None, delay_ms=300)
        await sim.clock.sleep(2_000)
        assert await sim.bodies_in_log(topic) == [b"keyless"]
        starter.under_way -= 1
        await sim.clock.sleep(2_000)
        assert await sim.bodies_in_log(topic) == [b"keyless", b"keyed"]

    with_node(main)


def test_what_is_due_goes_by_its_mapping_as_a_send_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next mapping begins behind it, and it is refused once that has begun."""
    append_own = PartitionHost.append_own
    seen: list[int] = []

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await later(sim, topic, b"late", delay_ms=500)

        async def appended(self: PartitionHost, batch: bytearray, **options: Any) -> ProduceResponse:
            appending = asyncio.ensure_future(append_own(self, batch, **options))
            await settle(2)  # until it is at the gate
            if self.log.key.kind == LogKind.MESSAGES:
                seen.append(self.gate.under_way)
            return await appending

        host = partition_of(sim, topic).host
        monkeypatch.setattr(PartitionHost, "append_own", appended)
        await sim.clock.sleep(1_000)
        assert await sim.bodies_in_log(topic) == [b"late"]
        assert (seen, host.gate.under_way) == ([1], 0)
        await grown(sim, topic)
        with pytest.raises(ServerError) as caught:
            await append_own(host, encode_batch([Record(b"x", key=MOVING)]), timeout_ms=1_000, mapping=0)
        assert caught.value.code is ProblemCode.CONFLICT

    with_node(main)


def test_while_a_node_of_an_earlier_version_is_there_nothing_is_handed_over() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        earlier = NodeRegistration(9, 1, "d9", "elsewhere:1", is_leaving=True, newest_protocol=7)
        await sim.store.transact([], [Put(keys.node(9), encode(earlier))])
        await later(sim, topic, b"first", delay_ms=500)
        await later(sim, topic, b"second", delay_ms=5_000)
        topic = await grown(sim, topic)
        await sim.clock.sleep(2_000)
        assert await bodies(sim, topic) == [[b"first"], []]
        await sim.store.transact([], [Delete(keys.node(9))])
        await sim.clock.sleep(5_000)
        assert await bodies(sim, topic) == [[b"first"], [b"second"]]

    with_node(main)


def test_a_partition_that_takes_nothing_over_holds_up_no_other() -> None:
    """Not as long as what waits for it leaves room in memory; and it is asked again when it does not answer."""

    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        stays = next(f"s{n}" for n in range(99) if hash_of_key(f"s{n}") % 3 == 0)
        other = next(f"o{n}" for n in range(99) if hash_of_key(f"o{n}") % 3 == 2)
        stuck = next(f"k{n}" for n in range(99) if hash_of_key(f"k{n}") % 3 == 1)
        for n in range(5):
            await later(sim, topic, b"stuck%d" % n, key=stuck, delay_ms=1_000)
            await later(sim, topic, b"stays%d" % n, key=stays, delay_ms=1_000 + n * 100)
            await later(sim, topic, b"other%d" % n, key=other, delay_ms=1_000 + n * 100)
        topic = await grown(sim, topic, 3)
        adopt, asked = sim.node.adopt, []

        async def stuck_adopt(request: AdoptRequest) -> Any:
            if request.partition != 1 or len(asked) > 1:
                return await adopt(request)
            asked.append(sim.clock.monotonic_ms())
            return await asyncio.Event().wait()

        sim.node.adopt = stuck_adopt  # type: ignore[method-assign]
        await sim.clock.sleep(4_000)
        expected = [[name + b"%d" % n for n in range(5)] for name in (b"stays", b"stuck", b"other")]
        assert await bodies(sim, topic) == [expected[0], [], expected[2]]
        await sim.clock.sleep(20_000)
        assert await bodies(sim, topic) == expected
        settings = sim.settings.schedule
        assert asked[1] - asked[0] >= settings.hand_over_timeout_ms + settings.retry_pause_ms

    with_node(main, replace(FEW, schedule=replace(FEW.schedule, near_messages_max=20)))


def test_what_was_on_its_way_to_a_partition_that_is_gone_is_delivered_elsewhere() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        sent = await later(sim, topic, b"late", delay_ms=500)
        topic = await grown(sim, topic)

        async def refuse(request: AdoptRequest) -> None:
            raise ServerError(ProblemCode.UNAVAILABLE, "not now")

        adopt = sim.node.adopt
        sim.node.adopt = refuse  # type: ignore[method-assign, assignment]
        await sim.clock.sleep(1_500)
        topic = await in_force(sim, await sim.topics.decommission(topic.name, [1]))
        while (state := sim.metadata.partition(topic.id, 1)) is None or state.life is not PartitionLife.GONE:
            await sim.clock.sleep(100)
        sim.node.adopt = adopt  # type: ignore[method-assign]
        for _ in range(2):
            await sim.clock.sleep(2_000)
            assert await sim.bodies_in_log(topic) == [b"late"]
            assert (await look(sim.node, topic, sent)).message_offset == 0
            await restarted(sim)

    with_node(main)


def test_a_batch_that_is_damaged_is_refused_and_changes_nothing() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await grown(sim, await sim.topic(), 2)
        with pytest.raises(ServerError) as caught:
            await sim.node.adopt(AdoptRequest(topic.id, 1, b"nonsense", origin=0, epoch=1, number=1, mapping=1))
        assert (caught.value.code, caught.value.field) == (ProblemCode.INVALID_FIELD, "batch")
        when = Schedule(at_ms=5, id=str(ScheduleId(topic.id, 0, 1, 7)))
        batch = bytes(encode_batch([Record(b"a", key=MOVING, schedule=when)]))
        await sim.node.adopt(AdoptRequest(topic.id, 1, batch, origin=0, epoch=1, number=1, mapping=1))
        await sim.clock.sleep(500)
        assert await bodies(sim, topic) == [[], [b"a"]]

    with_node(main)
