"""Where a group with an order has to wait because a topic's partitions were changed (`cluster.model.mapping_starts`).

At the start of each mapping in a partition stands a wall. The group passes it when it is through what the other
partitions were filled with before that mapping: a key that went elsewhere by it may have been in any of them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cluster.model.mapping_starts import end_before
from cluster.model.values import PartitionState

NO_WALL = 1 << 62
"""Above any offset."""


class Passage(NamedTuple):
    """How far a group is through a topic's earlier mappings. `in_the_way` has for each mapping up to the latest, from 1
    on, one or two partitions that still hold something of before it, if any do: who asks is not in its own way."""

    in_the_way: Sequence[tuple[int, ...]]

    def wall_in(self, state: PartitionState) -> int:
        """The offset from which on the group is not given the partition's messages yet; NO_WALL: there is none."""
        for start in state.mapping_starts:
            is_known = start.mapping <= len(self.in_the_way)
            if not is_known or any(number != state.partition for number in self.in_the_way[start.mapping - 1]):
                return start.offset
        return NO_WALL


def passage_of(mapping: int, states: Sequence[PartitionState], progress: Mapping[int, int]) -> Passage:
    """Up to `mapping`, by the first offsets that the group has not done, by partition; where there is none it has done
    nothing."""
    return Passage([_in_the_way(each, states, progress) for each in range(1, mapping + 1)])


def _in_the_way(mapping: int, states: Sequence[PartitionState], progress: Mapping[int, int]) -> tuple[int, ...]:
    found: list[int] = []
    for state in states:
        end = end_before(state, mapping)
        if end is None or progress.get(state.partition, 0) < end:
            found.append(state.partition)
            if len(found) == 2:
                break
    return tuple(found)
