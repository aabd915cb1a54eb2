"""Which occurrences of a partition's recurring schedules are to be sent now. Sans-IO: it is told what there is to be
sent, what is committed in the schedule log, and the time.

Nothing is decided twice: up to which time each schedule is dealt with is what the log says, and while a decision is on
its way to the log, there is no other one about that schedule.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cluster.model.recurrence import Recurrence, ZoneFaultError
from cluster.model.recurring_schedule import MissedRuns, RecurringSchedule
from storage.schedule.changes import Change, LetGo, Recurred
from storage.schedule.entries import RecurringEntry
from storage.schedule.schedule_settings import ScheduleSettings

_NEVER = -1


class RecurringRun(NamedTuple):
    """A message is to be sent for each of `due_ms`; with that, or where there is none, everything up to `until_ms` is
    dealt with. `passed_over` counts the times without a message, as far as they were looked at."""

    schedule: RecurringSchedule
    due_ms: list[int]
    until_ms: int
    passed_over: int


class RunSize(NamedTuple):
    """So many messages, of so many bytes in all, as quotas count them."""

    messages: int
    size_bytes: int


@dataclass(slots=True)
class _Schedule:
    definition: RecurringSchedule
    recurrence: Recurrence
    next_ms: int | None = None
    deciding_until_ms: int = _NEVER


class RecurringRuns:
    """Of a partition, for one leader."""

    def __init__(self, settings: ScheduleSettings) -> None:
        self._settings = settings
        self._schedules: dict[str, _Schedule] = {}
        self._done_ms: dict[str, int] = {}
        self._let_go: dict[str, int] = {}

    # --- what is known ---------------------------------------------------------------------------------------------

    def restore(self, entries: Iterable[RecurringEntry]) -> None:
        """What the log says, before anything else is told."""
        for entry in entries:
            self._done_ms[entry.id] = entry.due_ms
            self._let_go[entry.id] = entry.let_go_moves

    def define(self, definitions: Iterable[RecurringSchedule]) -> list[RecurringSchedule]:
        """All that there are now, and paused ones. Those that cannot be sent from here are given back: this machine
        knows no such time zone."""
        before, self._schedules = self._schedules, {}
        unknown = []
        for definition in definitions:
            known = before.get(definition.id)
            if known is not None and known.definition is definition:
                self._schedules[definition.id] = known
                continue
            if known is None or known.definition.rule != definition.rule:
                try:
                    recurrence = Recurrence(definition.rule)
                except ZoneFaultError:
                    unknown.append(definition)
                    continue
                deciding_ms = _NEVER if known is None else known.deciding_until_ms
                known = _Schedule(definition, recurrence, deciding_until_ms=deciding_ms)
            known.definition = definition
            self._schedules[definition.id] = known
            self._find_next(known)
        return unknown

    def apply(self, changes: Iterable[Change]) -> None:
        """In the order of the log."""
        for _, what in changes:
            if not isinstance(what, Recurred | LetGo):
                continue
            self._done_ms[what.schedule_id] = max(self._done_ms.get(what.schedule_id, _NEVER), what.due_ms)
            if isinstance(what, LetGo):
                self._let_go[what.schedule_id] = what.moves
            schedule = self._schedules.get(what.schedule_id)
            if schedule is not None:
                if isinstance(what, LetGo) or what.due_ms >= schedule.deciding_until_ms:
                    schedule.deciding_until_ms = _NEVER
                self._find_next(schedule)

    def done_ms(self, definition: RecurringSchedule) -> int:
        """Up to which time the schedule is dealt with."""
        return max(self._done_ms.get(definition.id, _NEVER), definition.since_ms)

    def is_let_go(self, definition: RecurringSchedule) -> bool:
        """Whether this partition sends it no more, for ever: it said so, and the schedule has not come back since."""
        return self._let_go.get(definition.id, _NEVER) >= definition.home_moves

    # --- what is decided -------------------------------------------------------------------------------------------

    def take_due(
        self, now_ms: int, *, messages_max: int = sys.maxsize, bytes_max: int = sys.maxsize
    ) -> list[RecurringRun]:
        """What is to be noted now, as much as goes into one batch, and one message at least: what has been due longest
        comes first, so each has its turn. It is on its way until `apply` says that it is recorded, or until it is given
        back."""
        runs: list[RecurringRun] = []
        room = min(self._settings.due_messages_max, messages_max)
        room_bytes = min(self._settings.due_bytes_max, bytes_max)
        for schedule, run in self._due_runs(now_ms, room, room_bytes):
            schedule.deciding_until_ms = run.until_ms
            runs.append(run)
        return runs

    def size_of_due(self, now_ms: int) -> RunSize:
        """What `take_due` would give now, if nothing but a batch's size limited it."""
        messages = size_bytes = 0
        for schedule, run in self._due_runs(now_ms, self._settings.due_messages_max, self._settings.due_bytes_max):
            messages += len(run.due_ms)
            size_bytes += len(run.due_ms) * len(schedule.definition.record.body)
        return RunSize(messages, size_bytes)

    def _due_runs(self, now_ms: int, room: int, room_bytes: int) -> Iterator[tuple[_Schedule, RecurringRun]]:
        for schedule in self._due(now_ms):
            size_bytes = len(schedule.definition.record.body)
            run = self._run_of(schedule, now_ms, max(1, min(room, room_bytes // max(1, size_bytes))))
            room -= max(len(run.due_ms), 1)
            room_bytes -= len(run.due_ms) * size_bytes
            yield schedule, run
            if room <= 0 or room_bytes <= 0:
                break

    def _due(self, now_ms: int) -> list[_Schedule]:
        """In the order of their times."""
        due = [
            (each.next_ms, number, each)
            for number, each in enumerate(self._schedules.values())
            if each.deciding_until_ms == _NEVER and each.next_ms is not None and each.next_ms <= now_ms
        ]
        return [schedule for _, _, schedule in sorted(due)]

    def begin_letting_go(self, definition: RecurringSchedule) -> bool:
        """Whether nothing is on its way to the log; then nothing will be before `apply` says that it is let go, or
        `stop_letting_go`."""
        schedule = self._schedules.get(definition.id)
        if schedule is None:
            return True
        if schedule.deciding_until_ms != _NEVER:
            return False
        schedule.deciding_until_ms = sys.maxsize
        return True

    def stop_letting_go(self, definition: RecurringSchedule) -> None:
        """It was not noted, for sure."""
        schedule = self._schedules.get(definition.id)
        if schedule is not None:
            schedule.deciding_until_ms = _NEVER

    def give_back(self, runs: Iterable[RecurringRun]) -> None:
        """They were not noted, for sure."""
        for run in runs:
            schedule = self._schedules.get(run.schedule.id)
            if schedule is not None:
                schedule.deciding_until_ms = _NEVER

    def next_due(self) -> int | None:
        """When there is something to note, by the wall clock."""
        waiting = [each for each in self._schedules.values() if each.deciding_until_ms == _NEVER]
        return min((each.next_ms for each in waiting if each.next_ms is not None), default=None)

    def _run_of(self, schedule: _Schedule, now_ms: int, room: int) -> RecurringRun:
        definition, settings = schedule.definition, self._settings
        limit = settings.counted_runs_max if definition.missed is MissedRuns.ONCE else settings.missed_runs_max
        assert schedule.next_ms is not None
        passed = schedule.recurrence.latest(self.done_ms(definition), now_ms, limit) or [schedule.next_ms]
        match definition.missed:
            case MissedRuns.ONCE:
                due = passed[-1:]
            case MissedRuns.ALL:
                due = passed
            case MissedRuns.SKIP:
                due = [each for each in passed if each >= now_ms - definition.grace_ms]
        passed_over = len(passed) - len(due)
        if len(due) > room:
            due = due[:room]
            return RecurringRun(definition, due, due[-1], passed_over)
        return RecurringRun(definition, due, passed[-1], passed_over)

    def _find_next(self, schedule: _Schedule) -> None:
        definition = schedule.definition
        is_running = not (definition.is_paused or self.is_let_go(definition))
        schedule.next_ms = schedule.recurrence.next_after(self.done_ms(definition)) if is_running else None
