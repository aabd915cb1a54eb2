"""When a recurring schedule is due: cron in a time zone, or every so often. Times are in milliseconds since 1970.

Cron is that of Debian, also where clocks are changed. Its fields are read, and gone through, by the library cronsim. A
time zone's rules are a table of the machine's, or of the package tzdata: the one thing here that is read from a file,
once.
"""

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from cluster.model.near_names import near_names
from cluster.model.recurring_schedule import RecurrenceRule

CRON_BYTES_MAX = 256
EVERY_MS_MIN = 1_000
EVERY_MS_MAX = 365 * 24 * 60 * 60 * 1000
_FIRST_LOOK_BACK_MS = 60_000
_LOOK_BACK_GROWTH = 2
_PUT_BACK_MAX = timedelta(hours=24)
_FIELDS = ("second", "minute", "hour", "day-of-month", "month", "day-of-week")
_EXPECTED = {
    "second": "0 to 59",
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day-of-month": "1 to 31, L or LW, in a month that has it",
    "month": "1 to 12 or JAN to DEC",
    "day-of-week": "0 to 7 or SUN to SAT, 1#2 for the second Monday, 5L for the last Friday",
}
_NO_PLACES = frozenset({"localtime", "posixrules", "Factory"})
"""Each machine's own, or nobody's."""
_OTHER_COUNTS = ("posix/", "right/")
"""The tables once more, one of them with leap seconds, which no clock here counts."""


class CronFaultError(ValueError):
    """`position` counts the characters before the field that is wrong; `expected` says what could stand there."""

    def __init__(self, position: int, expected: str) -> None:
        super().__init__(f"at position {position}: expected {expected}")
        self.position = position
        self.expected = expected


class ZoneFaultError(ValueError):
    """There is no such time zone; `near` are names that may be meant."""

    def __init__(self, name: str) -> None:
        place = name.removeprefix("posix/").removeprefix("right/")
        self.near = near_names(place, sorted(available_timezones() - _NO_PLACES))
        hint = f"; similar: {', '.join(self.near)}" if self.near else ""
        super().__init__(f"is not a time zone of the IANA database (Europe/Berlin){hint}")


def check_rule(rule: RecurrenceRule, now_ms: int) -> None:
    """Raises CronFaultError, ZoneFaultError."""
    if rule.time_zone in _NO_PLACES or rule.time_zone.startswith(_OTHER_COUNTS):
        raise ZoneFaultError(rule.time_zone)
    zone_of(rule.time_zone)
    if rule.cron is not None:
        _check_cron(rule.cron)
        if Recurrence(rule).next_after(now_ms) is None and rule.end_ms is None:
            raise CronFaultError(0, "a time that comes within the next 50 years")


