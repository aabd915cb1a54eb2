"""What is told where something does not go its usual way: at the limits, and to who comes again."""

import json
from typing import Any

import pytest

from app.auth.principal import ANYONE
from app.events.audience import Audience
from app.events.change_table import ChangeTable
from app.events.event_pages import PAGE_BYTES_MAX, EventPages, EventReader
from app.events.thing import ThingKey, ThingKind


def topic(number: int) -> ThingKey:
    return ThingKey(ThingKind.TOPICS, f"t{number}")


def told(pages: EventPages, reader: EventReader) -> tuple[str, dict[str, Any]]:
    """The next event, and what it says."""
    text = pages.next(reader).text.decode()
    name, _, data = text.splitlines()[:3]
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def pages_of(table: ChangeTable) -> EventPages:
    return EventPages(table, run="run")


def filled(count: int, *, removed_max: int = 10) -> ChangeTable:
    table = ChangeTable(removed_max=removed_max)
    for number in range(count):
        table.put(topic(number), b'{"name":"t%d"}' % number)
    table.flush(bytes_max=None)
    return table


@pytest.mark.parametrize(
    ("event_id", "begins"),
    [
        ("", "start"),
        ("run-2", None),
        ("run-3", None),
        ("run-4", "unknown"),
        ("other-2", "unknown"),
        ("nonsense", "unknown"),
        ("run-\u0662", "unknown"),
        ("run-" + "9" * 5000, "unknown"),
    ],
)
def test_who_comes_again_goes_on_where_that_is_known(event_id: str, begins: str | None) -> None:
    pages = pages_of(filled(3))
    reader = pages.reader(Audience(ANYONE), event_id)
    page = pages.next(reader)
    if begins is None:
        assert page.text == (b"" if event_id == "run-3" else page.text)
        assert b"snapshot" not in page.text
    else:
        assert json.loads(page.text.splitlines()[2][6:])["reason"] == begins


def test_who_missed_what_is_not_remembered_begins_anew() -> None:
    table = filled(3, removed_max=1)
    pages = pages_of(table)
    slow, quick = (pages.reader(Audience(ANYONE)) for _ in range(2))
    pages.next(slow), pages.next(quick)
    table.remove(topic(0))
    table.flush(bytes_max=None)
    assert told(pages, quick)[1]["removed"] == {"topics": ["t0"]}
    table.remove(topic(1))
    table.flush(bytes_max=None)
    assert told(pages, quick)[1]["removed"] == {"topics": ["t1"]}
    name, said = told(pages, slow)
    assert (name, said["reason"], said["first"], said["topics"]) == ("snapshot", "lost", True, [{"name": "t2"}])


def test_a_page_has_so_many_bytes_at_most_and_one_thing_at_least() -> None:
    table = ChangeTable()
    text = b'"' + b"x" * (PAGE_BYTES_MAX // 2 - 2) + b'"'
    for number in range(3):
        table.put(topic(number), text)
    table.put(topic(3), b'"' + b"x" * PAGE_BYTES_MAX + b'"')
    table.flush(bytes_max=None)
    pages = pages_of(table)
    reader = pages.reader(Audience(ANYONE))
    said = [told(pages, reader)[1] for _ in range(3)]
    assert [(len(each["topics"]), each["first"], each["last"]) for each in said] == [
        (2, True, False),
        (1, False, False),
        (1, False, True),
    ]
    assert pages.next(reader).text == b""


def test_who_is_told_the_same_gets_the_same_bytes() -> None:
    pages = pages_of(filled(3))
    first, second = (pages.reader(Audience(ANYONE)) for _ in range(2))
    assert pages.next(first).text is pages.next(second).text


def test_what_waits_longest_is_told_first_and_the_totals_always() -> None:
    table = filled(2)
    seen: list[str] = []
    for interval in range(4):
        for number in range(4):
            table.put(topic(number), b'"%d of %d"' % (number, interval))
        table.put(ThingKey(ThingKind.TOTALS), b'"totals %d"' % interval)
        before = table.version
        table.flush(bytes_max=12)
        seen += [(each.text or b"").decode() for each in table.after(before)]
    assert [each.split()[0].strip('"') for each in seen] == ["totals", "0", "totals", "1", "totals", "2", "totals", "3"]
