"""What the partitions of a topic share while they are copied."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from acklog.client.producer_calls import OpenedProducer
from acklog.errors import AcklogError
from acklog.messages import OutgoingMessage, Sent
from acklog.mirror.copy_plan import CopyRules
from acklog.mirror.ends import MirrorSource, MirrorTarget
from acklog.mirror.mirror_gap import MirrorGap
from acklog.mirror.mirror_settings import MirrorSettings
from acklog.mirror.resumption import TopicPair
from acklog.mirror.throttle import Throttle


@dataclass(slots=True)
class MirrorMeans:
    """What all topics of a mirror share. `slots` bounds how many partitions are in memory at a time; `now_ms` is the
    time since 1970, `chance` gives random numbers, 0 to 1. `on_gap` hears of every gap. `confirm` raises
    ProducerFenced if another mirror has taken over."""

    source: MirrorSource
    target: MirrorTarget
    settings: MirrorSettings
    throttle: Throttle
    slots: asyncio.Semaphore
    now_ms: Callable[[], int]
    chance: Callable[[], float]
    on_gap: Callable[[MirrorGap], None]
    confirm: Callable[[], Awaitable[None]]
    instance: str
    target_topic_ids: set[str] = field(default_factory=set)


@dataclass(slots=True)
class TopicCopier:
    """A topic that is open: its producer has fenced those of before."""

    means: MirrorMeans
    pair: TopicPair
    rules: CopyRules
    opened: OpenedProducer
    sequence: int = 0

    async def send(self, messages: Sequence[OutgoingMessage]) -> list[Sent | AcklogError]:
        """Raises AcklogError; a number is used once, whatever becomes of it."""
        self.sequence += 1
        return await self.means.target.send(self.pair.target, messages, self.opened, self.sequence)
