"""When recurring schedules are due: cron in time zones over changes of the clocks, periods, and what is no rule."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.model.recurrence import CRON_BYTES_MAX, CronFaultError, Recurrence, ZoneFaultError, check_rule
from cluster.model.recurring_schedule import RecurrenceRule

NOW_MS = 1_795_256_378_149


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def times(rule: RecurrenceRule, since: str, count: int) -> list[str]:
    """In the rule's own time zone."""
    recurrence, found, at_ms = Recurrence(rule), [], ms(since)
    for _ in range(count):
        following = recurrence.next_after(at_ms)
        if following is None:
            break
        at_ms = following
        found.append(datetime.fromtimestamp(at_ms / 1000, ZoneInfo(rule.time_zone)).isoformat(timespec="minutes"))
    return found


@pytest.mark.parametrize(
    ("cron", "zone", "since", "expected"),
    [
        ("0 8 * * mon-fri", "UTC", "2026-11-20T08:00:00Z", ["2026-11-23T08:00+00:00", "2026-11-24T08:00+00:00"]),
        ("0 0 L * *", "UTC", "2027-02-01T00:00:00Z", ["2027-02-28T00:00+00:00", "2027-03-31T00:00+00:00"]),
        ("0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", ["2028-02-29T00:00+00:00"]),
        # Clocks go forward at two: what is between two and three is due at three, and once.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2027-03-27T12:00:00Z",
            ["2027-03-28T03:00+02:00", "2027-03-29T02:30+02:00"],
        ),
        # They go back at three: half past two is there twice, and the first one counts.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"],
        ),
        # What goes by the hour goes on by the hour.
        (
            "30 * * * *",
            "Europe/Berlin",
            "2026-10-24T23:35:00Z",
            ["2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00", "2026-10-25T03:30+01:00"],
        ),
        # Midnight is left out: what is behind it is there.
        (
            "*/30 1 * * 0",
            "America/Havana",
            "2027-03-13T12:00:00Z",
            ["2027-03-14T01:00-04:00", "2027-03-14T01:30-04:00", "2027-03-21T01:00-04:00"],
        ),
        (
            "*/20 1 28 * *",
            "Atlantic/Azores",
            "2027-03-27T12:00:00Z",
            ["2027-03-28T01:00+00:00", "2027-03-28T01:20+00:00", "2027-03-28T01:40+00:00"],
        ),
        # They go forward by half an hour, at two in the night before.
        (
            "*/15 0 * * *",
            "Australia/Lord_Howe",
            "2027-10-03T01:00:00+10:30",
            ["2027-10-04T00:00+11:00", "2027-10-04T00:15+11:00", "2027-10-04T00:30+11:00", "2027-10-04T00:45+11:00"],
        ),
        # And back by half an hour: what is there twice comes twice.
        (
            "*/20 1 * * *",
            "Australia/Lord_Howe",
            "2027-04-03T12:00:00Z",
            ["2027-04-04T01:00+11:00", "2027-04-04T01:20+11:00", "2027-04-04T01:40+11:00", "2027-04-04T01:40+10:30"],
        ),
    ],
)
def test_cron(cron: str, zone: str, since: str, expected: list[str]) -> None:
    assert times(RecurrenceRule(cron=cron, time_zone=zone), since, len(expected)) == expected


def test_six_fields_are_literal_where_clocks_are_changed() -> None:
    rule = RecurrenceRule(cron="0 30 2 * * *", time_zone="Europe/Berlin")
    assert times(rule, "2027-03-27T12:00:00Z", 1) == ["2027-03-29T02:30+02:00"]
    assert times(rule, "2026-10-24T12:00:00Z", 2) == ["2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00"]


def test_six_fields_begin_with_seconds() -> None:
    recurrence = Recurrence(RecurrenceRule(cron="*/20 * * * * *"))
    assert recurrence.latest(0, 60_000, 10) == [20_000, 40_000, 60_000]


@pytest.mark.parametrize(
    ("cron", "position", "expected"),
    [
        ("", 0, "minute, hour"),
        ("* * * *", 7, "minute, hour"),
        ("* * * * * * *", 12, "minute, hour"),
        ("60 * * * *", 0, "a minute: 0 to 59"),
        ("0  24 * * *", 3, "an hour: 0 to 23"),
        ("0 0 1 1 funday", 8, "a day-of-week"),
        ("0 0 0 32 1 *", 6, "a day-of-month"),
        ("0 0 */0 * *", 4, "a day-of-month"),
        ("0 0 30 2 *", 4, "a day-of-month"),
        ("0 0 5-3 * *", 4, "a day-of-month"),
        ("0 0 1,,2 * *", 4, "a day-of-month"),
        ("0 0 ² * *", 4, "up to 256 ASCII characters"),
        ("0 8 * * \uff4don", 8, "up to 256 ASCII characters"),
        ("0 " * 200, 256, "up to 256 ASCII characters"),
        ("0 0 * * mon,tue,xyz", 8, "a day-of-week"),
        ("@daily", 6, "minute, hour"),
        ("* * */20 * 1L", 0, "a time that comes"),
    ],
)
def test_nonsense_is_refused_with_its_position(cron: str, position: int, expected: str) -> None:
    with pytest.raises(CronFaultError) as caught:
        check_rule(RecurrenceRule(cron=cron), NOW_MS)
    assert caught.value.position == position
    assert caught.value.expected.startswith(expected)