def _check_cron(text: str) -> None:
    if not text.isascii() or len(text) > CRON_BYTES_MAX:
        taken = next((at for at, each in enumerate(text[:CRON_BYTES_MAX]) if not each.isascii()), CRON_BYTES_MAX)
        raise CronFaultError(taken, f"up to {CRON_BYTES_MAX} ASCII characters")
    places = _places_of_fields(text)
    if len(places) not in {5, 6}:
        position = places[6] if len(places) > 6 else len(text)
        raise CronFaultError(position, "minute, hour, day-of-month, month and day-of-week, with seconds before or not")
    try:
        CronSim(text, datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        name = str(error).removeprefix("Bad ")
        place = _FIELDS.index(name) - (6 - len(places))
        article = "an" if name == "hour" else "a"
        raise CronFaultError(places[place], f"{article} {name}: {_EXPECTED[name]}") from None


def _places_of_fields(text: str) -> list[int]:
    """Where each begins."""
    return [at for at, each in enumerate(text) if not each.isspace() and (at == 0 or text[at - 1].isspace())]


@lru_cache(maxsize=1_000)
def zone_of(name: str) -> tzinfo:
    """Raises ZoneFaultError."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):  # names that are no file's, too long, absolute, or not there
        raise ZoneFaultError(name) from None


class Recurrence:
    """The times of one rule, which was checked. Raises ZoneFaultError where this machine does not know its zone."""

    def __init__(self, rule: RecurrenceRule) -> None:
        self._rule = rule
        self._zone = zone_of(rule.time_zone)

    def next_after(self, time_ms: int) -> int | None:
        """The first time that is later; None where there is none, within the next 50 years."""
        return next(self._after(time_ms), None)

    def latest(self, after_ms: int, until_ms: int, limit: int) -> list[int]:
        """Those later than `after_ms` and up to `until_ms`, in order: the last `limit` of them."""
        back_ms = _FIRST_LOOK_BACK_MS
        while True:
            begin_ms = max(after_ms, until_ms - back_ms)
            found: list[int] = []
            for time_ms in self._after(begin_ms):
                if time_ms > until_ms:
                    break
                found.append(time_ms)
            if len(found) >= limit or begin_ms == after_ms:
                return found[-limit:]
            back_ms *= _LOOK_BACK_GROWTH

    def _after(self, time_ms: int) -> Iterator[int]:
        rule = self._rule
        if rule.start_ms is not None:
            time_ms = max(time_ms, rule.start_ms - 1)
        for found_ms in self._by_cron(time_ms) if rule.cron is not None else self._by_period(time_ms):
            if rule.end_ms is not None and found_ms >= rule.end_ms:
                return
            yield found_ms

    def _by_period(self, time_ms: int) -> Iterator[int]:
        rule = self._rule
        count = max((time_ms - rule.anchor_ms) // rule.every_ms + 1, 0)
        while True:
            yield rule.anchor_ms + count * rule.every_ms
            count += 1

    def _by_cron(self, time_ms: int) -> Iterator[int]:
        last_ms, found_by = time_ms, self._at_fixed_times if self._has_fixed_times() else self._by_the_clock
        try:
            for found in found_by(datetime.fromtimestamp(time_ms // 1000, self._zone)):
                found_ms = int(found.timestamp()) * 1000
                if found_ms > last_ms:  # where clocks are changed, two may fall together, or behind
                    last_ms = found_ms
                    yield found_ms
        except (OverflowError, ValueError):  # beyond the year 9999
            return

    def _has_fixed_times(self) -> bool:
        """Each of which comes once, whatever becomes of the clocks; others go on in their rhythm, or are literal."""
        assert self._rule.cron is not None
        fields = self._rule.cron.split()
        return self._zone is UTC or (len(fields) == 5 and not (fields[0][0] == "*" or fields[1][0] == "*"))

    def _at_fixed_times(self, after: datetime) -> Iterator[datetime]:
        assert self._rule.cron is not None
        return CronSim(self._rule.cron, after)

    def _by_the_clock(self, after: datetime) -> Iterator[datetime]:
        """Whenever a clock on the wall shows such a time: not where that is left out, twice where it is there twice.

        Wall times are gone through without their zone: the library would count whole hours from a midnight that may be
        left out, or over a change by half an hour, and step over what is there.
        """
        assert self._rule.cron is not None
        shown_again: deque[datetime] = deque()
        for wall in CronSim(self._rule.cron, _first_shown_after(after)):
            first, again = wall.replace(tzinfo=self._zone), wall.replace(tzinfo=self._zone, fold=1)
            if not _is_shown(first):
                continue
            while shown_again and shown_again[0].timestamp() < first.timestamp():
                yield shown_again.popleft()
            yield first
            if again.timestamp() > first.timestamp():
                shown_again.append(again)
        yield from shown_again


def _first_shown_after(time: datetime) -> datetime:
    """No clock on the wall shows an earlier time from then on. It may be put back soon, and show again what it did."""
    soon = (time.astimezone(UTC) + _PUT_BACK_MAX).astimezone(time.tzinfo)
    offset, offset_soon = time.utcoffset(), soon.utcoffset()
    assert offset is not None
    assert offset_soon is not None
    return time.replace(tzinfo=None, fold=0) - max(offset - offset_soon, timedelta())


def _is_shown(wall: datetime) -> bool:
    return wall.astimezone(UTC).astimezone(wall.tzinfo).replace(tzinfo=None) == wall.replace(tzinfo=None)
