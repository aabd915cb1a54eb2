"""A partition's recurring schedules as its leader runs them: each time that is due becomes a scheduled message, once.

The note in the schedule log that makes the message also says up to which time its schedule is dealt with. So neither a
failover nor a restart repeats a time or forgets one, however long it took: no window of time is involved.

A schedule belongs to one partition, its home, and moves only after its leader has noted for good that it sends it no
more: two never send the same one.
"""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog

from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.recurring_schedule import RecurringSchedule
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError
from storage.node.schedule.recurring_definitions import RecurringDefinitions
from storage.node.schedule.run_quotas import RunQuotas
from storage.node.schedule.schedule_figures import ScheduleFigures
from storage.node.schedule.schedule_keeper import ScheduleKeeper
from storage.node.schedule.schedule_writer import NOTHING_WAS_DONE, ScheduleWriter
from storage.schedule.changes import Change, LetGo, Note, Recurred
from storage.schedule.recurring_runs import RecurringRun, RecurringRuns
from storage.schedule.schedule_settings import ScheduleSettings

logger = structlog.get_logger(__name__)

NAME_HEADER = "acklog-schedule"
TIME_HEADER = "acklog-schedule-time"


class RecurringHost:
    """`attend`, `restore` when it is known what the leader before has noted, then run what `works` gives; `close`."""

    def __init__(
        self,
        topic_id: str,
        partition: int,
        definitions: RecurringDefinitions,
        quotas: RunQuotas,
        keeper: ScheduleKeeper,
        writer: ScheduleWriter,
        figures: ScheduleFigures,
        *,
        clock: Clock,
        settings: ScheduleSettings,
    ) -> None:
        self._topic_id = topic_id
        self._partition = partition
        self._definitions = definitions
        self._quotas = quotas
        self._keeper = keeper
        self._writer = writer
        self._figures = figures
        self._clock = clock
        self._settings = settings
        self._runs = RecurringRuns(settings)
        self._is_held_up = False
        self._news = asyncio.Event()
        self._home_news = asyncio.Event()
        self._stop_attending: Callable[[], None] = lambda: None

    # --- life ------------------------------------------------------------------------------------------------------

    def attend(self, on_news: Callable[[], None]) -> None:
        """`on_news`: there may be something to run by now."""

        def changed() -> None:
            self.wake()
            on_news()

        self._stop_attending = self._definitions.attend(self._topic_id, self._partition, changed)

    def close(self) -> None:
        self._stop_attending()

    @property
    def has_any(self) -> bool:
        """Whether a schedule has its home here."""
        return bool(self._definitions.of_home(self._topic_id, self._partition))

    async def restore(self) -> None:
        """Raises ServerError, IndexFailedError."""
        self._runs.restore(await self._keeper.all_of(lambda index: index.recurring()))

    def works(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """Each runs until it is cancelled."""
        return self._send_due(), self._move_homes()

    def apply(self, changes: list[Change]) -> None:
        """They are committed."""
        if any(isinstance(change.what, Recurred | LetGo) for change in changes):
            self._runs.apply(changes)
            self.wake()

    def wake(self) -> None:
        self._news.set()
        self._home_news.set()

    # --- what is due -----------------------------------------------------------------------------------------------

    async def _send_due(self) -> None:
        while True:
            self._news.clear()
            for unknown in self._runs.define(self._definitions.of_home(self._topic_id, self._partition)):
                logger.error("recurring_schedule_not_sent", schedule=unknown.name, time_zone=unknown.rule.time_zone)
            next_ms = self._runs.next_due()
            if next_ms is None:
                await self._news.wait()
            elif next_ms > self._clock.now_ms():
                await self._wait(next_ms - self._clock.now_ms())
            else:
                await self._send_as_quotas_allow()

    async def _wait(self, pause_ms: int) -> None:
        """So long, or until there are news."""
        try:
            async with asyncio.timeout(pause_ms / 1000):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _send_as_quotas_allow(self) -> None:
        """What there is no room for stays due, and is missed by the time that there is: what becomes of it is up to the
        schedule."""
        try:
            now_ms = self._clock.now_ms()
            room = await self._quotas.admit(self._topic_id, lambda: self._runs.size_of_due(now_ms))
        except ServerError as error:
            if not self._is_held_up:
                logger.warning("recurring_schedules_held_up", partition=self._partition, reason=str(error))
            self._is_held_up = True
            pause_ms = error.retry_after_ms or self._settings.retry_pause_ms
            await self._wait(min(pause_ms, self._settings.quota_wait_ms_max))
            return
        self._is_held_up = False
        runs = self._runs.take_due(self._clock.now_ms(), messages_max=room.messages, bytes_max=room.size_bytes)
        if runs:
            await self._note(runs)

    async def _note(self, runs: list[RecurringRun]) -> None:
        self._quotas.charge(self._topic_id, [run.schedule.record for run in runs for _ in run.due_ms])
        notes: list[Note] = []
        for run in runs:
            notes += [Recurred(run.schedule.id, due_ms, message_of(run.schedule, due_ms)) for due_ms in run.due_ms]
            if not run.due_ms:
                notes.append(Recurred(run.schedule.id, run.until_ms))
        try:
            await self._keeper.wait_applied(await self._writer.write(*notes))
        except ServerError as error:
            logger.warning("recurring_schedules_not_sent", partition=self._partition, reason=str(error))
            if error.code in NOTHING_WAS_DONE:
                self._runs.give_back(runs)
            # Else they may be in the log that a later leader has: this one never notes them again.
            await self._clock.sleep(self._settings.retry_pause_ms)
            return
        for run in runs:
            self._figures.recurred += len(run.due_ms)
            self._figures.passed_over += run.passed_over
            if run.passed_over:
                logger.warning(
                    "recurring_schedule_passed_over",
                    schedule=run.schedule.name,
                    times=run.passed_over,
                    until_ms=run.until_ms,
                )

    # --- another home ----------------------------------------------------------------------------------------------

    async def _move_homes(self) -> None:
        while True:
            self._home_news.clear()
            has_failed = False
            for definition in self._definitions.of_home(self._topic_id, self._partition):
                home = self._definitions.proper_home(definition)
                # One that was let go comes back only by a move, be it to where it is: the topic has changed once more.
                if home == self._partition and not self._runs.is_let_go(definition):
                    continue
                try:
                    await self._move_home(definition, home)
                except (ServerError, CoordinationError, TimeoutError) as error:
                    logger.warning("recurring_schedule_not_moved", schedule=definition.name, reason=str(error))
                    has_failed = True
            if has_failed:
                await self._clock.sleep(self._settings.retry_pause_ms)
            else:
                await self._home_news.wait()

    async def _move_home(self, definition: RecurringSchedule, home: int) -> None:
        """Raises ServerError, CoordinationError, TimeoutError."""
        if not self._runs.is_let_go(definition):
            if not self._runs.begin_letting_go(definition):
                return  # what is on its way comes first, and is heard of
            note = LetGo(definition.id, self._runs.done_ms(definition), definition.home_moves)
            try:
                await self._keeper.wait_applied(await self._writer.write(note))
            except ServerError as error:
                if error.code in NOTHING_WAS_DONE:
                    self._runs.stop_letting_go(definition)
                raise
        await self._definitions.move_home(definition, home, self._runs.done_ms(definition))

    # --- a short log -----------------------------------------------------------------------------------------------

    async def write_anew(self, below: int) -> None:
        """What the log says below this offset of schedules that there are, again at its end, so that what is before
        can go. Raises ServerError, IndexFailedError."""
        entries = [
            entry for entry in await self._keeper.all_of(lambda index: index.recurring()) if entry.position < below
        ]
        if not entries:
            return
        gone = await self._definitions.gone(self._topic_id, [entry.id for entry in entries])
        notes: list[Note] = []
        for entry in entries:
            if entry.id in gone:
                continue
            if entry.let_go_moves >= 0:
                notes.append(LetGo(entry.id, entry.due_ms, entry.let_go_moves))
            else:
                notes.append(Recurred(entry.id, entry.due_ms))
        if notes:
            await self._keeper.wait_applied(await self._writer.write(*notes))


def message_of(definition: RecurringSchedule, due_ms: int) -> Record:
    """As it is sent for that time."""
    headers = definition.record.headers or {}
    time_text = datetime.fromtimestamp(due_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    named = {**headers, NAME_HEADER: definition.name, TIME_HEADER: time_text}
    return msgspec.structs.replace(definition.record, headers=named)
