"""What a node does when its surroundings fail it at an awkward moment, on virtual time and a simulated disk."""

import asyncio
import dataclasses
from typing import Any

import pytest

from acklog.wire.limits import NAME_LENGTH_MAX
from acklog.wire.names import name_fault
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model import keys
from cluster.ports.coordination import CoordinationUnavailableError, KeyValue
from storage.node.groups.delivery_snapshots import SNAPSHOT_NAME
from storage.node.groups.leased_receives import Share
from storage.node.groups.partition_groups import PartitionGroups
from storage.rpc import messages
from tests.sim.sim_disk import DiskOperation, OperationKind
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

_READ = OperationKind.READ


def test_a_stop_in_the_middle_of_retention_is_an_orderly_one() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(retention_ms=60_000, segment_bytes=500)
        for number in range(10):
            await sim.send(topic, b"%d" % number * 100)
        segment = sim.node.partitions_led()[0].host.log.key.directory + "/"
        stopping: list[asyncio.Task[None]] = []

        def stop(operation: DiskOperation) -> None:
            if operation.kind is OperationKind.REMOVE and operation.path.startswith(segment) and not stopping:
                stopping.append(asyncio.get_running_loop().create_task(sim.node.close()))

        sim.disk.before_operation = stop
        while not stopping:
            await sim.clock.sleep(1_000)
        await stopping[0]
        assert sim.node.failure == "it was closed"
        await sim._leave()
        await sim.start()
        assert sim.node.logs.report.was_clean
        assert (await sim.positions(topic)).log_start > 0

    with_node(main)


def test_a_stop_while_a_partition_is_opened_is_an_orderly_one() -> None:
    async def main(sim: SimulatedNode) -> None:
        old = await sim.topic()
        stopping: list[asyncio.Task[None]] = []

        def stop(operation: DiskOperation) -> None:
            if operation.path.endswith(f"/{SNAPSHOT_NAME}") and not stopping:
                stopping.append(asyncio.get_running_loop().create_task(sim.node.close()))

        sim.disk.before_operation = stop
        await sim.topics.create("new", partitions=3, config=old.config, replication_factor=1)
        while not stopping:
            await sim.clock.sleep(1)
        await stopping[0]
        assert sim.node.failure == "it was closed"
        await sim._leave()
        await sim.start()
        assert sim.node.logs.report.was_clean

    with_node(main)


def test_large_dead_letters_move_in_batches_that_fit() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        group = await sim.group(max_attempts=1, visibility_ms=1000)
        bodies = [b"%d" % number * 30_000 for number in range(10)]
        for body in bodies:
            await sim.send(topic, body)
        assert len((await sim.receive(topic, group)).messages) == 10
        await sim.clock.sleep(30_000)
        dead = sim.metadata.topic("orders.workers.dlq")
        assert dead is not None
        assert await sim.bodies_in_log(dead) == bodies
        assert (await sim.positions(topic)).groups[0].progress == 10

    with_node(main, dataclasses.replace(SMALL, dead_letters_bytes_max=64 * 1024))


def test_the_dead_letters_of_long_names_have_a_topic_too() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic("t" * NAME_LENGTH_MAX)
        for name in ("g" * NAME_LENGTH_MAX, "g" * (NAME_LENGTH_MAX - 1) + "h"):
            group = await sim.group(name, max_attempts=1, visibility_ms=1000)
            await sim.send(topic, b"poison")
            await sim.receive(topic, group)
        await sim.clock.sleep(30_000)
        dead = [each for each in sim.metadata.topics() if each.id != topic.id]
        assert sorted([len(await sim.bodies_in_log(each)) for each in dead]) == [1, 2]
        assert all(name_fault(each.name) is None and each.name.endswith(".dlq") for each in dead)

    with_node(main)


def test_a_deleted_topics_data_goes_once_the_disk_lets_it() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await sim.send(topic, b"1" * 1000)
        capacity_bytes, sim.disk.capacity_bytes = sim.disk.capacity_bytes, sim.disk.used_bytes
        await sim.topics.delete("orders")
        await sim.clock.sleep(5_000)
        assert any(topic.id in path for path in sim.disk.files())
        sim.disk.capacity_bytes = capacity_bytes
        await sim.clock.sleep(10_000)
        assert not any(topic.id in path for path in sim.disk.files())

    with_node(main)


def test_an_outage_of_the_store_while_a_topic_goes_does_not_keep_another_from_coming() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic()
        await sim.send(topic, b"1")
        get = sim.store.get

        async def unreachable(key: str) -> KeyValue | None:
            if key.startswith(keys.TOMBSTONES) and sim.node.logs.keys():
                raise CoordinationUnavailableError("an outage")
            return await get(key)

        sim.store.get = unreachable  # type: ignore[method-assign]
        other = asyncio.create_task(sim.topic("other"))
        await sim.topics.delete("orders")
        await sim.clock.sleep(2_000)
        await other
        sim.store.get = get  # type: ignore[method-assign]
        await sim.send(other.result(), b"2")
        await sim.clock.sleep(10_000)
        assert not any(topic.id in path for path in sim.disk.files())

    with_node(main)


