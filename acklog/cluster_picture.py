"""Events put together: how the cluster is now, by all that was told of it."""

from acklog.events import (
    ClusterEvent,
    ClusterTotals,
    RemovedThings,
    WatchedGroup,
    WatchedNode,
    WatchedPartition,
    WatchedTopic,
)


class ClusterPicture:
    """`topics` by name, `groups` by (group, topic), `nodes` by number, `partitions` by (topic, number). `totals` is
    None where none were told. It is whole when `is_whole`: between the pages of a snapshot it is not."""

    def __init__(self) -> None:
        self.is_whole = False
        self.totals: ClusterTotals | None = None
        self.topics: dict[str, WatchedTopic] = {}
        self.groups: dict[tuple[str, str], WatchedGroup] = {}
        self.nodes: dict[int, WatchedNode] = {}
        self.partitions: dict[tuple[str, int], WatchedPartition] = {}

    def apply(self, event: ClusterEvent) -> None:
        """Take in the next event of a stream."""
        if event.is_first:
            self._forget()
        self._remove(event.removed)
        self.totals = event.totals or self.totals
        self.topics.update((each.name, each) for each in event.topics)
        self.groups.update(((each.group, each.topic), each) for each in event.groups)
        self.nodes.update((each.node, each) for each in event.nodes)
        self.partitions.update(((each.topic, each.partition), each) for each in event.partitions)
        self.is_whole = self.is_whole or event.is_last

    def _remove(self, removed: RemovedThings) -> None:
        for name in removed.topics:
            self.topics.pop(name, None)
        for group in removed.groups:
            self.groups.pop(group, None)
        for node in removed.nodes:
            self.nodes.pop(node, None)
        for partition in removed.partitions:
            self.partitions.pop(partition, None)

    def _forget(self) -> None:
        self.is_whole = False
        self.totals = None
        for told in (self.topics, self.groups, self.nodes, self.partitions):
            told.clear()
