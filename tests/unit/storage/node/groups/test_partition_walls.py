"""Where a group with an order has to stop in a partition while a mapping of its topic begins."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

from msgspec.structs import replace

from cluster.model.values import Group, GroupMode, MappingStart, PartitionState, Topic
from storage.node.groups.mapping_passages import MappingPassages
from storage.node.groups.partition_walls import PartitionWalls
from tests.support.manual_clock import ManualClock

GROUP = Group("g", "workers", 0, GroupMode.KEY_ORDERED)
BEFORE = Topic("t", "orders", 2, 1, 0)
AFTER = replace(BEFORE, partitions=3, mapping=1, ordered_mappings=1)
AFTER_ANOTHER = replace(BEFORE, partitions=4, mapping=2, ordered_mappings=2)


@dataclass
class Seen:
    generation: int = 1


@dataclass
class Host:
    """Of partition 1, with five messages. Partition 0 has as many, and the group has done none of them."""

    topic: Topic = BEFORE
    partition: int = 1
    readable_end: int = 5


@dataclass
class Scene:
    host: Host = field(default_factory=Host)
    progress: dict[int, int] = field(default_factory=dict)
    starts: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: {0: [], 1: []})
    rings: list[str] = field(default_factory=list)
    clock: ManualClock = field(default_factory=ManualClock)
    projection_interval_ms: int = 1_000

    def __post_init__(self) -> None:
        scene = cast(Any, self)
        passages = MappingPassages(scene, scene, scene, self.clock, scene)
        self.walls = PartitionWalls(cast(Any, self.host), passages, clock=self.clock, on_returned=self.rings.append)

    async def end(self, seen: Seen | None = None) -> int:
        return await self.walls.end_for(GROUP, cast(Any, seen or Seen()))

    def begin(self, mapping: int, **offsets: int) -> None:
        """A mapping begins at these offsets of partitions p0, p1, ..."""
        for name, offset in offsets.items():
            self.starts.setdefault(int(name[1:]), []).append((mapping, offset))

    # --- as the node's parts ---

    async def read(self, group_id: str, topic_id: str) -> dict[int, Any]:
        await asyncio.sleep(0)
        return {}

    def of_topic(self, topic_id: str) -> dict[int, Any]:
        return {number: cast(Any, _Led(offset)) for number, offset in self.progress.items()}

    def partition(self, topic_id: str, number: int) -> PartitionState:
        starts = tuple(MappingStart(*each) for each in self.starts[number])
        return PartitionState("t", number, (1,), (1,), 1, 1, 1, mapping_starts=starts)

    def partitions(self, topic_id: str) -> list[PartitionState]:
        return [self.partition(topic_id, number) for number in self.starts]


@dataclass
class _Led:
    offset: int

    @property
    def groups(self) -> "_Led":
        return self

    def progress_of(self, group_id: str) -> int:
        return self.offset


async def test_who_asks_before_a_mapping_has_begun_is_not_let_through_for_good() -> None:
    scene = Scene()
    scene.host.topic = AFTER
    assert await scene.end() == 5, "all that is there was put there by the mapping before"
    scene.begin(1, p0=5, p1=5, p2=0)
    scene.host.readable_end = 6
    assert await scene.end() == 5
    assert scene.walls.met_by("g") == 5
    scene.progress[0] = 5
    await scene.clock.advance_ms(1_001)
    assert await scene.end() == 6
    scene.host.readable_end = 9
    assert await scene.end() == 9, "let through, for as long as this mapping is the last"
    scene.walls.close()


async def test_who_asks_between_two_mappings_meets_the_second_wall() -> None:
    scene = Scene(progress={0: 5})
    scene.host.topic = AFTER
    scene.begin(1, p0=5, p1=5, p2=0)
    scene.host.topic = AFTER_ANOTHER
    assert await scene.end() == 5, "through the first, of which all is there"
    scene.begin(2, p0=7, p1=5, p2=0, p3=0)
    scene.host.readable_end = 6
    await scene.clock.advance_ms(1_001)
    assert await scene.end() == 5
    scene.walls.close()


async def test_what_begins_while_it_is_asked_counts() -> None:
    """The group's progress is read; meanwhile the next mapping begins here, and a message of it is stored."""
    scene = Scene(progress={0: 5})
    scene.begin(1, p0=5, p1=5, p2=0)
    scene.host.topic = AFTER
    asking = asyncio.create_task(scene.end())
    await asyncio.sleep(0)
    scene.begin(2, p0=7, p1=5, p2=0, p3=0)
    scene.host.readable_end = 6
    assert await asking == 5
    scene.walls.close()


async def test_what_comes_while_a_receive_looks_is_for_the_next_one() -> None:
    """It may be of a mapping that nobody had heard of when the receive began."""
    scene = Scene()
    assert await scene.end() == scene.host.readable_end
