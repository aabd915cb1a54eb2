"""Topics that keep the last message of each key: how their compaction goes."""

import msgspec

from acklog.positions import ProblemItem

IDLE = "idle"


class ReplicaCompaction(msgspec.Struct, rename="camel"):
    """What a node does with its copy of a partition. `state` is idle; waiting, when somebody asked and its turn is yet
    to come; or running. Of what may be compacted, `dirty_bytes` have come since the passes that there were. Or the
    `problem` of a node that could not be asked."""

    node: int
    state: str | None = None
    clean_bytes: int = 0
    dirty_bytes: int = 0
    problem: ProblemItem | None = None


class PartitionCompaction(msgspec.Struct):
    partition: int
    replicas: list[ReplicaCompaction]


class CompactionState(msgspec.Struct):
    """Each replica is compacted for itself. `failed` counts those that could not be asked."""

    topic: str
    partitions: list[PartitionCompaction]
    failed: int

    @property
    def is_over(self) -> bool:
        """Whether none that could be asked has anything left of what it was asked for."""
        states = [replica.state for partition in self.partitions for replica in partition.replicas]
        return all(state is None or state == IDLE for state in states)
