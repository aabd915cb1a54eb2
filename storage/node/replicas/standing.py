"""Whether the leader of a replica still knows what it says: somebody else may lead by now, and have more (rule R35)."""

from collections.abc import Callable

from storage.node.replicas.replica_context import ReplicaContext
from storage.replication.messages import PartitionId
from storage.replication.partition_replica import PartitionReplica

LOOK_MS_MIN = 1
LOOK_MS_MAX = 50
"""Pauses between looks at who has fetched; they double."""


class Standing:
    """`ask_who_is_heard` tells the replica's machine of the fetches that brought nothing new."""

    def __init__(
        self,
        partition: PartitionId,
        replica: PartitionReplica,
        context: ReplicaContext,
        *,
        ask_who_is_heard: Callable[[], None],
    ) -> None:
        self._partition = partition
        self._replica = replica
        self._context = context
        self._ask_who_is_heard = ask_who_is_heard

    def is_sure(self) -> bool:
        """Whether nobody else can have had anything committed but within the last `contact_ms`."""
        return self._is_sure_since(self._context.clock.monotonic_ms() - self._context.settings.contact_ms + 1)

    async def is_confirmed(self) -> bool:
        """Whether nobody else had anything committed when this was called: followers are answered, so that they fetch
        again, having seen that, which is waited for; `contact_ms` at most, and where they have been silent for so long
        already, `fetch_wait_ms`."""
        clock, leader, pause_ms = self._context.clock, self._replica.leader, LOOK_MS_MIN
        asked_ms = clock.monotonic_ms()
        if self._is_confirmed_since(asked_ms):
            return True
        settings = self._context.settings
        patience_ms = settings.contact_ms if self.is_sure() else settings.fetch_wait_ms
        while clock.monotonic_ms() - asked_ms < patience_ms:
            self._context.service.hurry(self._partition)
            await clock.sleep(pause_ms)
            pause_ms = min(2 * pause_ms, LOOK_MS_MAX)
            if self._replica.leader is not leader:
                return False
            if self._is_confirmed_since(asked_ms):
                return True
        return False

    def _is_confirmed_since(self, since_ms: int) -> bool:
        leader = self._replica.leader
        if leader is None:
            return False
        if leader.certainty.is_confirmed(since_ms, self._context.service.followers_followed(self._partition)):
            return True
        self._ask_who_is_heard()  # who is silent leaves the ISR, and cannot lead then
        return False

    def _is_sure_since(self, since_ms: int) -> bool:
        leader, is_registered = self._replica.leader, self._context.is_registered()
        if leader is None or leader.certainty.is_sure(since_ms, is_registered=is_registered):
            return leader is not None
        self._ask_who_is_heard()
        return leader is self._replica.leader and leader.certainty.is_sure(since_ms, is_registered=is_registered)
