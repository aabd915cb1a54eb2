"""Cron where clocks are changed in odd ways, in all zones that do so, against a model that looks at each minute.

Odd are changes that leave out midnight, or show it twice, and those by anything but an hour.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.model.recurrence import Recurrence
from cluster.model.recurring_schedule import RecurrenceRule

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
KNOWN = (
    *("Europe/Berlin", "America/New_York"),  # usual ones
    *("America/Havana", "Atlantic/Azores", "Asia/Beirut", "Africa/Cairo", "America/Santiago"),
    *("Australia/Lord_Howe", "Pacific/Apia"),
)


class Change(NamedTuple):
    zone: str
    at: datetime


def changes_of(zone: ZoneInfo, year: int) -> Iterator[datetime]:
    """To the minute, by looking for where the offset is another one."""
    day = datetime(year, 1, 1, tzinfo=UTC)
    while day.year == year:
        low, high = day, day + DAY
        before = low.astimezone(zone).utcoffset()
        if high.astimezone(zone).utcoffset() != before:
            while high - low > MINUTE:
                middle = low + timedelta(minutes=(high - low) // MINUTE // 2)
                low, high = (middle, high) if middle.astimezone(zone).utcoffset() == before else (low, middle)
            yield high
        day += DAY


def is_odd(at: datetime, zone: ZoneInfo) -> bool:
    before, after = (at - MINUTE).astimezone(zone), at.astimezone(zone)
    walls = sorted((before.replace(tzinfo=None) + MINUTE, after.replace(tzinfo=None)))
    midnight = datetime.combine(walls[1].date(), datetime.min.time())
    is_by_an_hour = walls[1] - walls[0] == timedelta(hours=1)
    return not is_by_an_hour or walls[0] <= midnight <= walls[1]


@cache
def odd_changes() -> list[Change]:
    found: dict[tuple[datetime, datetime, datetime], Change] = {}
    for name in sorted(available_timezones()):
        if "/" not in name or name.startswith(("Etc/", "posix/", "right/")):
            continue
        zone = ZoneInfo(name)
        for year in (2011, 2027):  # in 2011 Samoa left out a day
            for at in changes_of(zone, year):
                if name in KNOWN or is_odd(at, zone):
                    walls = [each.astimezone(zone).replace(tzinfo=None) for each in (at - MINUTE, at)]
                    if name in KNOWN or (at, *walls) not in found:
                        found[at, walls[0], walls[1]] = Change(name, at)
    return list(found.values())


class Cron(NamedTuple):
    """One of each day's fields may be "*"."""

    minute: str
    hour: str
    day: str
    weekday: str

    @property
    def text(self) -> str:
        return f"{self.minute} {self.hour} {self.day} * {self.weekday}"

    @property
    def is_fixed(self) -> bool:
        return not self.minute.startswith("*") and not self.hour.startswith("*")

    def holds(self, wall: datetime) -> bool:
        is_day = [self.day in ("*", str(wall.day)), self.weekday in ("*", str(wall.isoweekday() % 7))]
        days = all(is_day) if "*" in (self.day, self.weekday) else any(is_day)
        return days and _is_of(self.minute, wall.minute) and _is_of(self.hour, wall.hour)


def _is_of(field: str, value: int) -> bool:
    if field.startswith("*"):
        return value % int(field[2:] or 1) == 0
    first, _, last = field.partition("-")
    return int(first) <= value <= int(last or first)


def times_of(cron: Cron, zone: ZoneInfo, begin: datetime, end: datetime) -> list[datetime]:
    """Each minute that is there; of a fixed time the first, or what is there right after it."""
    found = dict.fromkeys(at for at in _minutes(begin, end) if cron.holds(at.astimezone(zone).replace(tzinfo=None)))
    if not cron.is_fixed:
        return sorted(found)
    fixed = set[datetime]()
    shown: set[datetime] = set()
    before: datetime | None = None
    for at in _minutes(begin - 2 * DAY, end):
        wall = at.astimezone(zone).replace(tzinfo=None)
        left_out = [] if before is None else _minutes(before + MINUTE, wall)
        if any(cron.holds(each) and each not in shown for each in left_out):
            fixed.add(at)
        if cron.holds(wall) and wall not in shown:
            fixed.add(at)
        shown.add(wall)
        before = wall
    return sorted(at for at in fixed if begin <= at < end)


def _minutes(begin: datetime, end: datetime) -> Iterator[datetime]:
    while begin < end:
        yield begin
        begin += MINUTE


def days_around(change: Change) -> list[date]:
    wall = change.at.astimezone(ZoneInfo(change.zone)).date()
    return [wall - DAY, wall, wall + DAY]


@st.composite
def rules(draw: st.DrawFn) -> tuple[Change, Cron]:
    change = draw(st.sampled_from(odd_changes()))
    day, zone = draw(st.sampled_from(days_around(change))), ZoneInfo(change.zone)
    near = [(change.at + hours * timedelta(hours=1)).astimezone(zone).hour for hours in (-1, 0, 1)]
    minute = draw(st.sampled_from(["*/7", "*/15", "*/30", "0", "10", "45", "0-20"]))
    hour = draw(st.sampled_from(["*", "*/2", "0", "0-2", *(str(each) for each in near)]))
    days = [
        ("*", "*"),
        (str(day.day), "*"),
        ("*", str(day.isoweekday() % 7)),
        (str(day.day), str(day.isoweekday() % 7)),
    ]
    return change, Cron(minute, hour, *draw(st.sampled_from(days)))


@settings(max_examples=400, deadline=None)
@given(rules(), st.integers(0, 3 * 24 * 60))
def test_each_time_once_where_clocks_are_changed(rule: tuple[Change, Cron], before_minutes: int) -> None:
    """Wherever it is begun."""
    change, cron = rule
    zone, end = ZoneInfo(change.zone), change.at + DAY
    begin = change.at + DAY - before_minutes * MINUTE
    recurrence = Recurrence(RecurrenceRule(cron=cron.text, time_zone=change.zone))
    found, at_ms = [], round((begin - MINUTE).timestamp() * 1000)
    while (following := recurrence.next_after(at_ms)) is not None and following < end.timestamp() * 1000:
        at_ms = following
        found.append(datetime.fromtimestamp(at_ms / 1000, UTC))
    assert found == times_of(cron, zone, begin, end)


def test_there_are_odd_changes() -> None:
    assert set(KNOWN) <= {change.zone for change in odd_changes()}
