"""How far groups with an order are through what their topics' earlier mappings left, in all partitions together.

What this node's own partitions know is asked of them; of others', the offset store shows what was done a second ago at
the earliest, which is never more than what is done.
"""

import asyncio
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from cluster.metadata.metadata_view import MetadataView
from cluster.model.mapping_starts import latest_mapping
from cluster.model.projected_offsets import ProjectedPartition
from cluster.model.values import Topic
from cluster.ports.clock import Clock
from storage.delivery.mapping_walls import NO_WALL, Passage, passage_of
from storage.node.partition.node_settings import NodeSettings

PASSAGES_KEPT_MAX = 1_000


class Wall(NamedTuple):
    """Where a group has to stop in a partition, and up to which mapping that says something: one that has not begun
    there yet may put a wall where there is none now."""

    offset: int
    mapping: int


class GroupsHere(Protocol):
    def progress_of(self, group_id: str) -> int | None: ...


class PartitionHere(Protocol):
    @property
    def groups(self) -> GroupsHere: ...


class PartitionsHere(Protocol):
    """Those that are led on this node."""

    def of_topic(self, topic_id: str) -> Mapping[int, PartitionHere]: ...


class ProjectionReader(Protocol):
    """The offset store."""

    async def read(self, group_id: str, topic_id: str) -> dict[int, ProjectedPartition]: ...


class MappingPassages:
    """Of one node. What is known of a group in a topic is good for `interval_ms`, the time after which the offset store
    may show more."""

    def __init__(
        self,
        projection: ProjectionReader,
        led: PartitionsHere,
        metadata: MetadataView,
        clock: Clock,
        settings: NodeSettings,
    ) -> None:
        self.interval_ms = settings.projection_interval_ms
        self._projection = projection
        self._led = led
        self._metadata = metadata
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[int, Passage]] = {}
        self._turns: dict[tuple[str, str], asyncio.Lock] = {}

    async def wall_in(self, group_id: str, topic: Topic, partition: int, *, since_ms: int) -> Wall:
        """As `Passage.wall_in`, by what is known since `since_ms` (monotonic)."""
        if not self._has_begun(topic, partition):
            return Wall(NO_WALL, 0)  # nothing was put there by a mapping that came after another one
        passage = await self._passage(group_id, topic, since_ms)
        state = self._metadata.partition(topic.id, partition)
        return Wall(NO_WALL, 0) if state is None else Wall(passage.wall_in(state), latest_mapping(state))

    def _has_begun(self, topic: Topic, partition: int) -> bool:
        state = self._metadata.partition(topic.id, partition)
        return state is not None and bool(state.mapping_starts)

    async def _passage(self, group_id: str, topic: Topic, since_ms: int) -> Passage:
        key = (group_id, topic.id)
        async with self._turns.setdefault(key, asyncio.Lock()):  # many partitions ask at once
            found = self._known.get(key)
            if found is None or found[0] < since_ms:
                found = self._known[key] = await self._look(group_id, topic)
        if len(self._known) > PASSAGES_KEPT_MAX:
            oldest = next(iter(self._known))
            del self._known[oldest]
            self._turns.pop(oldest, None)
        return found[1]

    async def _look(self, group_id: str, topic: Topic) -> tuple[int, Passage]:
        at_ms = self._clock.monotonic_ms()
        projected = await self._projection.read(group_id, topic.id)
        progress = {number: each.offset for number, each in projected.items()}
        for number, partition in self._led.of_topic(topic.id).items():
            own = partition.groups.progress_of(group_id)
            if own is not None:
                progress[number] = own
        return at_ms, passage_of(topic.mapping, self._metadata.partitions(topic.id), progress)
