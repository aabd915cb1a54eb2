"""Where a follower's log and its leader's part, told from (offset, epoch) pairs alone (rules R1, R2, R4).

Two logs that hold the same epoch at the same offset are equal up to there, as every epoch has one leader, which writes
each offset once. So a follower names its log end and the epoch of its last record, and the leader looks where that
epoch ended in its own log. Where it knows the epoch and has at least as much of it, the logs agree. Otherwise it
answers the newest epoch that both may know and where that ends; the follower cuts its log there, or earlier where its
own end of that epoch is earlier, and asks again. Each turn goes back at least one epoch or one record, so it ends.

Sources: KIP-101 (epochs instead of high watermarks), KIP-279 (the answer names the epoch it is for, so that two fast
failovers do not confuse it), KIP-320 (every fetch carries the epoch), KIP-595 (the answer comes with the fetch).
"""

import msgspec

from storage.log.leader_epochs import UNKNOWN_EPOCH, LeaderEpochs
from storage.replication.replica_log import ReplicaLog


class LogPosition(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Everything below `offset` is durable; the record before it has `last_epoch`, UNKNOWN_EPOCH if there is none."""

    offset: int
    last_epoch: int


class Diverged(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The leader's `epoch` ends at `end_offset`, and nothing above it that the follower has is in its log."""

    epoch: int
    end_offset: int


class Restart(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The leader cannot compare: what it would have to look at is gone. The follower drops its log and begins a new
    one at `offset`, the leader's log start, which is never above what is committed."""

    offset: int


def position_of(log: ReplicaLog) -> LogPosition:
    """Only what is durable is reported, so that what the leader counts survives every crash."""
    end = log.durable_end
    if end == log.log_start:
        return LogPosition(end, UNKNOWN_EPOCH)
    return LogPosition(end, log.epochs.epoch_at(end - 1))


def compare(log: ReplicaLog, position: LogPosition) -> Diverged | Restart | None:
    """None where the leader's `log` goes on from the follower's `position`."""
    if not log.log_start <= position.offset:
        return Restart(log.log_start)
    if position.last_epoch == UNKNOWN_EPOCH:  # an empty log, which began at something committed
        return None if position.offset <= log.written_end else Restart(log.log_start)
    if position.last_epoch == log.epochs.last_epoch:
        return None if position.offset <= log.written_end else Diverged(position.last_epoch, log.written_end)
    epochs = log.epochs.entries()
    if not epochs or position.last_epoch < epochs[0][0]:
        # Below its own start the leader does not know any more who wrote what, and the follower may differ there.
        return Restart(log.log_start)
    if position.last_epoch > epochs[-1][0]:
        return Diverged(epochs[-1][0], log.written_end)
    epoch, end_offset = log.epochs.end_offset_for(position.last_epoch)
    if epoch == position.last_epoch and position.offset <= end_offset:
        return None
    return Diverged(epoch, end_offset)


def truncation_offset(epochs: LeaderEpochs, diverged: Diverged) -> int:
    """Where a follower with these `epochs` cuts its log."""
    _, own_end = epochs.end_offset_for(diverged.epoch)
    return min(diverged.end_offset, own_end)
