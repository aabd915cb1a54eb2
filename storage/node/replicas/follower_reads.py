"""What readers may have of a follower."""

from collections.abc import Sequence
from typing import Protocol

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from storage.node.partition.commit_waiters import CommitWaiters
from storage.node.partition.readable_start import readable_start
from storage.node.replicas.replica_context import ReplicaContext
from storage.replication.known_deletion import KnownDeletion
from storage.replication.leadership import UNAVAILABLE_RETRY_MS
from storage.replication.messages import PartitionId


class FollowingReplica(Protocol):
    """The replica that is read."""

    @property
    def id(self) -> PartitionId: ...

    @property
    def logs(self) -> Sequence[PartitionLog]: ...

    @property
    def high_watermarks(self) -> Sequence[int]: ...

    @property
    def deletions(self) -> KnownDeletion: ...


class FollowerReads:
    """A follower's messages as far as it knows them to be committed: what its leader gives readers, a moment later.

    That something is not there is for the leader to say (rule R35): a follower says no more than "not yet", and that
    only while its leader answers it.
    """

    def __init__(self, replica: FollowingReplica, leader_epoch: int, context: ReplicaContext) -> None:
        self.log = replica.logs[LogKind.MESSAGES]
        self.leader_epoch = leader_epoch
        self._replica = replica
        self._context = context
        self._waiters = CommitWaiters(replica.high_watermarks[LogKind.MESSAGES], context.clock)

    @property
    def high_watermark(self) -> int:
        return self._waiters.high_watermark

    @property
    def readable_start(self) -> int:
        """As its leader's, as far as it is known here."""
        return readable_start(self.log, self._replica.deletions.last)

    @property
    def readable_end(self) -> int:
        """As its leader's, as far as it is known here."""
        return self.high_watermark

    async def wait_for_records(self, offset: int, timeout_ms: int) -> bool:
        return await self._waiters.wait_beyond(offset, timeout_ms)

    def check_sure(self) -> None:
        """Raises ServerError UNAVAILABLE where others may long have more."""
        silent_ms = self._context.clock.monotonic_ms() - self._context.sessions.answered_ms(self._replica.id)
        if silent_ms >= self._context.settings.contact_ms or not self._context.is_registered():
            raise _ask_the_leader("This replica does not hear its leader, or the coordination store.")

    async def confirm(self) -> None:
        """Raises ServerError UNAVAILABLE."""
        raise _ask_the_leader("Only the partition's leader can say what is outside the log.")

    def learn(self, high_watermark: int) -> None:
        self._waiters.advance(high_watermark)

    def end(self) -> None:
        """The role is over."""
        self._waiters.end()


def _ask_the_leader(detail: str) -> ServerError:
    return ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