@pytest.mark.parametrize("zone", ["Europe/Berln", "../../etc/passwd", "", "/etc/localtime", "x" * 300, "Europe", "\0"])
def test_what_is_no_time_zone(zone: str) -> None:
    with pytest.raises(ZoneFaultError) as caught:
        check_rule(RecurrenceRule(cron="* * * * *", time_zone=zone), NOW_MS)
    assert ("Europe/Berlin" in caught.value.near) == (zone == "Europe/Berln")


@pytest.mark.parametrize(
    "zone", ["localtime", "posixrules", "Factory", "posix/Europe/Berlin", "right/Europe/Berlin", "right/UTC"]
)
def test_what_is_a_table_and_no_place(zone: str) -> None:
    """They are the machine's own, or count otherwise than everybody's clocks, and so differ between nodes."""
    with pytest.raises(ZoneFaultError) as caught:
        check_rule(RecurrenceRule(cron="* * * * *", time_zone=zone), NOW_MS)
    assert ("Europe/Berlin" in caught.value.near) == zone.endswith("Berlin")
    assert not {"localtime", "Factory"} & set(caught.value.near)
    assert Recurrence(RecurrenceRule(cron="* * * * *", time_zone=zone)).next_after(NOW_MS) is not None, "one of before"


def test_the_longest_expression_is_taken() -> None:
    check_rule(RecurrenceRule(cron="0 0 * * *" + " " * (CRON_BYTES_MAX - 9)), NOW_MS)


@settings(max_examples=200, deadline=None)
@given(
    st.text("0123456789*/,-#LWmonjan ", max_size=30),
    st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns", "Pacific/Apia"]),
)
def test_any_text_is_a_fault_or_a_rule(cron: str, zone: str) -> None:
    rule = RecurrenceRule(cron=cron, time_zone=zone)
    try:
        check_rule(rule, NOW_MS)
    except CronFaultError:
        return
    following = Recurrence(rule).next_after(NOW_MS)
    assert following is not None
    assert following > NOW_MS


@settings(max_examples=100, deadline=None)
@given(st.integers(1_000, 10_000), st.integers(0, 100_000), st.integers(0, 100_000), st.integers(1, 50))
def test_periods_are_as_counted_one_by_one(every_ms: int, anchor_ms: int, after_ms: int, limit: int) -> None:
    rule = RecurrenceRule(every_ms=every_ms, anchor_ms=anchor_ms, start_ms=20_000, end_ms=90_000)
    until_ms = after_ms + 40_000
    naive = [anchor_ms + number * every_ms for number in range(200)]
    naive = [each for each in naive if after_ms < each <= until_ms and 20_000 <= each < 90_000]
    recurrence = Recurrence(rule)
    assert recurrence.latest(after_ms, until_ms, limit) == naive[-limit:]
    following = recurrence.next_after(after_ms)
    if naive:
        assert following == naive[0]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["*/7 * * * *", "30 2 * * *", "0,30 1-3 * * *", "15 */2 * * *", "0 12 1 * *", "*/13 2 * * sun"]),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
    st.integers(0, 366 * 24 * 60),
    st.integers(1, 90 * 24),
    st.integers(1, 40),
)
def test_the_latest_are_those_that_come_one_after_the_other(
    cron: str, zone: str, begin_minutes: int, hours: int, limit: int
) -> None:
    """Wherever it is begun, over changes of the clocks too: nothing is twice, goes back, or is left out."""
    recurrence = Recurrence(RecurrenceRule(cron=cron, time_zone=zone))
    begin = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=begin_minutes)
    after_ms = round(begin.timestamp() * 1000)
    until_ms = after_ms + hours * 3_600_000
    one_by_one: list[int] = []
    at_ms = after_ms
    while (following := recurrence.next_after(at_ms)) is not None and following <= until_ms:
        at_ms = following
        one_by_one.append(at_ms)
    assert one_by_one == sorted(set(one_by_one))
    assert recurrence.latest(after_ms, until_ms, limit) == one_by_one[-limit:]
