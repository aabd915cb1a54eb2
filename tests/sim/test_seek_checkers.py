"""With seeks, each checker accepts what a seek explains, and nothing else."""

from typing import Any

import pytest

from tests.sim.checkers import Checker
from tests.sim.delivery_checkers import (
    AcknowledgedIsNeverDeliveredAgain,
    AutoAckedIsDeliveredOnce,
    DeadLettersAreOnce,
    EverythingIsDoneInTheEnd,
    ProgressNeverFalls,
    StaleReceiptsAreRefused,
)
from tests.sim.history import AutoAckedAnswerLost, Event, History, Outcome, Sought
from tests.sim.seek_checkers import ReceiptsFromBeforeASeekAreStale, SeeksAreNotForgotten
from tests.sim.test_checkers import DLQ, delivered, later, log, progress, record, settled


def sought(to: int, at_ms: float = 100, **changes: Any) -> Sought:
    values: dict[str, Any] = {
        "began_ms": at_ms,
        "ended_ms": at_ms + 1,
        "group": "g",
        "queue": "q",
        "partition": 0,
        "lowest": to,
        "highest": to,
        "outcome": Outcome.OK,
    }
    return Sought(**{**values, **changes})


ACKED = [delivered(), settled()]  # at 10 and 20
AGAIN = later(delivered(generation=1), 200)  # at 210
ACKED_AGAIN = later(settled(generation=1), 210)  # at 230
THIRD = later(delivered(generation=2), 400)
UNKNOWN = sought(0, outcome=Outcome.UNKNOWN)