def test_a_receive_while_retention_is_at_work_is_no_error_and_gets_what_is_left() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(retention_ms=60_000, segment_bytes=500)
        group = await sim.group()
        await sim.receive(topic, group)
        for number in range(10):
            await sim.send(topic, b"%d" % number * 100)
        await sim.clock.sleep(40_000)
        await sim.send(topic, b"x" * 600)
        directory = sim.node.partitions_led()[0].host.log.key.directory
        polls: list[asyncio.Task[messages.ReceiveResponse]] = []

        def poll(operation: DiskOperation) -> None:
            wanted = {OperationKind.RENAME: "recovery-points.tmp", OperationKind.REMOVE: f"{directory}/{0:020d}.log"}
            if wanted.get(operation.kind) == operation.path:
                polls.append(asyncio.get_running_loop().create_task(sim.receive(topic, group, wait_ms=1000)))

        await sim.clock.sleep(19_500)
        sim.node._cache.drop(sim.node.partitions_led()[0].host.log.key)
        sim.disk.misses_cache = lambda _: True
        sim.disk.before_operation = poll
        await sim.clock.sleep(3_000)
        answers = await asyncio.gather(*polls)
        assert (await sim.positions(topic)).log_start == 10
        assert [message.offset for answer in answers for message in answer.messages if message.offset >= 10] == [10]

    with_node(main)


def test_a_sector_that_cannot_be_read_is_corruption_of_that_place_and_no_more() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic = await sim.topic(segment_bytes=500)
        group = await sim.group(max_attempts=1, visibility_ms=1000)
        for number in range(10):
            await sim.send(topic, b"%d" % number * 100)
        await sim.stop()
        await sim.start()
        directory = sim.node.partitions_led()[0].host.log.key.directory
        bad = f"{directory}/{0:020d}.log"
        sim.disk.fails = lambda operation: operation.kind is OperationKind.READ and operation.path == bad
        with pytest.raises(ServerError) as refused:
            await sim.node.records(messages.RecordsRequest(topic.id, 0, 0))
        assert refused.value.code is ProblemCode.RECORDS_CORRUPT
        found: list[messages.DeliveredMessage] = []
        for _ in range(12):
            found += (await sim.receive(topic, group, max_messages=1)).messages
        assert found, "what cannot be read is stepped over"
        assert [message.offset for message in found] == list(range(found[0].offset, 10))
        await sim.settle("ack", topic, group, found)
        await sim.clock.sleep(20_000)  # the unreadable ones use up their attempts
        assert sim.node.failure is None
        sim.disk.fails = None
        await sim.clock.sleep(20_000)
        assert (await sim.positions(topic)).groups[0].progress == 10

    with_node(main)


def test_a_snapshot_that_cannot_be_read_refuses_its_partition_and_no_other() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(partitions=2), await sim.group()
        for number in range(2):
            await sim.send(topic, b"1", partition=number)
            await sim.settle("ack", topic, group, (await sim.receive(topic, group)).messages)
        await sim.stop()
        bad = f"partitions/{topic.id}-0/delivery/snapshot"
        sim.disk.fails = lambda operation: operation.kind is OperationKind.READ and operation.path == bad
        await sim.start()
        assert (await sim.positions(topic, 1)).high_watermark == 1
        with pytest.raises(ServerError) as refused:
            await sim.positions(topic, 0)
        assert refused.value.code is ProblemCode.RECORDS_CORRUPT

    with_node(main)


def test_a_snapshot_that_is_gone_is_damage_and_acknowledged_messages_do_not_come_again() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        for _ in range(40):
            await sim.send(topic, b"1", b"2", b"3")
            await sim.settle("ack", topic, group, (await sim.receive(topic, group)).messages)
        await sim.stop()
        sim.disk.remove(f"partitions/{topic.id}-0/delivery/snapshot")
        await sim.start()
        with pytest.raises(ServerError) as refused:
            await sim.positions(topic)
        assert refused.value.code is ProblemCode.RECORDS_CORRUPT

    with_node(main, dataclasses.replace(SMALL, delivery_snapshot_bytes=1000, delivery_segment_bytes=500))


def test_messages_behind_a_damaged_batch_reach_a_group_whose_consumers_all_wait() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.receive(topic, group)
        await sim.send(topic, *[b"1" * 50] * 10)
        await sim.send(topic, b"2")
        await sim.stop()
        segment = f"partitions/{topic.id}-0/{0:020d}.log"
        sim.disk.bit_rot(segment, 200, 3)
        sim.disk.misses_cache = lambda _: True
        await sim.start()
        polls: list[asyncio.Task[messages.ReceiveResponse]] = []

        def poll(operation: DiskOperation | None = None) -> None:
            if len(polls) < 2 and (operation is None or (operation.path, operation.kind) == (segment, _READ)):
                polls.append(asyncio.get_running_loop().create_task(sim.receive(topic, group, wait_ms=10_000)))

        sim.disk.before_operation = poll  # the second comes while the first one reads
        poll()
        await polls[0]
        answers = await asyncio.gather(*polls)
        assert len(answers) == 2
        assert [message.record.body for answer in answers for message in answer.messages] == [b"2"]

    with_node(main)


