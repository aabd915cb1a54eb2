"""A watch-fed copy of topics, partitions, groups and nodes: what gateways route by and nodes act on."""

from collections.abc import Callable
from typing import Protocol

from cluster.model import Group, NodeRegistration, PartitionState, Topic


class MetadataView(Protocol):
    """Answers come from memory and may lag behind the store; `wait_for` closes the gap after a write of one's own."""

    @property
    def revision(self) -> int: ...

    def topic(self, name: str) -> Topic | None: ...

    def topic_by_id(self, topic_id: str) -> Topic | None: ...

    def topics(self) -> list[Topic]:
        """By name."""
        ...

    def partition(self, topic_id: str, partition: int) -> PartitionState | None: ...

    def partitions(self, topic_id: str) -> list[PartitionState]:
        """The known ones, by number; complete when there are `Topic.partitions` of them."""
        ...

    def group(self, name: str) -> Group | None: ...

    def group_by_id(self, group_id: str) -> Group | None: ...

    def groups(self) -> list[Group]:
        """By name."""
        ...

    def nodes(self) -> list[NodeRegistration]: ...

    async def wait_for(self, revision: int) -> None:
        """Return once the view shows `revision` or a later one."""
        ...

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change; returns how to stop it. Listeners must not block."""
        ...
