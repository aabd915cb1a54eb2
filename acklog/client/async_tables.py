"""Topics that keep the last message of each key, for `await`."""

from collections.abc import Sequence

from acklog.client import table_calls
from acklog.client.caller import Caller
from acklog.messages import StoredMessage
from acklog.tables import CompactionState


class AsyncTables:
    """`client.tables`. Every method raises AcklogError, and TopicNotCompacted for a topic that keeps more than the last
    message of each key."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def get(self, topic: str, key: str) -> StoredMessage:
        """The last message of the key. Raises KeyNotFound where there is none, or it is a tombstone, or has outlived
        its time; TopicNotFound."""
        return await self._caller.perform(table_calls.get(topic, key))

    async def compact(self, topic: str, partitions: Sequence[int] | None = None) -> CompactionState:
        """Have the topic compacted soon, or these partitions of it, on all nodes, however little there is to be done.
        Returns at once: `compaction` tells how it goes. Raises TopicNotFound, PartitionNotFound."""
        return await self._caller.perform(table_calls.compact(topic, partitions))

    async def compaction(self, topic: str) -> CompactionState:
        """How the topic's compaction goes, replica by replica. Raises TopicNotFound."""
        return await self._caller.perform(table_calls.compaction(topic))
