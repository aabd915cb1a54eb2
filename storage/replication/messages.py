"""What a follower's node and a leader's node say to each other. Values only, positional on the wire, so fields are only
ever added at the end.

One fetch carries positions of many partitions, and only those that changed since the session's last one; the answer
carries only partitions for which there is news. The batches of an answer travel beside it, one log's after the other's.
"""

from enum import IntEnum

import msgspec

from storage.replication.assignment import ReplicaIdentity
from storage.replication.divergence import Diverged, LogPosition, Restart


class _Message(msgspec.Struct, array_like=True, gc=False):
    pass


class PartitionId(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Topics go by id, never by name (rule R14)."""

    topic_id: str
    partition: int


class FetchMode(IntEnum):
    """Each pair of nodes has a session of either kind, so that bulk never delays live traffic."""

    LIVE = 0
    CATCH_UP = 1


class PartitionFetch(_Message):
    """The follower wants what is behind `positions`, one per log, from the leader of `leader_epoch`."""

    id: PartitionId
    leader_epoch: int
    positions: list[LogPosition]


class FetchRequest(_Message):
    """`session` and `sequence` rise: sequence 0 begins a session, which forgets the ones before. `partitions` replace
    what the session knew of them, `forgotten` leave it. A fetch ends the wait of the one before it."""

    follower: ReplicaIdentity
    mode: int
    session: int
    sequence: int
    partitions: list[PartitionFetch]
    forgotten: list[PartitionId]
    bytes_max: int
    wait_ms: int


class LogAnswer(_Message):
    """`position` is the one that is answered: an answer to another one is void. `parting` says how to get back on the
    leader's path; else `size_bytes` of batches follow the position. `leader_end` is the leader's log end."""

    position: LogPosition
    log_start: int
    high_watermark: int
    leader_end: int
    size_bytes: int = 0
    diverged: Diverged | None = None
    restart: Restart | None = None


class PartitionAnswer(_Message):
    """`refusal` is the value of a FetchRefusal, "" for none."""

    id: PartitionId
    leader_epoch: int
    refusal: str = ""
    logs: list[LogAnswer] = []

    @property
    def is_work(self) -> bool:
        """The follower's position changes, or it has to look elsewhere; else it is news of bounds only."""
        return bool(self.refusal) or any(log.size_bytes or log.diverged or log.restart for log in self.logs)


class FetchAnswer(_Message):
    """To the life of the follower that sent this fetch of this session, and to no other. `is_unknown`: the session, or
    the place in it, is not known here; the follower begins a new one."""

    incarnation: int
    session: int
    sequence: int
    partitions: list[PartitionAnswer]
    batches: bytes = b""
    is_unknown: bool = False


class SnapshotRequest(_Message):
    """The state behind a log that was trimmed (delivery records), as of some offset not above the high watermark."""

    id: PartitionId
    log: int
    leader_epoch: int


class SnapshotAnswer(_Message):
    """`offset` is where the log goes on; `refusal` as in PartitionAnswer."""

    leader_epoch: int
    offset: int
    snapshot: bytes = b""
    refusal: str = ""
