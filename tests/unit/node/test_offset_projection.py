"""What the offset store shows of groups' progress: nothing of an earlier leader replaces a later one's (rule R16)."""

from dataclasses import dataclass, field
from typing import Any, cast

from cluster.memory_store import MemoryStore
from cluster.store_settings import StoreSettings
from storage.node.offset_projection import OffsetProjection
from storage.node.partition import Partition
from storage.rpc.messages import GroupPosition
from tests.support.manual_clock import ManualClock


@dataclass
class Groups:
    applied_records: int
    progress: int

    def positions(self) -> list[GroupPosition]:
        fields: dict[str, Any] = dict.fromkeys(GroupPosition.__struct_fields__, 0)
        return [GroupPosition(**{**fields, "group_id": "group", "progress": self.progress})]


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
    assert await later.read("group", "topic") == {0: 20}


async def test_a_later_leader_may_show_less() -> None:
    """A seek took the group back, or the leader before had counted what was never committed."""
    nodes = Nodes()
    earlier, later = nodes.node(), nodes.node()
    await earlier.flush([led(epoch=1, applied=900, progress=20)])
    await later.flush([led(epoch=2, applied=1, progress=10)])
    assert await later.read("group", "topic") == {0: 10}


async def test_within_an_epoch_the_latest_counts() -> None:
    node = Nodes().node()
    await node.flush([led(epoch=1, applied=5, progress=20)])
    await node.flush([led(epoch=1, applied=6, progress=10)])
    assert await node.read("group", "topic") == {0: 10}
