"""The partition of a message by the user's own function."""

from collections.abc import Callable

from acklog.errors import InvalidArgument

Partitioner = Callable[[str, str | None, int], int]


class Placement:
    """`partitions` is how many the topic has; 0 until that is known."""

    def __init__(self, topic: str, partitioner: Partitioner) -> None:
        self.topic = topic
        self.partitions = 0
        self._partitioner = partitioner

    def partition_of(self, key: str | None) -> int:
        """Raises InvalidArgument for a partition that the topic does not have."""
        partition = self._partitioner(self.topic, key, self.partitions)
        if not 0 <= partition < self.partitions:
            detail = f"the partitioner returned {partition}; {self.topic!r} has 0 to {self.partitions - 1}"
            raise InvalidArgument(detail, field="partition")
        return partition
