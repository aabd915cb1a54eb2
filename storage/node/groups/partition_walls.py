"""How far the groups of one partition may be given its messages, where its topic's partitions were changed."""

import asyncio
from collections.abc import Callable

from cluster.model.mapping_starts import keeps_order, order_is_lost
from cluster.model.values import Group, GroupMode, Topic
from cluster.ports.clock import Clock
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.mapping_walls import NO_WALL
from storage.delivery.modes import has_order
from storage.node.groups.mapping_passages import MappingPassages
from storage.node.partition.partition_host import PartitionHost


class PartitionWalls:
    """A group that was let through stays so until it seeks. `on_returned(group_id)` is called, as long as the group
    asks, when it is worth asking again."""

    def __init__(
        self,
        host: PartitionHost,
        passages: MappingPassages,
        *,
        clock: Clock,
        on_returned: Callable[[str], None],
    ) -> None:
        self._host = host
        self._passages = passages
        self._clock = clock
        self._on_returned = on_returned
        self._passed: dict[str, tuple[int, int]] = {}  # the last mapping that had begun, and the generation, by group
        self._met: dict[str, tuple[int, int]] = {}  # where, and in which generation
        self._ringing: dict[str, asyncio.TimerHandle] = {}

    def met_by(self, group_id: str) -> int:
        """Where the group had to stop when it asked last; NO_WALL: nowhere."""
        met = self._met.get(group_id)
        return NO_WALL if met is None else met[0]

    async def end_for(self, group: Group, state: GroupInPartition) -> int:
        """Where it has to stop now, in this receive: never behind what is there, as a mapping may begin while it looks.
        Raises ServerError WRONG_GROUP_MODE where there is no order for it."""
        topic = self._host.topic
        if not has_order(group.mode):
            return NO_WALL
        if not keeps_order(topic):
            if group.mode is GroupMode.KEY_ORDERED:
                raise order_is_lost(topic)
            return NO_WALL
        if topic.mapping and self._passed.get(group.id) != (topic.mapping, state.generation):
            wall = await self._wall(group.id, topic, state.generation)
            return min(wall, self._host.readable_end)
        return self._host.readable_end

    async def _wall(self, group_id: str, topic: Topic, generation: int) -> int:
        now_ms = self._clock.monotonic_ms()
        known = self._met.get(group_id) or self._passed.get(group_id)
        has_sought = known is not None and known[1] != generation
        since_ms = now_ms + 1 if has_sought else now_ms - self._passages.interval_ms
        wall = await self._passages.wall_in(group_id, topic, self._host.partition, since_ms=since_ms)
        if wall.offset == NO_WALL:
            self._met.pop(group_id, None)
            self._passed[group_id] = (wall.mapping, generation)
        else:
            self._met[group_id] = (wall.offset, generation)
            self._ring_later(group_id)
        return wall.offset

    def forget(self, group_id: str) -> None:
        """The group was removed."""
        self._passed.pop(group_id, None)
        self._met.pop(group_id, None)

    def close(self) -> None:
        for timer in self._ringing.values():
            timer.cancel()

    def _ring_later(self, group_id: str) -> None:
        if group_id not in self._ringing:
            delay_s = self._passages.interval_ms / 1000
            self._ringing[group_id] = asyncio.get_running_loop().call_later(delay_s, self._ring, group_id)

    def _ring(self, group_id: str) -> None:
        del self._ringing[group_id]
        self._on_returned(group_id)
