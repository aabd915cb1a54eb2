"""The controller of a single node: elects it for everything at its start, and for every topic that comes later."""

import asyncio

import structlog

from cluster import keys
from cluster.clock import Clock
from cluster.controller.planner import ClusterImage, plan_for_single_node
from cluster.coordination import (
    Compare,
    CompareTarget,
    CoordinationError,
    CoordinationStore,
    Put,
)

logger = structlog.get_logger(__name__)

RETRY_MS = 200
ATTEMPTS_MAX = 20


class EmbeddedController:
    """`start` returns when this incarnation leads every partition that exists; then it follows the topics."""

    def __init__(self, store: CoordinationStore, *, node_id: int, clock: Clock) -> None:
        self._store = store
        self._node_id = node_id
        self._clock = clock
        self._incarnation = 0
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> int:
        """The new incarnation of the node. Raises CoordinationError."""
        self._incarnation = await self._take_incarnation()
        revision = await self._reconcile()
        self._task = asyncio.get_running_loop().create_task(self._follow(revision))
        return self._incarnation

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _take_incarnation(self) -> int:
        """A number that no earlier start of this node had: a counter in the store, moved by compare-and-set."""
        key = keys.incarnation(self._node_id)
        for _ in range(ATTEMPTS_MAX):
            item = await self._store.get(key)
            incarnation = int(item.value) + 1 if item is not None else 1
            guard = Compare(key, CompareTarget.MOD_REVISION, item.mod_revision if item is not None else 0)
            if (await self._store.transact([guard], [Put(key, str(incarnation).encode())])).succeeded:
                return incarnation
        raise CoordinationError(f"the incarnation of node {self._node_id} could not be taken: too many conflicts")

    async def _reconcile(self) -> int:
        """Plan and execute until nothing is left to do; the revision that was found in order."""
        while True:
            topics = await self._store.list(keys.TOPICS)
            partitions = await self._store.list(keys.PARTITIONS)
            plan = plan_for_single_node(
                ClusterImage(topics.items, partitions.items), node_id=self._node_id, incarnation=self._incarnation
            )
            if not plan:
                return min(topics.revision, partitions.revision)
            for transaction in plan:
                await self._store.transact(transaction.compares, transaction.operations)

    async def _follow(self, revision: int) -> None:
        while True:
            try:
                async for batch in self._store.watch(keys.TOPICS, revision + 1):
                    revision = max(batch.revision, await self._reconcile())
            except CoordinationError as error:
                logger.warning("controller_interrupted", reason=str(error), retry_after_ms=RETRY_MS)
            await self._clock.sleep(RETRY_MS)
            try:
                revision = await self._reconcile()
            except CoordinationError as error:
                logger.warning("controller_interrupted", reason=str(error), retry_after_ms=RETRY_MS)
