"""Each checker of groups that block accepts what waits, and catches what does not."""

import math
from typing import Any

import pytest

from cluster.model.values import Exhausted, GroupMode
from tests.sim.blocked_checkers import NothingIsGivenUp, OthersGoOn, WhatIsBlockedWaits
from tests.sim.checkers import Checker
from tests.sim.delivery_checkers import (
    AcknowledgedIsNeverDeliveredAgain,
    EverythingIsDoneInTheEnd,
    OneLeaseAtATime,
    StaleReceiptsAreRefused,
)
from tests.sim.history import (
    AutoAckedAnswerLost,
    BlockedListed,
    Decided,
    DecidersRested,
    Event,
    History,
    MappingBegan,
    Outcome,
)
from tests.sim.options import OrderedGroup
from tests.sim.order_checkers import KeysAreInOrder, PartitionsAreInOrder
from tests.sim.test_checkers import DLQ, ISLAND, REPLACED, delivered, later, log, record, sent, settled
from tests.sim.test_seek_checkers import sought


def group(mode: GroupMode) -> dict[str, OrderedGroup]:
    times = {"stay_ms": 1_000, "session_timeout_ms": 3_000, "rebalance_timeout_ms": 5_000}
    return {"g": OrderedGroup(mode, consumers=2, on_exhausted=Exhausted.BLOCK, **times)}


BY_KEY, BY_PARTITION = group(GroupMode.KEY_ORDERED), group(GroupMode.EXCLUSIVE)
WORDS: dict[str, Any] = {"max_attempts": {"g": math.inf}, "dead_letter_queues": DLQ}
WORLD: list[Event] = [
    sent("m0", 0, key="a"),
    sent("m1", 1, key="b"),
    sent("m2", 2, key="a"),
    log(record(0, "m0"), record(1, "m1"), record(2, "m2")),
]


def blocked(at_ms: float = 30, offset: int = 0, key: str | None = "a") -> BlockedListed:
    place: dict[str, Any] = {"group": "g", "queue": "q", "partition": 0, "offset": offset, "key": key}
    return BlockedListed(began_ms=at_ms, ended_ms=at_ms + 1, **place)


def decided(action: str, at_ms: float = 40, outcome: Outcome = Outcome.OK, offset: int = 0) -> Decided:
    place: dict[str, Any] = {"group": "g", "queue": "q", "partition": 0, "offset": offset}
    return Decided(began_ms=at_ms, ended_ms=at_ms + 1, action=action, outcome=outcome, **place)


def rested(from_ms: float, to_ms: float) -> DecidersRested:
    return DecidersRested(began_ms=from_ms, ended_ms=to_ms)


def grown(partition: int, offset: int) -> MappingBegan:
    return MappingBegan(began_ms=5, ended_ms=5, queue="q", partition=partition, mapping=1, offset=offset)


ELSEWHERE = [blocked(60), log(record(0, "m9"), partition=1)]
AGAIN, BEHIND, OTHER = (later(delivered(offset), 50) for offset in (0, 2, 1))  # at 60
LAST = delivered(0, 3, serial=3)  # at 10
RELEASED = later(delivered(0, 1, serial=1_025), 50)
ACKS = [later(settled(offset=offset), 0) for offset in (0, 1, 2)]
LETTER = log(record(0, "m0"), queue="q.g.dlq")
LOST = AutoAckedAnswerLost(began_ms=5, ended_ms=6, group="g", queue="q", messages_max=1)

_WAYS_OUT: dict[str, list[Event]] = {
    "released": [blocked(), decided("release"), AGAIN],
    "what is behind it, when it was skipped": [blocked(), decided("skip"), BEHIND],
    "perhaps released": [blocked(), decided("release", outcome=Outcome.UNKNOWN), AGAIN],
    "perhaps, by a decision of before": [decided("skip", 10, Outcome.UNKNOWN), blocked(), BEHIND],
    "acknowledged by its last receipt": [blocked(), later(settled(), 20), BEHIND],
    "perhaps acknowledged": [settled(outcome=Outcome.UNKNOWN), blocked(), BEHIND],
    "sought": [blocked(), sought(0, 40), AGAIN],
    "before it was blocked": [blocked(100), AGAIN, BEHIND],
    "while the group said so": [blocked(60), AGAIN],
    "what is before it": [blocked(offset=2), AGAIN],
    "of another group": [blocked(), later(delivered(0, group="h"), 50)],
    "by a leader that may not have noticed": [ISLAND, REPLACED, *WORLD, later(AGAIN, 0)],
    "told by one that may not have": [ISLAND, later(blocked(), 100), later(AGAIN, 200)],
}
_NO_WAY_OUT: dict[str, list[Event]] = {
    "it is delivered": [blocked(), AGAIN],
    "what is behind it": [blocked(), BEHIND],
    "released before": [decided("release", 10), blocked(), AGAIN],
    "a decision that was refused": [blocked(), decided("release", outcome=Outcome.FAILED), AGAIN],
    "a decision about another one": [blocked(), decided("skip", offset=1), BEHIND],
    "a decision that came later": [blocked(), BEHIND, decided("skip", 80)],
    "an ack that was refused": [blocked(), later(settled(outcome=Outcome.FAILED), 20), BEHIND],
    "still blocked when it was told again": [blocked(20), decided("release", 30, Outcome.FAILED), blocked(40), AGAIN],
}