GOOD_AND_BAD: list[tuple[Checker, dict[str, list[Event]], dict[str, list[Event]]]] = [
    (
        AcknowledgedIsNeverDeliveredAgain(),
        {
            "sought back": [*ACKED, sought(0), AGAIN],
            "maybe sought back": [*ACKED, UNKNOWN, AGAIN],
            "maybe sought back much later": [*ACKED, UNKNOWN, THIRD],
            "once for two messages": [
                *ACKED,
                delivered(1),
                settled(offset=1),
                UNKNOWN,
                AGAIN,
                later(delivered(1), 201),
            ],
            "sought back twice": [*ACKED, sought(0), AGAIN, ACKED_AGAIN, sought(0, 300), THIRD],
        },
        {
            "sought past": [*ACKED, sought(1), AGAIN],
            "sought before the ack": [later(delivered(), 110), later(settled(), 110), sought(0), AGAIN],
            "sought after the delivery": [*ACKED, AGAIN, sought(0, 300)],
            "another partition": [*ACKED, sought(0, partition=1), AGAIN],
            "another group": [*ACKED, sought(0, group="h"), AGAIN],
            "refused": [*ACKED, sought(0, outcome=Outcome.FAILED), AGAIN],
            "one seek for two times": [*ACKED, sought(0), AGAIN, ACKED_AGAIN, THIRD],
            "one unknown seek for two times": [*ACKED, UNKNOWN, AGAIN, ACKED_AGAIN, THIRD],
        },
    ),
    (
        AutoAckedIsDeliveredOnce(),
        {"sought back": [delivered(is_auto_acked=True), sought(0), later(delivered(is_auto_acked=True), 200)]},
        {"sought past": [delivered(is_auto_acked=True), sought(1), later(delivered(is_auto_acked=True), 200)]},
    ),
    (
        EverythingIsDoneInTheEnd(dead_letter_queues=DLQ),
        {
            "skipped": [log(record(0, "m0")), sought(1)],
            "maybe skipped": [log(record(0, "m0")), sought(1, outcome=Outcome.UNKNOWN)],
            "done again after a seek back": [*ACKED, sought(0), AGAIN, ACKED_AGAIN, log(record(0, "m0"))],
            "maybe sought back": [*ACKED, UNKNOWN, log(record(0, "m0"))],
            "skipped after a seek back": [*ACKED, sought(0), sought(1, 200), log(record(0, "m0"))],
        },
        {
            "not done again after a seek back": [*ACKED, sought(0), log(record(0, "m0"))],
            "only delivered again": [*ACKED, sought(0), AGAIN, log(record(0, "m0"))],
            "acked with a receipt from before the seek": [
                *ACKED,
                sought(0),
                later(settled(), 200),
                log(record(0, "m0")),
            ],
            "skipped before a seek back": [sought(1), sought(0, 200), log(record(0, "m0"))],
            "skipped in another partition": [log(record(0, "m0")), sought(1, partition=1)],
        },
    ),
    (
        DeadLettersAreOnce(dead_letter_queues=DLQ),
        {
            "twice after a seek back": [
                log(record(0, "m0")),
                log(record(0, "m0"), record(1, "m0"), queue="q.g.dlq"),
                sought(0),
            ]
        },
        {
            "twice after a seek past it": [
                log(record(0, "m0")),
                log(record(0, "m0"), record(1, "m0"), queue="q.g.dlq"),
                sought(1),
            ]
        },
    ),
    (
        ProgressNeverFalls(),
        {
            "sought back": [progress(5), sought(0), later(progress(0), 200)],
            "maybe sought back": [progress(5), UNKNOWN, later(progress(0), 200)],
            "and on from there": [progress(5), sought(0), later(progress(2), 200), later(progress(3), 300)],
        },
        {
            "further than the seek": [progress(5), sought(3), later(progress(2), 200)],
            "again, after the seek": [progress(5), sought(0), later(progress(2), 200), later(progress(1), 300)],
            "a seek that was lost": [progress(5), sought(9), later(progress(5), 200)],
        },
    ),
    (
        StaleReceiptsAreRefused(max_attempts={"g": 3}, dead_letter_queues=DLQ),
        {"skipped": [delivered(), later(delivered(attempt=2), 50), sought(1), later(settled(), 200)]},
        {
            "skipped before the newer lease": [
                delivered(),
                sought(1, 12),
                later(delivered(attempt=2), 50),
                later(settled(), 200),
            ]
        },
    ),
    (
        SeeksAreNotForgotten(),
        {
            "a later generation": [sought(0), AGAIN],
            "an earlier one while the seek went on": [sought(0, 205, ended_ms=300), later(delivered(), 200)],
            "above the new position": [sought(1), later(delivered(1, generation=1), 200)],
            "sought back again": [sought(1), sought(0, 150), THIRD],
            "maybe sought back again": [sought(1), sought(0, 150, outcome=Outcome.UNKNOWN), AGAIN],
        },
        {
            "an earlier generation": [sought(0), later(delivered(), 200)],
            "a second seek that is forgotten": [sought(0), sought(0, 150), AGAIN],
            "below the new position": [sought(1), AGAIN],
            "below it, without a receipt": [sought(1), later(delivered(is_auto_acked=True), 200)],
        },
    ),
    (
        ReceiptsFromBeforeASeekAreStale(max_attempts={"g": 3}, dead_letter_queues=DLQ),
        {
            "settled before the seek": [*ACKED, sought(0)],
            "skipped": [delivered(), sought(1), later(settled(), 200)],
            "skipped by a later seek": [delivered(), sought(0), sought(1, 150), later(settled(), 200)],
            "done again": [delivered(), sought(0), AGAIN, ACKED_AGAIN, later(settled(), 300)],
            "maybe dead-lettered": [
                delivered(),
                sought(0),
                later(delivered(attempt=3, generation=1), 200),
                later(settled(), 400),
            ],
            "dead-lettered though nobody got the last delivery": [
                delivered(),
                sought(0),
                later(settled(), 400),
                log(record(0, "m0"), queue="q.g.dlq"),
            ],
            "maybe acknowledged with a delivery that nobody got": [
                delivered(),
                sought(0),
                AutoAckedAnswerLost(began_ms=220, ended_ms=230, group="g", queue="q", messages_max=1),
                later(settled(), 400),
            ],
        },
        {
            "accepted": [delivered(), sought(0), later(settled(), 200)],
            "dead-lettered before the seek": [
                delivered(),
                log(record(0, "m0"), queue="q.g.dlq", began_ms=60, ended_ms=61),
                sought(0),
                later(settled(), 200),
                log(record(0, "m0"), queue="q.g.dlq"),
            ],
            "though it is delivered again": [delivered(), sought(0), AGAIN, later(settled(), 300)],
            "given back, though it is skipped": [delivered(), sought(1), later(settled("nack"), 200)],
            "skipped before": [delivered(), sought(1, 50), sought(0), later(settled(), 200)],
        },
    ),
]


def _cases(column: int) -> list[Any]:
    return [
        pytest.param(row[0], events, id=f"{type(row[0]).__name__}-{name}")
        for row in GOOD_AND_BAD
        for name, events in (row[1], row[2])[column].items()
    ]


def _history(events: list[Event]) -> History:
    history = History()
    for event in sorted(events, key=lambda event: event.ended_ms):
        history.add(event)
    return history


@pytest.mark.parametrize(("checker", "events"), _cases(0))
def test_what_a_seek_explains_is_accepted(checker: Checker, events: list[Event]) -> None:
    assert checker.check(_history(events)) == []


@pytest.mark.parametrize(("checker", "events"), _cases(1))
def test_what_no_seek_explains_is_caught(checker: Checker, events: list[Event]) -> None:
    assert checker.check(_history(events))
