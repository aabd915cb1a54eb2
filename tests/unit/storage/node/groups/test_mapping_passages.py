"""What a node knows of a group's way through a topic's earlier mappings, and how often it asks for it."""

import asyncio
from dataclasses import dataclass
from typing import Any, cast

from cluster.model.projected_offsets import ProjectedPartition
from cluster.model.values import MappingStart, PartitionState, Topic
from storage.delivery.mapping_walls import NO_WALL
from storage.node.groups import mapping_passages
from storage.node.groups.mapping_passages import MappingPassages
from tests.support.manual_clock import ManualClock

TOPIC = Topic("t", "orders", 3, 1, 0, mapping=1, ordered_mappings=1)


@dataclass
class Here:
    progress: int | None

    @property
    def groups(self) -> "Here":
        return self

    def progress_of(self, group_id: str) -> int | None:
        return self.progress


class Scene:
    """Partition 0 and 1 were there before, with 5 messages each; 2 is new. The node leads 1 and 2."""

    def __init__(self) -> None:
        self.projected = {0: 0}
        self.here = {1: Here(5), 2: Here(0)}
        self.reads = 0
        self.clock = ManualClock()
        starts = [5, 5, 0]
        self.states = [
            PartitionState("t", number, (1,), (1,), 1, 1, 1, mapping_starts=(MappingStart(1, start),))
            for number, start in enumerate(starts)
        ]
        scene = cast(Any, self)
        self.passages = MappingPassages(scene, scene, scene, self.clock, scene)

    projection_interval_ms = 1_000

    async def read(self, group_id: str, topic_id: str) -> dict[int, ProjectedPartition]:
        self.reads += 1
        await asyncio.sleep(0)
        return {number: ProjectedPartition(offset, 0, 1, 1) for number, offset in self.projected.items()}

    def of_topic(self, topic_id: str) -> dict[int, Here]:
        return self.here

    def partition(self, topic_id: str, number: int) -> PartitionState:
        return self.states[number]

    def partitions(self, topic_id: str) -> list[PartitionState]:
        return self.states

    async def walls(self, group_id: str = "g", *, age_ms: int = 1_000) -> list[int]:
        since_ms = self.clock.monotonic_ms() - age_ms
        walls = [self.passages.wall_in(group_id, TOPIC, number, since_ms=since_ms) for number in range(3)]
        return [wall.offset for wall in await asyncio.gather(*walls)]


async def test_who_is_through_the_others_is_let_through() -> None:
    scene = Scene()
    assert await scene.walls() == [NO_WALL, 5, 0], "partition 0 is in the way of all but itself"
    scene.projected[0] = 5
    scene.here[1].progress = None  # the group has not come there yet
    await scene.clock.advance_ms(1_001)
    assert await scene.walls() == [5, NO_WALL, 0]
    scene.projected[1] = 5
    await scene.clock.advance_ms(1_001)
    assert await scene.walls() == [NO_WALL] * 3


async def test_many_partitions_ask_once_in_an_interval() -> None:
    scene = Scene()
    await scene.walls()
    await scene.walls()
    assert scene.reads == 1
    await scene.walls(age_ms=-1)
    assert scene.reads == 4, "who has sought wants to know of now"
    await scene.walls("other")
    assert scene.reads == 5


async def test_no_more_is_remembered_than_the_limit(monkeypatch: Any) -> None:
    monkeypatch.setattr(mapping_passages, "PASSAGES_KEPT_MAX", 2)

    scene = Scene()
    for number in range(5):
        await scene.walls(f"g{number}")
    assert (len(scene.passages._known), len(scene.passages._turns)) == (2, 2)
