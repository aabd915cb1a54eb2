"""Whether a leader answers a fetch at all, and what it says of the positions."""

from collections.abc import Sequence

from storage.log.leader_epochs import UNKNOWN_EPOCH
from storage.replication.divergence import LogPosition, compare
from storage.replication.followers import Followers
from storage.replication.leader_events import FetchRefusal, FollowerFetched, LogVerdict, Service
from storage.replication.replica_log import ReplicaLog

_NOTHING = LogPosition(0, UNKNOWN_EPOCH)


def fetch_refusal(
    event: FollowerFetched, followers: Followers, *, leader_epoch: int, service: Service
) -> FetchRefusal | None:
    """None: it does."""
    if event.leader_epoch < leader_epoch:
        return FetchRefusal.FENCED_EPOCH
    if event.leader_epoch > leader_epoch:
        return FetchRefusal.UNKNOWN_EPOCH
    if service is Service.STEPPED_DOWN:
        return FetchRefusal.NOT_LEADER
    known = followers.get(event.follower.node_id)
    if known is None:
        return FetchRefusal.NOT_A_REPLICA
    if event.follower.incarnation < known.identity.incarnation:
        return FetchRefusal.STALE_INCARNATION
    return None


def judged(logs: Sequence[ReplicaLog], positions: Sequence[LogPosition]) -> tuple[LogVerdict, ...]:
    """What a follower does not name, it does not know: it has none of it, and nothing of that is committed as long as
    it is in sync."""
    named = [*positions, *[_NOTHING] * (len(logs) - len(positions))]
    return tuple(LogVerdict(each, compare(log, each)) for log, each in zip(logs, named, strict=True))
