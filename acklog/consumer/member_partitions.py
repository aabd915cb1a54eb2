"""The partitions of a consumer in an exclusive group: which it has, which it has paused, and from which it receives."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from acklog.client import catalog_calls
from acklog.client.caller import Caller
from acklog.consumer.consumer_settings import ConsumerSettings
from acklog.consumer.holdings import Holdings
from acklog.consumer.member_session import NO_PARTITIONS, NOTHING_KNOWN, MemberSession
from acklog.consumer.source import MemberSource, OnPartitions
from acklog.errors import InvalidArgument
from acklog.members import TopicPartition
from acklog.wire.limits import RECEIVE_TOPICS_MAX

IMPATIENT_WAIT_S = 1.0
"""How long a receive waits that does not ask for everything: of what else may come it would not hear."""
_logger = logging.getLogger("acklog.consumer")


class Asking(NamedTuple):
    """From where to receive, and for how long to wait. `member_epoch` None: not as a member."""

    topics: Sequence[str]
    wait_s: float
    member_epoch: int | None


class MemberPartitions:
    """`wake` is called when they change, or which of them are paused. On the loop, but for what says otherwise."""

    def __init__(
        self,
        source: MemberSource,
        caller: Caller,
        settings: ConsumerSettings,
        holdings: Holdings,
        *,
        wake: Callable[[], None],
        now_ms: Callable[[], float],
    ) -> None:
        self._source = source
        self._caller = caller
        self._settings = settings
        self._holdings = holdings
        self._wake = wake
        self._session = MemberSession(source, caller, settings, now_ms=now_ms, on_assignment=self._assign)
        self._turn = 0
        self._look: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """As `MemberSession.run`."""
        await self._session.run()

    async def leave(self) -> None:
        """No partition is this member's any more; whose they are then is told at once."""
        self._assign(NO_PARTITIONS)
        if self._look is not None:
            self._look.cancel()
        await self._session.leave()

    # For whoever works on messages, in any thread

    @property
    def name(self) -> str:
        return self._source.member

    @property
    def assigned(self) -> frozenset[TopicPartition]:
        return self._holdings.partitions.assigned

    @property
    def paused(self) -> frozenset[TopicPartition]:
        return self._holdings.partitions.paused

    def position(self, partition: TopicPartition) -> int | None:
        return self._holdings.partitions.position(partition)

    # On the loop

    def pause(self, partitions: Sequence[TopicPartition]) -> None:
        """Raises InvalidArgument for one that is not assigned."""
        self._check(partitions)
        self._holdings.pause(partitions)
        self._wake()

    def resume(self, partitions: Sequence[TopicPartition]) -> None:
        self._holdings.resume(partitions)
        self._wake()

    async def seek(self, partition: TopicPartition, offset: int) -> None:
        """Raises AcklogError, and InvalidArgument where the partition is not assigned."""
        self._check([partition])
        group, topic = self._source.group, partition.topic
        call = catalog_calls.seek(group, topic, to_offset=offset, partition=partition.partition)
        await self._caller.perform(call)
        self._holdings.sought(partition)
        self._wake()

    def asking(self) -> Asking | None:
        """From where to receive now; None: from nowhere, before something changes."""
        if self._session.epoch == NOTHING_KNOWN:
            return None
        paused = self.paused
        topics = sorted({each.topic for each in self.assigned if each not in paused})
        if not topics:
            return None
        wait_s = self._settings.wait_s
        if paused or len(topics) > RECEIVE_TOPICS_MAX:
            wait_s = min(wait_s, IMPATIENT_WAIT_S)
        if len(topics) > RECEIVE_TOPICS_MAX:
            self._turn += RECEIVE_TOPICS_MAX
            start = self._turn % len(topics)
            topics = (topics[start:] + topics[:start])[:RECEIVE_TOPICS_MAX]
        return Asking(topics, wait_s, self._session.epoch)

    def arrived(self) -> None:
        """Messages have come: of partitions that this member does not know to be its own, whose are they?"""
        is_looking = self._look is not None and not self._look.done()
        if self._holdings.partitions.has_strangers and not is_looking:
            self._look = asyncio.get_running_loop().create_task(self._find_out())

    async def _find_out(self) -> None:
        await self._session.look_again()
        self._holdings.assign(self.assigned)  # whatever is no one's here goes back
        self._wake()

    def _assign(self, assigned: frozenset[TopicPartition]) -> None:
        before = self.assigned
        kept = before & assigned
        if kept != before:
            self._holdings.assign(kept)
            self._tell(self._source.on_revoked, before - kept, "on_revoked")
        if kept != assigned:
            self._tell(self._source.on_assigned, assigned - kept, "on_assigned")
            self._holdings.assign(assigned)
        self._wake()

    def _tell(self, callback: OnPartitions | None, partitions: frozenset[TopicPartition], name: str) -> None:
        if callback is not None:
            try:
                callback(sorted(partitions))
            except Exception:
                _logger.exception("%s failed", name)

    def _check(self, partitions: Sequence[TopicPartition]) -> None:
        for each in partitions:
            if each not in self.assigned:
                raise InvalidArgument(f"partition {each.partition} of {each.topic} is not assigned", field="partition")
