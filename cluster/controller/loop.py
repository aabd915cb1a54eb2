"""The loop of every controller, embedded or elected: the store's news, an image, the planner, transactions."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import structlog

from cluster.controller.catalog_image import Entry
from cluster.controller.controller_settings import ControllerSettings
from cluster.controller.figures import ControllerFigures
from cluster.controller.image import ClusterImage
from cluster.controller.planner import Planner, plan_forgetting
from cluster.controller.steps import PlannedTransaction, Step, pack
from cluster.controller.unclean_marks import UncleanMarks
from cluster.metadata.follow import follow
from cluster.model import keys
from cluster.model.values import NodeRegistration
from cluster.ports.clock import Clock
from cluster.ports.coordination import Compare, CoordinationError, CoordinationStore, Listing

_log = structlog.get_logger(__name__)


class FencedError(Exception):
    """Another controller's term has begun, or this one's time is over: nothing more may be written."""


class ControllerLoop:
    """One term of a controller. Every transaction also compares `fence`; `may_act` is asked before each.

    What could not be done is planned anew from what the image shows then: nothing is ever written from memory (R18).
    """

    def __init__(
        self,
        store: CoordinationStore,
        *,
        clock: Clock,
        settings: ControllerSettings,
        figures: ControllerFigures,
        sole: NodeRegistration | None = None,
        fence: tuple[Compare, ...] = (),
        may_act: Callable[[], bool] = lambda: True,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._figures = figures
        self._sole = sole
        self._fence = fence
        self._may_act = may_act
        self._planner = Planner(settings.planner)
        self._image: ClusterImage | None = None
        self._unclean_marks = UncleanMarks()
        self._news = asyncio.Event()
        self._written_revision = 0
        self._failures = 0

    @property
    def image(self) -> ClusterImage | None:
        """What the controller knows now; None before the first listing."""
        return self._image

    async def run(self, on_ready: Callable[[], None] = lambda: None) -> None:
        """Until cancelled; `on_ready` is called once everything that was to be done at first is done.

        Raises FencedError.
        """
        tasks = [
            asyncio.create_task(self._follow(), name="controller's news"),
            asyncio.create_task(self._act(on_ready), name="controller's acts"),
            asyncio.create_task(self._forget_regularly(), name="controller's forgetting"),
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # --- news --------------------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        news = follow(self._store, keys.ROOT, clock=self._clock, backoff=self._settings.backoff)
        async with aclosing(news) as steps:
            async for step in steps:
                if isinstance(step, Listing):
                    version = 0 if self._image is None else self._image.version
                    image = ClusterImage(step.items, revision=step.revision, version=version, sole=self._sole)
                    self._image = image
                    _report_strange(image)
                    self._unclean_marks.listed(image)
                else:
                    assert self._image is not None
                    for event in step.events:
                        self._image.apply(event)
                        self._unclean_marks.changed(event, self._image)
                    self._image.revision = step.revision
                self._news.set()

    async def _wait_for_news(self, deadline_ms: int | None) -> None:
        """Until something changed, or the deadline."""
        alarm = None if deadline_ms is None else asyncio.create_task(self._ring_at(deadline_ms), name="alarm")
        try:
            await self._news.wait()
        finally:
            if alarm is not None:
                alarm.cancel()
                await asyncio.gather(alarm, return_exceptions=True)
        self._news.clear()

    async def _ring_at(self, deadline_ms: int) -> None:
        while (left_ms := deadline_ms - self._clock.monotonic_ms()) > 0:
            await self._clock.sleep(left_ms)
        self._news.set()

    async def _see_own_writes(self) -> None:
        """A plan from an older image would only repeat what is done, and fail on its guards."""
        deadline_ms = self._clock.monotonic_ms() + self._settings.own_writes_timeout_ms
        while self._image is None or self._image.revision < self._written_revision:
            if self._clock.monotonic_ms() >= deadline_ms:
                return
            await self._wait_for_news(deadline_ms)

    # --- acts --------------------------------------------------------------------------------------------------------

    async def _act(self, on_ready: Callable[[], None]) -> None:
        is_ready = False
        deadline_ms: int | None = None
        while True:
            await self._wait_for_news(deadline_ms)
            if self._settings.debounce_ms:
                await self._clock.sleep(self._settings.debounce_ms)
            await self._see_own_writes()
            deadline_ms = await self._plan_and_execute()
            if not is_ready and self._failures == 0:
                is_ready = True
                on_ready()

    async def _plan_and_execute(self) -> int | None:
        """When to look again even without news."""
        assert self._image is not None
        now_ms = self._clock.monotonic_ms()
        plan = self._planner.plan(self._image, now_ms)
        self._figures.plans += 1
        try:
            await self._execute(plan.steps)
        except CoordinationError as error:
            self._failures += 1
            self._figures.store_failures += 1
            _log.warning("controller_waits_for_store", reason=str(error), failures=self._failures)
            self._image.mark_all_changed()
            return now_ms + self._settings.backoff.delay_ms(self._failures)
        self._failures = 0
        return plan.next_deadline_ms

    async def _execute(self, steps: tuple[Step, ...] | list[Step]) -> None:
        """Raises CoordinationError, FencedError."""
        waiting = pack(steps, reserved=self._fence)[::-1]
        while waiting:
            planned = waiting.pop()
            if not await self._transact(planned):
                waiting += planned.halves()[::-1]

    async def _transact(self, planned: PlannedTransaction) -> bool:
        """Whether it took effect; with several steps, one that is out of date must not hold up the others."""
        if not self._may_act():
            raise FencedError("the term may be over")
        result = await self._store.transact((*self._fence, *planned.compares), planned.operations)
        self._figures.transactions += 1
        if result.succeeded:
            self._written_revision = max(self._written_revision, result.revision)
            self._figures.count_done(planned.steps)
            _report(planned)
            return True
        self._figures.conflicts += 1
        await self._check_not_fenced()
        return False

    async def _check_not_fenced(self) -> None:
        for compare in self._fence:
            item = await self._store.get(compare.key)
            if item is None or item.create_revision != compare.value:
                raise FencedError("another controller's term has begun")

    async def _forget_regularly(self) -> None:
        while True:
            await self._clock.sleep(self._settings.forgetting_interval_ms)
            deleted_before_ms = self._clock.now_ms() - self._settings.tombstone_retention_ms
            entries = [] if self._image is None else self._image.catalog.entries()
            steps = [step for entry in entries for step in plan_forgetting(entry, deleted_before_ms=deleted_before_ms)]
            try:
                await self._execute(steps)
            except CoordinationError as error:
                _log.warning("tombstones_kept", reason=str(error))


def _report(planned: PlannedTransaction) -> None:
    for step in planned.steps:
        for decision in step.decisions:
            _log.debug(
                "controller_decided",
                decision=decision.kind.value,
                topic_id=decision.topic_id,
                partition=decision.partition,
                reason=decision.reason,
            )


def _report_strange(image: ClusterImage) -> None:
    """What the controller keeps its hands off."""
    for key, reason in image.undecodable.items():
        _log.error("controller_cannot_decode", key=key, reason=reason)
    for entry in image.catalog.entries():
        if _is_orphan(entry):
            _log.error("partitions_without_topic_or_tombstone", id=entry.id, partitions=len(entry.partition_items))


def _is_orphan(entry: Entry) -> bool:
    return bool(entry.partition_items) and entry.topic_item is None and entry.tombstone_item is None
