"""What is decided about recurring schedules: no time twice, none left out, whatever comes of what is on its way."""

from typing import Any

import pytest

from acklog.wire.record import Record
from cluster.model.recurring_schedule import MissedRuns, RecurrenceRule, RecurringSchedule
from storage.schedule.changes import Change, LetGo, Recurred
from storage.schedule.entries import RecurringEntry
from storage.schedule.recurring_runs import RecurringRun, RecurringRuns
from storage.schedule.schedule_settings import ScheduleSettings


def each_second(id_: str = "a", **settings: Any) -> RecurringSchedule:
    rule = RecurrenceRule(every_ms=1_000)
    settings = {"missed": MissedRuns.ALL} | settings
    return RecurringSchedule(id_, "topic", id_, 0, 0, 0, rule, Record(b"1"), **settings)


def runs_of(*definitions: RecurringSchedule, **settings: int) -> RecurringRuns:
    runs = RecurringRuns(ScheduleSettings(**settings))
    assert runs.define(definitions) == []
    return runs


def record(runs: RecurringRuns, taken: list[RecurringRun]) -> None:
    for run in taken:
        runs.apply([Change(0, Recurred(run.schedule.id, due_ms)) for due_ms in run.due_ms or [run.until_ms]])


def test_what_is_on_its_way_is_not_decided_again() -> None:
    runs = runs_of(each_second())
    taken = runs.take_due(2_500)
    assert [run.due_ms for run in taken] == [[1_000, 2_000]]
    assert (runs.take_due(9_000), runs.next_due()) == ([], None)
    record(runs, taken)
    assert runs.next_due() == 3_000
    assert [run.due_ms for run in runs.take_due(3_000)] == [[3_000]]


def test_what_was_refused_is_decided_again() -> None:
    runs = runs_of(each_second())
    runs.give_back(runs.take_due(1_500))
    assert runs.next_due() == 1_000
    assert [run.due_ms for run in runs.take_due(2_500)] == [[1_000, 2_000]]


def test_what_the_log_says_holds() -> None:
    runs = RecurringRuns(ScheduleSettings())
    runs.restore([RecurringEntry("a", 5_000, -1, 7), RecurringEntry("b", 5_000, 0, 8)])
    runs.define([each_second("a"), each_second("b")])
    assert [(run.schedule.id, run.due_ms) for run in runs.take_due(6_500)] == [("a", [6_000])]


def test_one_that_was_let_go_and_came_back_goes_on() -> None:
    runs = RecurringRuns(ScheduleSettings())
    runs.restore([RecurringEntry("a", 5_000, 1, 7)])
    runs.define([each_second("a", home_moves=1)])
    assert runs.next_due() is None
    runs.define([each_second("a", home_moves=3)])
    assert runs.next_due() == 6_000


def test_while_it_is_let_go_nothing_is_decided() -> None:
    definition = each_second()
    runs = runs_of(definition)
    assert runs.begin_letting_go(definition)
    assert not runs.begin_letting_go(definition)
    assert runs.take_due(5_000) == []
    runs.stop_letting_go(definition)
    taken = runs.take_due(1_000)
    assert not runs.begin_letting_go(definition)
    record(runs, taken)
    assert runs.begin_letting_go(definition)
    runs.apply([Change(9, LetGo("a", 1_000, 0))])
    assert runs.is_let_go(definition)
    assert (runs.take_due(9_000), runs.next_due()) == ([], None)


@pytest.mark.parametrize("room", [1, 3, 250])
def test_no_more_at_once_than_there_is_room_for(room: int) -> None:
    runs = runs_of(each_second("a"), each_second("b"), due_messages_max=room)
    found: dict[str, list[int]] = {"a": [], "b": []}
    while taken := runs.take_due(10_000):
        assert sum(len(run.due_ms) for run in taken) <= room
        for run in taken:
            found[run.schedule.id] += run.due_ms
        record(runs, taken)
    assert found == {id_: [number * 1_000 for number in range(1, 11)] for id_ in "ab"}


def test_a_zone_that_the_machine_does_not_know_is_told_of() -> None:
    unknown = RecurringSchedule(
        "z", "topic", "z", 0, 0, 0, RecurrenceRule(cron="* * * * *", time_zone="Mars/Port"), Record(b"")
    )
    runs = RecurringRuns(ScheduleSettings())
    assert runs.define([each_second(), unknown]) == [unknown]
    assert runs.next_due() == 1_000
