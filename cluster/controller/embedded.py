"""The controller of the embedded server: the only node leads everything."""

import asyncio
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass, field

import structlog

from cluster import keys
from cluster.backoff import Backoff
from cluster.clock import Clock
from cluster.controller.catalog import Catalog, Entry
from cluster.controller.planner import Leader, PlannedTransaction, Step, pack, plan, plan_forgetting
from cluster.coordination import CoordinationError, CoordinationStore, CoordinationUnavailableError, Listing
from cluster.follow import follow
from cluster.incarnation import take_incarnation

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    backoff: Backoff = field(default_factory=Backoff)
    """Between tries to reach the store."""

    tombstone_retention_ms: int = 30 * 24 * 60 * 60 * 1000
    """How long it is remembered that an id was deleted: data that turns up later is kept, and reported."""

    forgetting_interval_ms: int = 60 * 60 * 1000
    """How often old tombstones are looked for; the first time that long after the start."""


class EmbeddedController:
    """Executes what `cluster.controller.planner` decides, at the start and whenever topics or groups change."""

    def __init__(
        self, store: CoordinationStore, *, node_id: int, clock: Clock, settings: ControllerSettings | None = None
    ) -> None:
        self._store = store
        self._node_id = node_id
        self._clock = clock
        self._settings = settings or ControllerSettings()
        self._catalog = Catalog()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_ready: asyncio.Future[None] | None = None

    async def start(self) -> int:
        """Begin a new life of the node and take over what it leads; returns its incarnation.

        Raises CoordinationUnavailableError if the store cannot be reached for the first step; later ones wait for it.
        """
        incarnation = await take_incarnation(
            self._store, self._node_id, clock=self._clock, backoff=self._settings.backoff
        )
        self._is_ready = asyncio.get_running_loop().create_future()
        self._tasks = [
            asyncio.create_task(self._follow(Leader(self._node_id, incarnation)), name="controller"),
            asyncio.create_task(self._forget_regularly(), name="controller's forgetting"),
        ]
        await self._is_ready
        return incarnation

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._is_ready is not None and not self._is_ready.done():
            self._is_ready.set_exception(CoordinationUnavailableError("the controller is closed"))

    async def _follow(self, leader: Leader) -> None:
        assert self._is_ready is not None
        try:
            async with aclosing(
                follow(self._store, keys.ROOT, clock=self._clock, backoff=self._settings.backoff)
            ) as news:
                async for step in news:
                    if isinstance(step, Listing):
                        self._catalog = Catalog(step.items)
                        self._report_strange()
                    else:
                        for event in step.events:
                            self._catalog.apply(event)
                    await self._reconcile(leader)
                    if not self._is_ready.done():
                        self._is_ready.set_result(None)
        except Exception as error:
            _log.exception("controller_failed")
            if not self._is_ready.done():
                self._is_ready.set_exception(error)
            raise

    async def _reconcile(self, leader: Leader) -> None:
        """Do what is to be done about every changed entry.

        A transaction whose guards fail was decided on something old: the news of what changed it is on its way.
        """
        failures = 0
        while entries := self._catalog.take_changed():
            try:
                await self._execute(step for entry in entries for step in plan(entry, leader))
            except CoordinationError as error:
                failures += 1
                _log.warning("controller_waits_for_store", reason=str(error), failures=failures)
                self._catalog.mark_changed(entries)
                await self._clock.sleep(self._settings.backoff.delay_ms(failures))

    async def _execute(self, steps: Iterable[Step]) -> None:
        for planned in pack(steps):
            await self._transact(planned)

    async def _transact(self, planned: PlannedTransaction) -> None:
        result = await self._store.transact(planned.compares, planned.operations)
        _log.debug("controller_transaction", operations=len(planned.operations), succeeded=result.succeeded)

    async def _forget_regularly(self) -> None:
        while True:
            await self._clock.sleep(self._settings.forgetting_interval_ms)
            deleted_before_ms = self._clock.now_ms() - self._settings.tombstone_retention_ms
            steps = [
                step
                for entry in self._catalog.entries()
                for step in plan_forgetting(entry, deleted_before_ms=deleted_before_ms)
            ]
            try:
                await self._execute(steps)
            except CoordinationError as error:
                _log.warning("tombstones_kept", reason=str(error))

    def _report_strange(self) -> None:
        """What the controller keeps its hands off."""
        for key, reason in self._catalog.undecodable.items():
            _log.error("controller_cannot_decode", key=key, reason=reason)
        for entry in self._catalog.entries():
            if _is_orphan(entry):
                _log.error("partitions_without_topic_or_tombstone", id=entry.id, partitions=len(entry.partition_items))


def _is_orphan(entry: Entry) -> bool:
    return bool(entry.partition_items) and entry.topic_item is None and entry.tombstone_item is None
