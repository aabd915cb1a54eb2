"""A partition's schedule as its leader runs it: what is due goes among the messages, once and never early (rule R31).

A message that is due is appended to the partition's messages like any other batch, and names the scheduled message that
it was. When that is committed, the schedule log is told so. Where a leader dies in between, the next one finds what was
appended and not recorded by looking through the messages behind the last record: no window of time is involved. It does
so before it decides anything.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.node.partition.partition_host import PartitionHost
from storage.node.schedule.adoption_host import AdoptionHost
from storage.node.schedule.due_appender import DueAppender
from storage.node.schedule.earlier_deliveries import find_deliveries
from storage.node.schedule.hand_over_host import HandOverHost
from storage.node.schedule.message_turns import MessageTurns
from storage.node.schedule.other_schedules import OtherSchedules
from storage.node.schedule.recurring_definitions import RecurringDefinitions
from storage.node.schedule.recurring_host import RecurringHost
from storage.node.schedule.run_quotas import RunQuotas
from storage.node.schedule.schedule_figures import ScheduleFigures
from storage.node.schedule.schedule_keeper import ScheduleKeeper
from storage.node.schedule.schedule_writer import ScheduleWriter
from storage.replication.leadership import Leadership
from storage.schedule.changes import Change, Passed
from storage.schedule.near_future import NearFuture
from storage.schedule.schedule_index import IndexFailedError
from storage.schedule.schedule_settings import ScheduleSettings

logger = structlog.get_logger(__name__)


class ScheduleHost:
    """`begin`, then `close`. `messages` and `scheduled` are the partition's two logs that messages come to."""

    def __init__(
        self,
        messages: PartitionHost,
        scheduled: PartitionHost,
        keeper: ScheduleKeeper,
        leadership: Leadership,
        definitions: RecurringDefinitions,
        quotas: RunQuotas,
        others: OtherSchedules,
        figures: ScheduleFigures,
        *,
        clock: Clock,
        settings: ScheduleSettings,
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self.figures = figures
        self.near = NearFuture(settings)
        self.messages = messages
        self.scheduled = scheduled
        self.keeper = keeper
        self.leadership = leadership
        self.writer = ScheduleWriter(scheduled)
        self.recurring = RecurringHost(
            messages.topic.id,
            messages.partition,
            definitions,
            quotas,
            keeper,
            self.writer,
            self.figures,
            clock=clock,
            settings=settings,
        )
        self._clock = clock
        self._settings = settings
        self._on_crashed = on_crashed
        self._news = asyncio.Event()
        self._ready: asyncio.Event = asyncio.Event()
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._has_begun = False
        self._is_closed = False
        self._noted_end = 0
        self.turns = MessageTurns(self.near, self._news.set)
        self.adoptions = AdoptionHost(messages, keeper, self.writer)
        self._hand_overs = HandOverHost(
            messages,
            keeper,
            self.writer,
            self.near,
            others,
            self.figures,
            clock=clock,
            settings=settings,
            start=self._start,
            on_free=self._news.set,
        )
        self._due = DueAppender(
            messages,
            keeper,
            self.writer,
            self.near,
            self._hand_overs,
            self.figures,
            clock=clock,
            settings=settings,
            start=self._start,
            wait=self._wait,
            on_room=self._news.set,
        )

    @property
    def pending(self) -> int:
        """How many messages are scheduled."""
        return self.keeper.state.pending

    @property
    def may_have_any(self) -> bool:
        """Whether something is scheduled, or may be: it is not known yet."""
        has_pending = self.pending > 0 or not self.keeper.is_up_to(self.scheduled.high_watermark)
        return (self.keeper.has_any and has_pending) or self.recurring.has_any

    def next_in_ms(self) -> int | None:
        """How long until the next message is due; None where none is, and before it is known."""
        moments = [each for each in (self.near.next_due(), self.near.next_read()) if each is not None]
        return min(moments) - self._clock.now_ms() if self.pending and moments else None

    @property
    def recorded_end(self) -> int:
        """Messages below it may be removed: whoever leads next looks through the others for what was due and is not
        recorded, and what it does not find there it appends again."""
        if not self.keeper.has_any:
            return self.messages.high_watermark
        if not self._ready.is_set():
            return 0
        return self.keeper.state.messages_end if self.near.has_leaving else self.messages.high_watermark

    # --- life ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The leadership has begun."""
        self.recurring.attend(self.look)
        self.look()

    def look(self) -> None:
        """More is committed in the schedule log, or a recurring schedule has its home here: most partitions never have
        anything, and never begin."""
        if self.keeper.has_any or self.recurring.has_any:
            self._begin_once()

    def _begin_once(self) -> None:
        if not self._has_begun and not self._is_closed:
            self._has_begun = True
            self._start(self._open())

    async def wait_ready(self) -> None:
        """Until it is known what the leader before has done. The caller bounds the time."""
        if self.keeper.has_any:
            self.look()
            await self._ready.wait()

    async def wait_open(self) -> None:
        """As `wait_ready`, also where nothing was ever scheduled: something is about to be. Raises ServerError."""
        self._begin_once()
        if self._is_closed:
            raise ServerError(ProblemCode.UNAVAILABLE, "The partition is led elsewhere now.")
        await self._ready.wait()

    @property
    def is_ready(self) -> bool:
        """Whether it is known what the leader before has done."""
        return self._ready.is_set() and not self._is_closed

    def wake(self) -> None:
        """Look again at what is due."""
        self._news.set()

    async def close(self) -> None:
        self._is_closed = True
        self.recurring.close()
        if self.keeper.listener is self:
            self.keeper.listener = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.scheduled.leadership_ended()  # nobody is told any more how far its log is committed
        await self.adoptions.close()
        await self.writer.close()

    def changed(self, changes: list[Change]) -> None:
        """They are committed."""
        self.near.apply(changes, self._clock.now_ms())
        self.recurring.apply(changes)
        self.adoptions.apply(changes)
        self._hand_overs.apply(changes)
        self._news.set()

    async def _open(self) -> None:
        while True:
            try:
                await self.messages.wait_until_committed()
                await self.scheduled.wait_until_committed()
                await self.keeper.wait_applied(self.scheduled.high_watermark)
                self._noted_end = self.messages.high_watermark
                notes = await find_deliveries(self.messages, self.keeper, self._noted_end)
                if notes:
                    await self.keeper.wait_applied(await self.writer.write(*notes))
                await self.recurring.restore()
                await self.adoptions.restore()
                await self._hand_overs.restore()
                break
            except (ServerError, IndexFailedError) as error:
                logger.warning("schedule_not_opened", partition=self.messages.partition, reason=str(error))
                await self._clock.sleep(self._settings.retry_pause_ms)
        self.keeper.listener = self
        self._ready.set()
        self._hand_overs.resume()
        for work in (self._read_ahead(), self._due.run(), self._note_progress(), *self.recurring.works()):
            self._start(work)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        del self._tasks[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_crashed(error)

    # --- what is due -----------------------------------------------------------------------------------------------

    async def _read_ahead(self) -> None:
        """Have in memory what is due soon."""
        while True:
            read_at_ms = self.near.next_read()
            if read_at_ms is None or read_at_ms > self._clock.now_ms():
                await self._wait(read_at_ms)
                continue
            try:
                async with self.keeper.reading.turn():
                    await self.keeper.load(lambda: self.near.wanted(self._clock.now_ms()), self.near.loaded)
                self._news.set()
                await asyncio.sleep(0)
            except (ServerError, IndexFailedError) as error:
                logger.warning("schedule_not_read_ahead", partition=self.messages.partition, reason=str(error))
                await self._clock.sleep(self._settings.retry_pause_ms)

    async def _wait(self, until_ms: int | None) -> None:
        """Until then by the wall clock, or until there are news."""
        self._news.clear()
        waited = None if until_ms is None else max(until_ms - self._clock.now_ms(), 1) / 1000
        try:
            async with asyncio.timeout(waited):
                await self._news.wait()
        except TimeoutError:
            pass

    # --- how far it is recorded ------------------------------------------------------------------------------------

    async def _note_progress(self) -> None:
        """Now and then, so that the next leader has not much to look through."""
        while True:
            await self._clock.sleep(self._settings.note_interval_ms)
            end = self.messages.high_watermark
            is_due = end - self._noted_end >= self._settings.unnoted_messages_max
            if not self.pending or not (is_due or self.keeper.state.messages_end == 0 < end):
                continue
            try:
                await self.note_passed()
            except ServerError as error:
                logger.info("schedule_progress_not_noted", partition=self.messages.partition, reason=str(error))

    async def note_passed(self) -> None:
        """Note up to where all that was due is recorded. Raises ServerError."""
        if self.near.has_leaving:
            return  # what is on its way is recorded first, and says the same
        self._noted_end = end = self.messages.high_watermark
        await self.writer.write(Passed(end))
