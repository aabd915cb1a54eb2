"""Gateways over real administrators and views of their own, on one store in memory: for queues of SQS, which need no
messages. Each may end between any two steps of a call."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from app.gateway.dependencies import Gateway
from app.services.registry import Services
from app.sqs.queues.queue_names import QueueNames
from app.sqs.queues.queue_service import QueueService
from cluster.catalog.group_admin import GroupAdmin
from cluster.catalog.queue_admin import QueueAdmin
from cluster.catalog.topic_admin import TopicAdmin
from cluster.metadata.metadata_view import MetadataView
from cluster.ports.coordination import Compare, CoordinationStore, Operation, TransactionResult
from cluster.stores.memory_store import MemoryStore
from tests.support.counting_entropy import CountingEntropy
from tests.support.flaky_store import FlakyStore
from tests.support.manual_clock import ManualClock
from tests.support.operated_cluster import EveryNode

ACCOUNT = "123456789012"
REGION = "eu-central-1"
NAMES = QueueNames(account=ACCOUNT, region=REGION)


class EndedError(Exception):
    """The gateway's process is no more."""


class EndingStore(FlakyStore):
    """One gateway's connection. After `writes_left` transactions its process ends, with the last one done or not.
    `pauses` are how many turns of the event loop pass before each transaction, and `meanwhile` what others do then."""

    def __init__(self, store: CoordinationStore) -> None:
        super().__init__(store)
        self.writes_left: int | None = None
        self.is_last_done = True
        self.pauses: list[int] = []
        self.meanwhile: list[Callable[[], Awaitable[None]] | None] = []

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        for _ in range(self.pauses.pop(0) if self.pauses else 0):
            await asyncio.sleep(0)
        others = self.meanwhile.pop(0) if self.meanwhile else None
        if others is not None:
            await others()
        if self.writes_left is None:
            return await super().transact(compares, then, otherwise)
        if self.writes_left == 0:
            raise EndedError
        self.writes_left -= 1
        if self.writes_left or self.is_last_done:
            result = await super().transact(compares, then, otherwise)
            if self.writes_left:
                return result
        raise EndedError

    async def close(self) -> None:
        return


@dataclass
class QueueGateway:
    store: EndingStore
    metadata: MetadataView
    gateway: Gateway
    queues: QueueService


class QueueGateways:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock)
        self._entropy = CountingEntropy()

    async def start(self) -> QueueGateway:
        store, clock, entropy = EndingStore(self.store), self.clock, self._entropy
        metadata = MetadataView(store, clock)
        await metadata.start()
        nothing = cast(Any, None)
        gateway = Gateway(
            metadata=metadata,
            topics=TopicAdmin(store, metadata, clock=clock, entropy=entropy),
            groups=GroupAdmin(store, metadata, clock=clock, entropy=entropy),
            producers=nothing,
            recurring=nothing,
            redrives=nothing,
            stored_tokens=nothing,
            namespaces=nothing,
            queues=QueueAdmin(store, metadata, clock=clock, entropy=entropy),
            steering=nothing,
            nodes=EveryNode(),
            clock=clock,
            entropy=entropy,
        )
        return QueueGateway(store, metadata, gateway, QueueService(Services(gateway), NAMES))

    @asynccontextmanager
    async def some(self, count: int) -> AsyncIterator[list[QueueGateway]]:
        gateways = [await self.start() for _ in range(count)]
        try:
            yield gateways
        finally:
            for each in gateways:
                await each.metadata.close()
            await self.store.close()


def with_gateways(count: int, main: Callable[[QueueGateways, list[QueueGateway]], Awaitable[None]]) -> None:
    async def whole() -> None:
        world = QueueGateways()
        async with world.some(count) as gateways:
            await main(world, gateways)

    asyncio.run(whole())
