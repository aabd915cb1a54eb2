"""Where readers of a partition's messages begin."""

from cluster.model.values import Deletion
from storage.log.partition_log import PartitionLog


def readable_start(log: PartitionLog, deletion: Deletion | None) -> int:
    """Nothing below it is delivered or shown: it was removed, or is deleted and still there. That is until its file is
    past, and until the window of idempotency keys has passed what has one (rule R28)."""
    return max(log.log_start, deleted_below(log, deletion))


def deleted_below(log: PartitionLog, deletion: Deletion | None) -> int:
    """What is below was deleted on purpose; 0: nothing was."""
    if deletion is None:
        return 0
    # Of what was cut from the log of the leader that deleted it, other messages have taken the offsets (rule R9).
    meant_end = log.leader_epochs.end_below(deletion.leader_epoch + 1)
    return min(deletion.before, meant_end)
