"""What the checkers know of filters: they accept a good history and catch a fabricated violation."""

from typing import Any

import pytest

from acklog.filters import parse_filter
from acklog.wire.record import Record
from tests.sim.delivery_checkers import EverythingIsDoneInTheEnd
from tests.sim.filter_checkers import GRACE_MS, FilteredPagesLeaveOutNothing, OnlyWhatMatchesIsDelivered
from tests.sim.filters import FILTERS, REGIONS, TAGS, wants
from tests.sim.filters_in_force import NOTICED_MS, FiltersInForce
from tests.sim.history import Event, FilterChanged, FilteredRead, History, Outcome, Sought
from tests.sim.order_checkers import KeysAreInOrder
from tests.sim.test_checkers import DLQ, delivered, log, record, sent, settled

RED = 'tag = "red"'
NOT_RED = 'not tag = "red"'
ONLY_MATCHING = OnlyWhatMatchesIsDelivered(unnoticed_ms=0)
ALL_DONE = EverythingIsDoneInTheEnd(dead_letter_queues=DLQ)
WHOLE_PAGES = FilteredPagesLeaveOutNothing()
KEYS = KeysAreInOrder(["g"], max_attempts={"g": 3}, dead_letter_queues=DLQ)

RED_0 = sent("m0", 0, tags=["red"], key="k")
BLUE_1 = sent("m1", 1, tags=["blue"], key="k")
RED_2 = sent("m2", 2, tags=["red"], key="k")
ALL_SENT = (RED_0, BLUE_1, RED_2)
LOG = log(record(0, "m0"), record(1, "m1"), record(2, "m2"))


def changed(text: str, at_ms: float = 0, outcome: Outcome = Outcome.OK) -> FilterChanged:
    return FilterChanged(began_ms=at_ms, ended_ms=at_ms + 1, group="g", filter=text, outcome=outcome)


def done(offset: int) -> tuple[Event, Event]:
    return delivered(offset), settled(offset=offset)


def page(*offsets: int, **changes: Any) -> FilteredRead:
    values = {"reader": "r", "queue": "q", "partition": 0, "filter": RED, "offset": 0, "next_offset": 3}
    return FilteredRead(**{"began_ms": 10, "ended_ms": 11, **values, "offsets": list(offsets), **changes})


def history(*events: Event) -> History:
    found = History()
    for event in events:
        found.add(event)
    return found


def sought(to: int, at_ms: float) -> Sought:
    return Sought(
        began_ms=at_ms,
        ended_ms=at_ms + 1,
        group="g",
        queue="q",
        partition=0,
        lowest=to,
        highest=to,
        outcome=Outcome.OK,
    )


GOOD: dict[str, tuple[Any, list[Event]]] = {
    "what matches": (ONLY_MATCHING, [*ALL_SENT, changed(RED), delivered(0), delivered(2, filter=RED)]),
    "a leader that has not heard yet": (
        ONLY_MATCHING,
        [*ALL_SENT, changed(RED), changed(NOT_RED, 100), delivered(0, began_ms=GRACE_MS, ended_ms=GRACE_MS + 1)],
    ),
    "nobody knows whether it changed": (
        ONLY_MATCHING,
        [*ALL_SENT, changed(RED), changed(NOT_RED, 1, Outcome.UNKNOWN), delivered(1, began_ms=9e6, ended_ms=9e6)],
    ),
    "passed over": (ALL_DONE, [*ALL_SENT, changed(RED), LOG, *done(0), *done(2)]),
    "passed over before the filter changed": (
        ALL_DONE,
        [*ALL_SENT, changed(RED), changed(NOT_RED, 100), LOG, *done(0), *done(2)],
    ),
    "a page of what matches": (WHOLE_PAGES, [*ALL_SENT, LOG, page(0, 2), page(0, next_offset=2), page(2, offset=1)]),
    "of a key what matches is in order": (
        KEYS,
        [*ALL_SENT, changed(RED), LOG, *done(0), delivered(2, began_ms=500, ended_ms=501)],
    ),
}

BAD: dict[str, tuple[Any, list[Event]]] = {
    "what the group does not want": (ONLY_MATCHING, [*ALL_SENT, changed(RED), delivered(1)]),
    "what the call does not want": (ONLY_MATCHING, [*ALL_SENT, changed(""), delivered(1, filter=RED)]),
    "by a filter that is over": (
        ONLY_MATCHING,
        [
            *ALL_SENT,
            changed(RED),
            changed(NOT_RED, 100),
            delivered(0, began_ms=GRACE_MS + 200, ended_ms=GRACE_MS + 201),
        ],
    ),
    "by a filter that was refused": (
        ONLY_MATCHING,
        [*ALL_SENT, changed(RED), changed(NOT_RED, 5, Outcome.FAILED), delivered(1)],
    ),
    "what matches was passed over": (ALL_DONE, [*ALL_SENT, changed(RED), LOG, *done(2)]),
    "passed over by a call's filter": (ALL_DONE, [*ALL_SENT, changed(""), LOG, *done(0), delivered(2, filter=RED)]),
    "passed over before it was sent": (
        ALL_DONE,
        [
            changed(NOT_RED),
            changed(RED, 100),
            *(sent(f"m{at}", at, tags=["red"], began_ms=200 + NOTICED_MS) for at in range(3)),
            LOG,
        ],
    ),
    "passed over before a seek went back": (
        ALL_DONE,
        [*ALL_SENT, changed(NOT_RED), changed(RED, 100), sought(0, 200 + NOTICED_MS), LOG],
    ),
    "left out of a page": (WHOLE_PAGES, [*ALL_SENT, LOG, page(0)]),
    "too much in a page": (WHOLE_PAGES, [*ALL_SENT, LOG, page(0, 1, 2)]),
    "one that matches is in front": (KEYS, [*ALL_SENT, changed(RED), LOG, delivered(2, began_ms=500, ended_ms=501)]),
}


@pytest.mark.parametrize(("checker", "events"), GOOD.values(), ids=GOOD)
def test_a_good_history_is_accepted(checker: Any, events: list[Event]) -> None:
    assert checker.check(history(*events)) == []


@pytest.mark.parametrize(("checker", "events"), BAD.values(), ids=BAD)
def test_a_violation_is_caught(checker: Any, events: list[Event]) -> None:
    assert checker.check(history(*events)) != []


def test_a_group_without_a_filter_passes_over_nothing() -> None:
    filters = FiltersInForce(history(*ALL_SENT))
    assert filters.of("g", after_ms=0, before_ms=9) == [""]
    assert not filters.may_pass_over("g", "m1")


@pytest.mark.parametrize("text", FILTERS)
def test_what_the_simulation_takes_a_filter_for_is_what_it_says(text: str) -> None:
    judge = parse_filter(text).matches
    for key in (None, "key-0", "key-1"):
        for tags in ([], ["red"], ["blue"], ["green", "red"], list(TAGS)):
            for headers in ({}, *({"region": region} for region in REGIONS)):
                message = sent("m0", key=key, tags=tags, headers=headers)
                assert wants(text, message) == judge(Record(b"", key, headers or None, tags or None))


def test_filters_survive_json() -> None:
    told = history(*ALL_SENT, changed(RED), page(0, 2), delivered(0, filter=RED))
    assert History.from_json_lines(told.to_json_lines()).events == told.events
