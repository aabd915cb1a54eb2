"""Where readers of a partition's messages begin."""

from cluster.model.values import Deletion
from storage.log.partition_log import PartitionLog


def readable_start(log: PartitionLog, deletion: Deletion | None) -> int:
    """Nothing below it is delivered or shown: it was removed, or is deleted and still there. That is until its file is
    past, and until the window of idempotency keys has passed what has one (rule R28)."""
    if deletion is None:
        return log.log_start
    # Of what was cut from the log of the leader that deleted it, other messages have taken the offsets (rule R9).
    meant_end = log.leader_epochs.end_below(deletion.leader_epoch + 1)
    return max(log.log_start, min(deletion.before, meant_end))
