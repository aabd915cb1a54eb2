"""When a recurring schedule is due: cron expressions, time zones, bounds."""

from itertools import pairwise

from cluster.model.recurrence import CronFaultError, Recurrence, ZoneFaultError, check_rule
from cluster.model.recurring_schedule import RecurrenceRule
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of

_NOW_MS = 1_790_000_000_000
_DAY_MS = 24 * 60 * 60 * 1000
_RUNS = 3
_SEEDS = (
    joined(b"Europe/Berlin", b"30 2 * * *"),
    joined(b"UTC", b"*/10 * * * * *"),
    joined(b"America/Lord_Howe", b"0 0 LW * 5L"),
    joined(b"UTC", b"0 0 29 2 1#1"),
    joined(b"Africa/Casablanca", b"59 23 31 JAN,MAR,MAY SUN-SAT"),
    joined(b"posix/UTC", b"0 0 1 1 *"),
    joined(b"UTC", b"0 0 31 2 *"),
    joined(b"UTC", b"61 * * * *"),
)


def _read(data: bytes) -> None:
    zone, cron = parts_of(data, 2)
    rule = RecurrenceRule(cron=cron.decode("utf-8", "replace"), time_zone=zone.decode("utf-8", "replace"))
    try:
        check_rule(rule, _NOW_MS)
    except CronFaultError as fault:
        assert 0 <= fault.position <= len(rule.cron or "")
        raise
    recurrence = Recurrence(rule)
    times = [_NOW_MS]
    while len(times) <= _RUNS:
        found = recurrence.next_after(times[-1])
        if found is None:
            break
        times.append(found)
    assert len(times) > 1, "a rule that was taken is never due"
    assert all(earlier < later for earlier, later in pairwise(times))
    latest = recurrence.latest(times[1] - 1, times[-1], _RUNS)
    assert latest == times[1:], "looked back is other than looked on"
    assert recurrence.latest(_NOW_MS, _NOW_MS + _DAY_MS, 1)[-1:] <= [_NOW_MS + _DAY_MS]


TARGET = FuzzTarget(_read, (CronFaultError, ZoneFaultError), lambda: _SEEDS)