def test_two_who_meet_a_full_disk_at_a_groups_first_contact_do_not_lose_it_for_good() -> None:
    """The one waits for what the other begins. Had it gone on as if that had worked, nobody would begin it again, and
    the group would get nothing until the next start."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(partitions=2), await sim.group()
        await sim.send(topic, b"1")
        capacity_bytes, sim.disk.capacity_bytes = sim.disk.capacity_bytes, sim.disk.used_bytes
        refused = await asyncio.gather(*(sim.receive(topic, group) for _ in range(3)), return_exceptions=True)
        assert [error.code.name for error in refused if isinstance(error, ServerError)] == ["STORAGE_FULL"] * 3
        sim.disk.capacity_bytes = capacity_bytes
        assert [message.record.body for message in (await sim.receive(topic, group)).messages] == [b"1"]

    # What is appended meets the disk at once.
    log_store = dataclasses.replace(SMALL.log_store, write_behind_bytes_max=0)
    with_node(main, dataclasses.replace(SMALL, log_store=log_store))


def test_who_waits_for_a_groups_first_contact_goes_on_when_the_other_gives_up() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await sim.send(topic, b"1")
        first = asyncio.ensure_future(sim.receive(topic, group))
        second = asyncio.ensure_future(sim.receive(topic, group))
        for _ in range(3):
            await asyncio.sleep(0)
        first.cancel()
        assert [message.record.body for message in (await second).messages] == [b"1"]

    with_node(main)


def _hold_up_starts(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """A group's first contact with a partition does not end before the event."""
    gate, start = asyncio.Event(), PartitionGroups.start

    async def slow_start(self: PartitionGroups, *arguments: Any) -> None:
        await start(self, *arguments)
        await gate.wait()

    monkeypatch.setattr(PartitionGroups, "start", slow_start)
    return gate


def test_a_partition_that_comes_during_a_groups_first_contact_is_read_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        gate = _hold_up_starts(monkeypatch)
        first = asyncio.ensure_future(sim.receive(topic, group))
        await sim.clock.sleep(100)
        await sim.topics.update("orders", partitions=2)
        await sim.clock.sleep(1_000)
        gate.set()
        assert (await first).messages == []
        await sim.send(topic, b"1", partition=1)
        assert [message.record.body for message in (await sim.receive(topic, group)).messages] == [b"1"]

    with_node(main)


def test_a_long_poll_reads_the_partition_that_comes_during_its_first_contact(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        gate = _hold_up_starts(monkeypatch)
        poll = asyncio.ensure_future(sim.receive(topic, group, wait_ms=20_000))
        await sim.clock.sleep(100)
        await sim.topics.update("orders", partitions=2)
        await sim.clock.sleep(1_000)
        await sim.send(topic, b"1", partition=1)
        gate.set()
        assert [message.record.body for message in (await poll).messages] == [b"1"]
        assert sim.clock.monotonic_ms() < 10_000

    with_node(main)


def test_a_partition_that_was_looked_at_before_it_knew_the_group_is_looked_at_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two polls in a group's first contact: one looks at the partition that comes meanwhile, and is slow to go on; the
    other one does not look again while somebody waits, unless there is news."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        gate, receive = _hold_up_starts(monkeypatch), PartitionGroups.receive
        may_go_on, looks = asyncio.Event(), []

        async def slow_receive(self: PartitionGroups, *arguments: Any) -> Share:
            share = await receive(self, *arguments)
            if self is new.groups:
                looks.append((len(share.messages), sim.clock.monotonic_ms()))
                if len(looks) == 2:
                    await may_go_on.wait()
            return share

        polls = [asyncio.ensure_future(sim.receive(topic, group, wait_ms=20_000)) for _ in range(2)]
        await sim.clock.sleep(100)
        await sim.topics.update("orders", partitions=2)
        await sim.clock.sleep(1_000)
        await sim.send(topic, b"1", partition=1)
        (new,) = [each for each in sim.node.partitions_led() if each.number == 1]
        monkeypatch.setattr(PartitionGroups, "receive", slow_receive)
        gate.set()
        await sim.clock.sleep(1_000)
        may_go_on.set()
        answers = await asyncio.gather(*polls)
        assert [message.record.body for answer in answers for message in answer.messages] == [b"1"]
        assert [found for found, _ in looks[:3]] == [0, 0, 1], "both looked before the group was known there"
        assert looks[2][1] < 10_000, "a poll whose time is up looks once more, too"

    with_node(main)
