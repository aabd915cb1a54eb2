"""What the offset store shows of groups' progress: nothing of an earlier leader replaces a later one's (rule R16)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest

from cluster.model.projected_offsets import ProjectedOffsets, ProjectedPartition
from cluster.ports.coordination import Compare, CoordinationError, Delete, Operation, Put, TransactionResult
from cluster.stores.memory_store import MemoryStore
from cluster.stores.store_settings import StoreSettings
from storage.node.offset_projection import OffsetProjection
from storage.node.replicas.led_partition import Partition
from storage.rpc.messages import GroupPosition
from tests.support.manual_clock import ManualClock
from tests.support.simulated_node import SimulatedNode, with_node


@dataclass
class Groups:
    applied_records: int
    progress: int
    generation: int = 0

    def positions(self) -> list[GroupPosition]:
        fields: dict[str, Any] = dict.fromkeys(GroupPosition.__struct_fields__, 0)
        known = {"group_id": "group", "progress": self.progress, "generation": self.generation}
        return [GroupPosition(**{**fields, **known})]


@dataclass
class Host:
    leader_epoch: int


@dataclass
class Led:
    """A partition as the projection looks at it."""

    host: Host
    groups: Groups
    topic_id: str = "topic"
    number: int = 0


@dataclass
class Nodes:
    """Two that lead one partition after the other, on one store."""

    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.clock, StoreSettings())

    def node(self) -> OffsetProjection:
        return OffsetProjection(self.store, clock=self.clock, interval_ms=1_000)


def led(*, epoch: int, applied: int, progress: int) -> Partition:
    return cast(Partition, Led(Host(epoch), Groups(applied, progress)))


async def test_a_late_write_of_an_earlier_leader_changes_nothing() -> None:
    nodes = Nodes()
    earlier, later = nodes.node(), nodes.node()
    await later.flush([led(epoch=2, applied=1, progress=20)])
    await earlier.flush([led(epoch=1, applied=900, progress=10)])
    assert (await later.read("group", "topic"))[0].offset == 20


async def test_a_later_leader_may_show_less() -> None:
    """A seek took the group back, or the leader before had counted what was never committed."""
    nodes = Nodes()
    earlier, later = nodes.node(), nodes.node()
    await earlier.flush([led(epoch=1, applied=900, progress=20)])
    await later.flush([led(epoch=2, applied=1, progress=10)])
    assert (await later.read("group", "topic"))[0].offset == 10


async def test_it_says_after_how_many_seeks() -> None:
    """Within a generation progress only grows: a lower bound, whatever else is lost."""
    nodes = Nodes()
    node = nodes.node()
    partition = led(epoch=1, applied=5, progress=20)
    await node.project([partition])
    assert await stored(nodes) == ProjectedPartition(20, 0, 1, 5, 0)
    cast(Groups, partition.groups).applied_records = 6
    cast(Groups, partition.groups).generation = 1
    await node.flush_if_due(lambda: [partition])
    assert (await stored(nodes)).generation == 1, "what was projected in between has not put off what is due"


async def stored(nodes: Nodes) -> ProjectedPartition:
    item = await nodes.store.get("/acklog/offsets/group/topic")
    assert item is not None
    return msgspec.json.decode(item.value, type=ProjectedOffsets).partitions["0"]


async def test_what_an_earlier_version_wrote_says_nothing_of_seeks() -> None:
    value = b'{"partitions":{"0":{"offset":9,"doneAbove":0,"leaderEpoch":1,"version":1}}}'
    assert msgspec.json.decode(value, type=ProjectedOffsets).partitions["0"].generation == -1


async def test_within_an_epoch_the_latest_counts() -> None:
    node = Nodes().node()
    await node.flush([led(epoch=1, applied=5, progress=20)])
    await node.flush([led(epoch=1, applied=6, progress=10)])
    assert (await node.read("group", "topic"))[0].offset == 10


async def test_what_could_not_be_written_is_tried_again_and_what_is_written_is_not() -> None:
    nodes = Nodes()
    node, partition = nodes.node(), led(epoch=1, applied=5, progress=20)
    transact, written = nodes.store.transact, 0

    async def refuse(*_: object) -> TransactionResult:
        raise CoordinationError("not now")

    async def count(compares: Sequence[Compare], operations: Sequence[Operation]) -> TransactionResult:
        nonlocal written
        written += 1
        return await transact(compares, operations)

    nodes.store.transact = refuse  # type: ignore[method-assign,assignment]
    await node.flush([partition])
    nodes.store.transact = count  # type: ignore[method-assign,assignment]
    for _ in range(3):
        await node.flush([])
    assert (written, (await stored(nodes)).offset) == (1, 20)


KEY = "/acklog/offsets/group/topic"
DAMAGED = [b"", b"{", b"[]", b'{"partitions":{"0":{"offset":"nine"}}}', b"\xff" * 40]


@pytest.mark.parametrize("value", DAMAGED)
async def test_a_value_that_is_not_understood_says_nothing_and_is_not_written_over(value: bytes) -> None:
    """A newer version may have written it. Another group's progress is projected all the same (rule R40)."""
    nodes = Nodes()
    node = nodes.node()
    await nodes.store.transact([], [Put(KEY, value)])
    beside = cast(Partition, Led(Host(1), Groups(5, 30), topic_id="beside"))
    await node.flush([led(epoch=1, applied=5, progress=20), beside])
    assert await node.read("group", "topic") == {}
    with pytest.raises(CoordinationError, match="not understood"):
        await node.known("group", "topic")
    item = await nodes.store.get(KEY)
    assert item is not None
    assert item.value == value
    assert (await node.read("group", "beside"))[0].offset == 30


async def test_what_it_stood_in_the_way_of_is_written_when_it_is_gone() -> None:
    nodes = Nodes()
    node = nodes.node()
    await nodes.store.transact([], [Put(KEY, b"{")])
    await node.flush([led(epoch=1, applied=5, progress=20)])
    await nodes.store.transact([], [Delete(KEY)])
    await node.flush([])
    assert (await stored(nodes)).offset == 20


async def test_a_partition_that_is_no_number_says_nothing() -> None:
    nodes = Nodes()
    value = b'{"partitions":{"first":{"offset":9,"doneAbove":0,"leaderEpoch":1,"version":1}}}'
    await nodes.store.transact([], [Put(KEY, value)])
    assert await nodes.node().read("group", "topic") == {}


def test_progress_is_projected_of_partitions_in_which_something_was_decided_and_of_no_others() -> None:
    async def main(sim: SimulatedNode) -> None:
        topics = [await sim.topic(f"t{number}") for number in range(3)]
        group = await sim.group()
        await sim.clock.sleep(5_000)
        projected, project = [], sim.node._projection.project

        async def note(partitions: Iterable[Partition]) -> None:
            projected.append([partition.topic_id for partition in partitions])
            await project(partitions)

        sim.node._projection.project = note  # type: ignore[method-assign]
        await sim.send(topics[1], b"1")
        await sim.settle("ack", topics[1], group, (await sim.receive(topics[1], group)).messages)
        await sim.clock.sleep(5_000)
        assert len(projected) >= 4
        assert [topic_ids for topic_ids in projected if topic_ids] == [[topics[1].id]]

    with_node(main)
