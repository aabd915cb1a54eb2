"""What readers may have of a follower."""

from cluster.clock import Clock
from storage.log.partition_log import PartitionLog
from storage.node.commit_waiters import CommitWaiters


class FollowerReads:
    """A follower's messages as far as it knows them to be committed: what its leader gives readers, a moment later."""

    def __init__(self, log: PartitionLog, high_watermark: int, clock: Clock) -> None:
        self.log = log
        self._waiters = CommitWaiters(high_watermark, clock)

    @property
    def high_watermark(self) -> int:
        return self._waiters.high_watermark

    async def wait_for_records(self, offset: int, timeout_ms: int) -> bool:
        return await self._waiters.wait_beyond(offset, timeout_ms)

    def learn(self, high_watermark: int) -> None:
        self._waiters.advance(high_watermark)

    def end(self) -> None:
        """The role is over."""
        self._waiters.end()
