"""To which partition a scheduled message belongs, as its topic is now."""

from acklog.wire.partition_mapping import partition_of_hash
from acklog.wire.partitioner import hash_of_key
from acklog.wire.record import Record
from cluster.model.values import Topic

ANYWHERE = -1
"""It may stay where it is: no key put it there."""


def place_of(record: Record, topic: Topic) -> int:
    """Where its key puts it; ANYWHERE without one, and where its sender chose the partition."""
    if record.key is None or (record.schedule is not None and record.schedule.is_bound):
        return ANYWHERE
    return partition_of_hash(hash_of_key(record.key), partitions=topic.partitions, decommissioned=topic.decommissioned)
