"""Planted bugs of order over a change of a topic's partitions: `tests.sim.cluster.mutants` has them all."""

import pytest

from cluster.model.values import Group, PartitionState, Topic
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.mapping_walls import NO_WALL
from storage.node.groups import mapping_passages
from storage.node.groups.mapping_passages import MappingPassages, Wall
from storage.node.groups.partition_walls import PartitionWalls
from storage.node.partition import mapping_gate
from storage.node.partition.mapping_gate import MappingGate


def new_partitions_do_not_wait(patch: pytest.MonkeyPatch) -> None:
    """A group with an order is given what is there, whatever is left in the partitions of before."""

    async def end_for(self: PartitionWalls, group: Group, state: GroupInPartition) -> int:
        return NO_WALL

    patch.setattr(PartitionWalls, "end_for", end_for)


def only_new_partitions_wait(patch: pytest.MonkeyPatch) -> None:
    """A key that goes from one old partition to another one is forgotten."""
    original = PartitionWalls.end_for

    async def end_for(self: PartitionWalls, group: Group, state: GroupInPartition) -> int:
        wall = await original(self, group, state)
        return NO_WALL if wall else wall

    patch.setattr(PartitionWalls, "end_for", end_for)


def mappings_begin_one_by_one(patch: pytest.MonkeyPatch) -> None:
    """A partition takes messages by the new mapping while another one takes them by the old one."""
    patch.setattr(mapping_gate, "is_in_force", lambda mapping, states: True)


def earlier_mappings_are_not_closed(patch: pytest.MonkeyPatch) -> None:
    """What a gateway sends that has not heard of a growth goes behind the end of the old mapping."""

    def check(self: MappingGate, mapping: int, topic: Topic) -> None:
        return

    patch.setattr(MappingGate, "check", check)


def what_nobody_started_is_through(patch: pytest.MonkeyPatch) -> None:
    """A partition that the group has not come to yet is taken for one that it is through."""
    original = mapping_passages.passage_of

    def passage_of(mapping: int, states: list[PartitionState], progress: dict[int, int]) -> object:
        return original(mapping, [state for state in states if state.partition in progress], progress)

    patch.setattr(mapping_passages, "passage_of", passage_of)


def who_asks_early_is_let_through_for_good(patch: pytest.MonkeyPatch) -> None:
    """A group that asks when a mapping is known and has not begun in the partition is never kept by it."""
    original = MappingPassages.wall_in

    async def wall_in(self: MappingPassages, group_id: str, topic: Topic, partition: int, *, since_ms: int) -> Wall:
        wall = await original(self, group_id, topic, partition, since_ms=since_ms)
        return wall._replace(mapping=topic.mapping)

    patch.setattr(MappingPassages, "wall_in", wall_in)


MAPPING_MUTANTS = (
    new_partitions_do_not_wait,
    only_new_partitions_wait,
    mappings_begin_one_by_one,
    earlier_mappings_are_not_closed,
    what_nobody_started_is_through,
    who_asks_early_is_let_through_for_good,
)
