"""Which partition a message with a key goes to, also after some were decommissioned."""

from collections.abc import Sequence

from acklog.wire.partition_mapping import partition_of_hash
from acklog.wire.partitioner import hash_of_key, partitions_for_keys
from cluster.model import Topic


def partition_of_key(key: str, topic: Topic) -> int:
    key_hash = hash_of_key(key)
    if topic.decommissioned:
        return partition_of_hash(key_hash, partitions=topic.partitions, decommissioned=topic.decommissioned)
    return key_hash % topic.partitions


def partitions_of_keys(keys: Sequence[str | None], topic: Topic) -> list[int]:
    """`partition_of_key` of each, -1 for None."""
    numbers = partitions_for_keys(keys, topic.partitions)
    if topic.decommissioned:
        gone = frozenset(topic.decommissioned)
        for index, number in enumerate(numbers):
            if number in gone:
                numbers[index] = partition_of_key(keys[index] or "", topic)
    return numbers
