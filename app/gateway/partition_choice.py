"""Which partition a message with a key goes to, also after some were decommissioned."""

from collections.abc import Sequence

from acklog.wire.partition_mapping import partition_of_hash
from acklog.wire.partitioner import hash_of_key, places_for_keys
from cluster.model.values import Topic


def partition_of_key(key: str, topic: Topic) -> int:
    key_hash = hash_of_key(key)
    if topic.decommissioned:
        return partition_of_hash(key_hash, partitions=topic.partitions, decommissioned=topic.decommissioned)
    return key_hash % topic.partitions


def places_of_keys(keys: Sequence[str | None], topic: Topic) -> list[list[int]]:
    """Each partition's places in `keys`, in their order, by `partition_of_key`; at the end of the list those of
    None."""
    if not topic.decommissioned:
        return places_for_keys(keys, topic.partitions)
    places: list[list[int]] = [[] for _ in range(topic.partitions + 1)]
    for place, key in enumerate(keys):
        places[-1 if key is None else partition_of_key(key, topic)].append(place)
    return places
