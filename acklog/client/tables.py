"""Topics that keep the last message of each key, without `await`. What each method does stands with its twin in
`async_tables`."""

from collections.abc import Callable, Sequence

from acklog.client.async_tables import AsyncTables
from acklog.client.background import Background
from acklog.messages import StoredMessage
from acklog.tables import CompactionState


class Tables:
    """`client.tables`. Every method raises AcklogError, and TopicNotCompacted for a topic that keeps more than the last
    message of each key."""

    def __init__(self, background: Background, twin: Callable[[], AsyncTables]) -> None:
        self._run = background.run
        self._twin = twin

    def get(self, topic: str, key: str) -> StoredMessage:
        """The last message of the key. Raises KeyNotFound where there is none, or it is a tombstone, or has outlived
        its time; TopicNotFound."""
        return self._run(lambda: self._twin().get(topic, key))

    def compact(self, topic: str, partitions: Sequence[int] | None = None) -> CompactionState:
        """Have the topic compacted soon, or these partitions of it, on all nodes, however little there is to be done.
        Returns at once: `compaction` tells how it goes. Raises TopicNotFound, PartitionNotFound."""
        return self._run(lambda: self._twin().compact(topic, partitions))

    def compaction(self, topic: str) -> CompactionState:
        """How the topic's compaction goes, replica by replica. Raises TopicNotFound."""
        return self._run(lambda: self._twin().compaction(topic))