GOOD_AND_BAD: list[tuple[Checker, dict[str, list[Event]], dict[str, list[Event]]]] = [
    (WhatIsBlockedWaits(BY_KEY, unnoticed_ms=2_000), {**_WAYS_OUT, "of another key": [blocked(), OTHER]}, _NO_WAY_OUT),
    (
        WhatIsBlockedWaits(BY_PARTITION, unnoticed_ms=2_000),
        _WAYS_OUT,
        {**_NO_WAY_OUT, "of another key": [blocked(), OTHER]},
    ),
    (
        NothingIsGivenUp(BY_KEY, dead_letter_queues=DLQ),
        {"no letter": [], "of another group": [log(record(0, "m0"), queue="q.h.dlq")]},
        {"a letter": [LETTER]},
    ),
    (
        OthersGoOn(BY_KEY, dead_letter_queues=DLQ),
        {
            "all is done": [*ACKS, rested(50, 90)],
            "but what is held up": [settled(offset=1), blocked(60), rested(50, 90)],
            "skipped": [decided("skip"), *ACKS[1:], rested(50, 90)],
            "not yet, and nobody says that it should be": [blocked(60)],
            "perhaps acknowledged with its delivery": [LOST, *ACKS[1:], rested(50, 90)],
        },
        {
            "of another key": [blocked(60), rested(50, 90)],
            "what is before it": [*ACKS[1:], blocked(60, offset=2), rested(50, 90)],
            "acknowledged later": [*ACKS[:2], later(settled(offset=2), 100), rested(50, 90)],
            "it was blocked before": [blocked(20), settled(offset=1), rested(50, 90)],
            "done before a seek back": [*ACKS, sought(0, 40), rested(50, 90)],
        },
    ),
    (
        OthersGoOn(BY_PARTITION, dead_letter_queues=DLQ),
        {
            "the partition is held up": [blocked(60), rested(50, 90)],
            "what came after a growth": [*ACKS, grown(0, 3), grown(1, 0), *ELSEWHERE, rested(50, 90)],
        },
        {
            "what is before it": [blocked(60, offset=1, key="b"), rested(50, 90)],
            "what came after a growth, behind which it is itself": [
                *ACKS,
                grown(0, 0),
                grown(1, 0),
                *ELSEWHERE,
                rested(50, 90),
            ],
            "what came before a growth": [*ACKS, grown(0, 3), grown(1, 1), *ELSEWHERE, rested(50, 90)],
        },
    ),
    (
        KeysAreInOrder(["g"], **WORDS),
        {
            "skipped": [LAST, decided("skip"), BEHIND],
            "perhaps skipped": [LAST, decided("skip", outcome=Outcome.UNKNOWN), BEHIND],
        },
        {
            "it was the last attempt": [LAST, BEHIND],
            "released": [LAST, decided("release"), BEHIND],
            "skipped too late": [LAST, BEHIND, decided("skip", 80)],
            "not skipped after all": [LAST, decided("skip", outcome=Outcome.FAILED), BEHIND],
        },
    ),
    (
        PartitionsAreInOrder(["g"], **WORDS),
        {"skipped": [LAST, settled("nack", attempt=3, serial=3), decided("skip"), OTHER]},
        {"given back for the last time": [LAST, settled("nack", attempt=3, serial=3), OTHER]},
    ),
    (
        EverythingIsDoneInTheEnd(dead_letter_queues=DLQ),
        {"skipped": [decided("skip"), *ACKS[1:]], "perhaps": [decided("skip", 40, Outcome.UNKNOWN), *ACKS[1:]]},
        {"released": [decided("release"), *ACKS[1:]], "skipped before a seek": [decided("skip", 10), sought(0, 20)]},
    ),
    (
        AcknowledgedIsNeverDeliveredAgain(),
        {"released": [decided("release"), AGAIN], "skipped, and sought": [decided("skip"), sought(0, 50), AGAIN]},
        {"skipped": [decided("skip"), AGAIN]},
    ),
    (
        OneLeaseAtATime(ordered_groups=["g"]),
        {"attempts begin anew": [delivered(0, 1, serial=1), settled("nack", serial=1), decided("release"), RELEASED]},
        {"one receipt for two": [delivered(0, 1, serial=1), settled("nack"), later(delivered(0, 1, serial=1), 50)]},
    ),
    (
        StaleReceiptsAreRefused(**WORDS),
        {
            "the newest, though its attempt is lower": [LAST, RELEASED, later(settled(serial=1_025), 60)],
            "an ack of what was skipped": [
                LAST,
                RELEASED,
                decided("skip", 70),
                later(settled(attempt=3, serial=3), 70),
            ],
        },
        {
            "one of before it was released": [LAST, RELEASED, later(settled(attempt=3, serial=3), 60)],
            "a nack of what was skipped": [
                LAST,
                RELEASED,
                decided("skip", 70),
                later(settled("nack", attempt=3, serial=3), 70),
            ],
        },
    ),
]


def _cases(column: int) -> list[Any]:
    return [
        pytest.param(row[0], [*WORLD, *events], id=f"{number}-{type(row[0]).__name__}-{name}")
        for number, row in enumerate(GOOD_AND_BAD)
        for name, events in (row[1], row[2])[column].items()
    ]


def _history(events: list[Event]) -> History:
    history = History()
    for event in sorted(events, key=lambda event: event.ended_ms):
        history.add(event)
    return history


@pytest.mark.parametrize(("checker", "events"), _cases(0))
def test_a_good_history_is_accepted(checker: Checker, events: list[Event]) -> None:
    assert checker.check(_history(events)) == []


@pytest.mark.parametrize(("checker", "events"), _cases(1))
def test_a_violation_is_caught(checker: Checker, events: list[Event]) -> None:
    assert checker.check(_history(events)) != []


def test_decisions_survive_json() -> None:
    history = _history([blocked(), decided("skip"), rested(50, 90), LAST])
    assert History.from_json_lines(history.to_json_lines()).events == history.events
