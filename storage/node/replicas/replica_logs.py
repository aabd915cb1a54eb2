"""A partition's logs as replication sees them."""

from storage.log.leader_epochs import LeaderEpochs
from storage.log.partition_log import PartitionLog


class ReplicaPartitionLog:
    """ReplicaLog over a PartitionLog. What can be read of the log is durable already, so the two ends are one."""

    def __init__(self, log: PartitionLog) -> None:
        self._log = log

    @property
    def log_start(self) -> int:
        return self._log.log_start

    @property
    def written_end(self) -> int:
        return self._log.log_end

    @property
    def durable_end(self) -> int:
        return self._log.log_end

    @property
    def epochs(self) -> LeaderEpochs:
        return self._log.leader_epochs
