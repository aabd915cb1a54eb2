"""Snapshots of the delivery state that do not belong to the log beside them: of before, of after, of another partition.

The partition says so, in one way, and nothing is skipped or delivered again in silence (rules R24, R34).
"""

import dataclasses
from collections.abc import Awaitable, Callable

import pytest

from acklog.wire.batch import encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.values import Group, Topic
from storage.delivery.partition_delivery import encode_snapshot
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint, write_checkpoint
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.node.groups.delivery_snapshots import path_of
from storage.rpc import messages
from tests.support.simulated_node import SMALL, SimulatedNode, with_node

TRIMMING = dataclasses.replace(SMALL, delivery_snapshot_bytes=1000, delivery_segment_bytes=500)


async def work(sim: SimulatedNode, topic: Topic, group: Group, *, rounds: int, partition: int = 0) -> None:
    for _ in range(rounds):
        await sim.send(topic, b"1", b"2", b"3", partition=partition)
        await sim.settle("ack", topic, group, (await sim.receive(topic, group)).messages)


def snapshot_of(topic: Topic, partition: int = 0) -> str:
    return f"{LogKey(topic.id, partition, LogKind.DELIVERY).directory}/snapshot"


def content_of(sim: SimulatedNode, topic: Topic, partition: int = 0) -> bytes:
    content = read_checkpoint(sim.disk, snapshot_of(topic, partition))
    assert content is not None
    return content


async def code_of(call: Awaitable[object]) -> ProblemCode:
    with pytest.raises(ServerError) as refused:
        await call
    assert "acklog fsck --repair" in refused.value.detail
    return refused.value.code


async def check_refused(sim: SimulatedNode, topic: Topic, partition: int = 0) -> None:
    """Every call says the same, and what to do."""
    group = await sim.group("others")
    batch = encode_batch([Record(b"new")])
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: sim.positions(topic, partition),
        lambda: sim.node.produce(messages.ProduceRequest(topic.id, partition, batch)),
        lambda: sim.node.records(messages.RecordsRequest(topic.id, partition, 0)),
    ]
    if not sim.node.partitions_led():
        calls.append(lambda: sim.receive(topic, group))
    else:
        assert (await sim.receive(topic, group)).messages, "the other partition is served"
    assert [await code_of(call()) for call in calls] == [ProblemCode.RECORDS_CORRUPT] * len(calls)


def test_a_snapshot_that_ends_before_the_delivery_log_begins_is_damage() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await work(sim, topic, group, rounds=10)
        await sim.stop()
        older = content_of(sim, topic)
        await sim.start()
        await work(sim, topic, group, rounds=40)
        await sim.stop()
        write_checkpoint(sim.disk, snapshot_of(topic), older)
        await sim.start()
        await check_refused(sim, topic)

    with_node(main, TRIMMING)


def test_an_older_snapshot_that_the_delivery_log_goes_on_from_is_sound() -> None:
    """As after a loss of power before the log was trimmed for a newer one."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await work(sim, topic, group, rounds=10)
        await sim.stop()
        older = content_of(sim, topic)
        await sim.start()
        await work(sim, topic, group, rounds=5)
        await sim.stop()
        write_checkpoint(sim.disk, snapshot_of(topic), older)
        await sim.start()
        assert (await sim.positions(topic)).groups[0].progress == 45

    with_node(main)


def test_a_snapshot_that_goes_beyond_the_delivery_log_is_damage() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await work(sim, topic, group, rounds=10)
        await sim.stop()
        content = content_of(sim, topic)
        write_checkpoint(sim.disk, snapshot_of(topic), (9_999).to_bytes(8, "big") + content[8:])
        await sim.start()
        await check_refused(sim, topic)

    with_node(main)


def test_a_snapshot_of_another_partition_is_damage() -> None:
    """Its groups are the same, and its place in the delivery log fits; what they have done is something else."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(partitions=2), await sim.group()
        await work(sim, topic, group, rounds=6, partition=0)
        await work(sim, topic, group, rounds=7, partition=1)
        await sim.stop()
        write_checkpoint(sim.disk, snapshot_of(topic, 1), content_of(sim, topic, 0))
        await sim.start()
        await check_refused(sim, topic, 1)
        assert (await sim.positions(topic, 0)).high_watermark == 18

    with_node(main)


def test_a_snapshot_of_an_earlier_version_does_not_say_whose_it_is_and_is_taken() -> None:
    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await work(sim, topic, group, rounds=10)
        before = sim.node.partitions_led()[0].delivery.state
        groups = [each.snapshot() for each in before.groups()]
        await sim.stop()
        offset = content_of(sim, topic)[:8]
        write_checkpoint(sim.disk, snapshot_of(topic), offset + encode_snapshot(groups))
        await sim.start()
        assert (await sim.positions(topic)).groups[0].progress == 30

    with_node(main)


@pytest.mark.parametrize("change", ["gone", "older"])
def test_nobody_is_given_a_state_that_does_not_reach_the_log(change: str) -> None:
    """A follower that begins anew with it would lose what was done, and trim its log for it."""

    async def main(sim: SimulatedNode) -> None:
        topic, group = await sim.topic(), await sim.group()
        await work(sim, topic, group, rounds=20)
        snapshots = sim.node.replicas()[0]._context.snapshots
        log = sim.node.replicas()[0].logs[LogKind.DELIVERY]
        older = content_of(sim, topic)
        await work(sim, topic, group, rounds=40)
        assert log.log_start > int.from_bytes(older[:8], "big")
        if change == "gone":
            sim.disk.remove(path_of(log))
        else:
            write_checkpoint(sim.disk, path_of(log), older)
        with pytest.raises(CheckpointDamagedError):
            await snapshots.read(log)
        with pytest.raises(CheckpointDamagedError):
            await snapshots.finish_restart(log)

    with_node(main, TRIMMING)
