"""What a follower is told (events) and what it asks its host to do (effects). Logs are named by their number."""

from dataclasses import dataclass

from storage.replication.divergence import LogPosition
from storage.replication.messages import PartitionAnswer


@dataclass(frozen=True, slots=True)
class Answered:
    """A leader's answer; `batches` has, for each of its logs, the bytes that came with it."""

    answer: PartitionAnswer
    batches: tuple[bytes | memoryview, ...]


@dataclass(frozen=True, slots=True)
class LogChanged:
    """The effect on this log with this serial is complete and durable."""

    log: int
    serial: int


@dataclass(frozen=True, slots=True)
class LogUnchanged:
    """The effect could not be done (the leader gave no snapshot, the bytes were damaged on their way, the disk is
    full), and changed nothing."""

    log: int
    serial: int


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The machine's deadline is due."""


FollowerEvent = Answered | LogChanged | LogUnchanged | TimePassed


@dataclass(frozen=True, slots=True)
class FetchFrom:
    """Keep asking the leader for what is behind `positions`, until the next effect of this partition."""

    leader: int
    leader_epoch: int
    positions: tuple[LogPosition, ...]


@dataclass(frozen=True, slots=True)
class AppendBatches:
    """Append the leader's batches as they are, after their checksums were verified (rule R12); the first begins at
    the log end."""

    log: int
    serial: int
    batches: bytes | memoryview


@dataclass(frozen=True, slots=True)
class TruncateLog:
    """Cut the log so that it ends at `offset`, or before the batch that `offset` is in the middle of."""

    log: int
    serial: int
    offset: int


@dataclass(frozen=True, slots=True)
class RestartLog:
    """Drop the log and begin a new one at `offset`. For a log with a state behind it (delivery records) the leader's
    snapshot is fetched and made durable first; the log then begins at the snapshot's offset, which may be higher."""

    log: int
    serial: int
    offset: int


@dataclass(frozen=True, slots=True)
class RaiseLogStart:
    """What the leader has removed below `offset` may go here, too. Nothing waits for it."""

    log: int
    offset: int


@dataclass(frozen=True, slots=True)
class HighWatermarkLearned:
    log: int
    high_watermark: int


@dataclass(frozen=True, slots=True)
class LookForLeader:
    """The leader says that this is not its epoch: look at the partition's assignment."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Following on would destroy what is committed, which no correct history leads to (an unclean election, or a
    directory that was restored from a copy, does). Nothing was changed; the replica stands still until somebody
    decides."""

    log: int
    reason: str


FollowerEffect = (
    FetchFrom
    | AppendBatches
    | TruncateLog
    | RestartLog
    | RaiseLogStart
    | HighWatermarkLearned
    | LookForLeader
    | Contradiction
)
