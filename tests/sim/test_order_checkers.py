"""Each checker of groups that keep an order accepts what is in order, and catches what is not."""

from typing import Any

import pytest

from cluster.model.values import GroupMode
from tests.sim.checkers import Checker
from tests.sim.delivery_checkers import OneLeaseAtATime
from tests.sim.history import (
    AutoAckedAnswerLost,
    Delivered,
    Event,
    History,
    MemberAsked,
    MemberGone,
    Outcome,
    PartitionOwned,
)
from tests.sim.options import OrderedGroup
from tests.sim.order_checkers import KeysAreInOrder, KeysStayInOrderWhereTheyMove, PartitionsAreInOrder
from tests.sim.owner_checkers import (
    EarlierOwnersAreRefused,
    OneOwnerAtATime,
    OwnersAreWaitedFor,
    OwnershipsAreOneProcesses,
)
from tests.sim.test_checkers import DLQ, ISLAND, REPLACED, delivered, later, log, record, sent, settled
from tests.sim.test_seek_checkers import sought

SESSION_MS = 3_000
HANDOVER_MS = 5_000
GROUPS = {
    "g": OrderedGroup(
        GroupMode.EXCLUSIVE,
        consumers=2,
        stay_ms=1_000,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=HANDOVER_MS,
    )
}
WORDS: dict[str, Any] = {"max_attempts": {"g": 3}, "dead_letter_queues": DLQ, "unnoticed_ms": 2_000}
REFUSALS: dict[str, Any] = {"max_attempts": {"g": 3}, "dead_letter_queues": DLQ}

SENT = [sent("m0", 0, key="a"), sent("m1", 1, key="b"), sent("m2", 2, key="a")]
LOG = log(record(0, "m0"), record(1, "m1"), record(2, "m2"))
WORLD: list[Event] = [*SENT, LOG]

FIRST, ACKED = delivered(0), settled(offset=0)  # at 10 and 20
SECOND, THIRD = later(delivered(1), 20), later(delivered(2), 20)  # at 30
NACKED = settled("nack")


def other(offset: int = 0, by_ms: float = 0, **changes: Any) -> Delivered:
    """Another consumer's, at 10 + `by_ms`."""
    changed: Delivered = later(delivered(offset, consumer="d", **changes), by_ms)
    return changed


def long(offset: int = 0, by_ms: float = 0, **changes: Any) -> Delivered:
    """Leased for longer than anything else here takes."""
    changed: Delivered = later(delivered(offset, visibility_ms=10_000, **changes), by_ms)
    return changed


def asked(member: str, at_ms: float, **changes: Any) -> MemberAsked:
    values: dict[str, Any] = {"began_ms": at_ms, "ended_ms": at_ms + 1, "group": "g", "member": member}
    return MemberAsked(**{**values, "outcome": Outcome.OK, **changes})


def gone(member: str, at_ms: float) -> MemberGone:
    return MemberGone(began_ms=at_ms, ended_ms=at_ms, group="g", member=member)


def owned(member: str, ownership: int, **changes: Any) -> PartitionOwned:
    values: dict[str, Any] = {"began_ms": 10, "ended_ms": 11, "group": "g", "member": member, "queue": "q"}
    return PartitionOwned(**{**values, "partition": 0, "ownership": ownership, **changes})


LOST = AutoAckedAnswerLost(began_ms=5, ended_ms=6, group="g", queue="q", messages_max=1)
HEARD = asked("c", 10)

MOVED = sent("m5", 0, key="a", partition=1, began_ms=5, ended_ms=6)
GROWN: list[Event] = [*WORLD, MOVED, log(record(0, "m5"), partition=1)]
ELSEWHERE = later(delivered(0, uid="m5", partition=1), 20)
BOTH_DONE = [FIRST, ACKED, delivered(2), later(settled(offset=2), 0)]

GOOD_AND_BAD: list[tuple[Checker, dict[str, list[Event]], dict[str, list[Event]]]] = [
    (
        KeysStayInOrderWhereTheyMove(["g"], **WORDS),
        {
            "all of its key are done": [*GROWN, *BOTH_DONE, ELSEWHERE],
            "one may be": [*GROWN, FIRST, ACKED, settled(offset=2, outcome=Outcome.UNKNOWN), ELSEWHERE],
            "its sender did not wait": [*WORLD, *GROWN[4:], sent("m5", 0, key="a", partition=1), ELSEWHERE],
            "it was sent before, and came again": [*GROWN, sent("m5", key="a"), ELSEWHERE],
            "of another key": [*GROWN, sent("m5", 0, key="c", partition=1), later(delivered(1, partition=1), 20)],
            "one was sought past": [*GROWN, sought(3, 15), later(ELSEWHERE, 200)],
            "of another group": [*GROWN, later(delivered(0, uid="m5", partition=1, group="h"), 20)],
        },
        {
            "none is done": [*GROWN, ELSEWHERE],
            "the last is not": [*GROWN, FIRST, ACKED, ELSEWHERE],
            "the last is, later": [*GROWN, FIRST, ACKED, delivered(2), later(settled(offset=2), 100), ELSEWHERE],
        },
    ),
    (
        KeysAreInOrder(["g"], **WORDS),
        {
            "the one before it is done": [*WORLD, FIRST, ACKED, THIRD],
            "its ack may have come through": [*WORLD, FIRST, settled(outcome=Outcome.UNKNOWN), THIRD],
            "done with its delivery": [*WORLD, delivered(is_auto_acked=True), THIRD],
            "perhaps in an answer that was lost": [*WORLD, LOST, THIRD],
            "both in one answer": [*WORLD, FIRST, delivered(2)],
            "of another key": [*WORLD, SECOND],
            "of no key": [sent("m0", 0), sent("m1", 1), LOG, SECOND],
            "its last attempt": [*WORLD, delivered(attempt=3), later(delivered(2), 200)],
            "a dead letter": [*WORLD, log(record(0, "m0"), queue="q.g.dlq"), THIRD],
            "skipped by a seek": [*WORLD, sought(1, 15), later(delivered(2), 200)],
            "maybe skipped by a seek": [*WORLD, sought(1, 15, outcome=Outcome.UNKNOWN), later(delivered(2), 200)],
            "with its delivery, around a seek back": [
                *WORLD,
                delivered(ended_ms=180, is_auto_acked=True),
                sought(0),
                later(delivered(2, generation=1), 200),
            ],
            "of another group": [*WORLD, later(delivered(2, group="h"), 20)],
            "again, when the one before it is done": [
                *WORLD,
                FIRST,
                delivered(2),
                ACKED,
                later(delivered(2, attempt=2), 200),
            ],
            "by a leader that may not have noticed": [ISLAND, REPLACED, *WORLD, THIRD],
        },
        {
            "the one before it never was": [*WORLD, THIRD],
            "the one before it is leased": [*WORLD, FIRST, THIRD],
            "the one before it was given back": [*WORLD, FIRST, NACKED, THIRD],
            "its ack was refused": [*WORLD, FIRST, settled(outcome=Outcome.FAILED), THIRD],
            "acked too late": [*WORLD, FIRST, THIRD, later(ACKED, 30)],
            "by another leader": [*WORLD, FIRST, later(delivered(2, leader_epoch=2), 20)],
            "done before a seek back": [*WORLD, FIRST, ACKED, sought(0), later(delivered(2, generation=1), 200)],
            "in another answer to the same": [*WORLD, FIRST, later(delivered(2), 1)],
            "though it was delivered again": [*WORLD, FIRST, delivered(2), NACKED, later(delivered(2, attempt=1), 30)],
            "by a leader that had long to notice": [ISLAND, REPLACED, *WORLD, later(THIRD, 2_000)],
        },
    ),
    (
        PartitionsAreInOrder(["g"], **WORDS),
        {
            "in order": [*WORLD, FIRST, SECOND, later(delivered(2), 40)],
            "one before it is done for the group": [*WORLD, FIRST, ACKED, later(delivered(1, generation=1), 20)],
            "again, in order, when one was given back": [
                *WORLD,
                FIRST,
                delivered(1),
                NACKED,
                later(delivered(0, attempt=2), 50),
                later(delivered(1), 50),
            ],
            "all again by another leader": [
                *WORLD,
                FIRST,
                later(delivered(0, leader_epoch=2), 50),
                later(delivered(1, leader_epoch=2), 50),
            ],
            "all again for another owner": [*WORLD, FIRST, other(0, 50, generation=1), other(1, 50, generation=1)],
            "before the one before it ran out": [*WORLD, FIRST, later(delivered(1), 100)],
            "before the one before it, which was extended, ran out": [
                *WORLD,
                FIRST,
                settled("extend", visibility_ms=500),
                later(delivered(1), 500),
            ],
            "an answer of before that came late": [
                *WORLD,
                other(0, 1, generation=1),
                delivered(0, ended_ms=200),
                delivered(1, ended_ms=200),
            ],
            "a dead letter given back": [*WORLD, delivered(0, 3), settled("nack", attempt=3), SECOND],
            "skipped by a seek": [*WORLD, sought(1, 15), later(delivered(1), 200)],
            "perhaps in an answer that was lost": [*WORLD, LOST, SECOND],
            "by a leader that may not have noticed": [ISLAND, REPLACED, *WORLD, SECOND],
        },
        {
            "the one before it never was": [*WORLD, SECOND],
            "not again by another leader": [*WORLD, FIRST, later(delivered(1, leader_epoch=2), 50)],
            "not again for another owner": [*WORLD, FIRST, other(1, 50, generation=1)],
            "the one before it was given back": [*WORLD, FIRST, NACKED, SECOND],
            "the one before it had run out": [*WORLD, FIRST, later(delivered(1), 120)],
            "one in between not again, with what was given back": [
                *WORLD,
                FIRST,
                delivered(1),
                NACKED,
                later(delivered(0, attempt=2), 50),
                later(delivered(2), 60),
            ],
            "done before a seek back": [*WORLD, FIRST, ACKED, sought(0), later(delivered(1, generation=1), 200)],
        },
    ),
    (
        OwnershipsAreOneProcesses(),
        {
            "one after the other": [owned("c", 1), owned("d", 2), owned("c", 3)],
            "seen twice": [owned("c", 1), owned("c", 1)],
            "another process of a static name": [owned("c", 1, instance="x"), owned("c", 2, instance="y")],
            "of two partitions": [owned("c", 1), owned("d", 1, partition=1)],
            "of two groups": [owned("c", 1), owned("d", 1, group="h")],
        },
        {
            "two members": [owned("c", 1), owned("d", 1)],
            "two processes of a static name": [owned("c", 1, instance="x"), owned("c", 1, instance="y")],
            "a number that comes again": [owned("c", 1), owned("d", 2), owned("d", 1)],
        },
    ),
    (
        OneOwnerAtATime(["g"], unnoticed_ms=2_000),
        {
            "one owner": [FIRST, SECOND],
            "one after the other": [FIRST, other(1, 20, generation=1)],
            "one after the other, and the first again": [
                FIRST,
                other(1, 20, generation=1),
                later(delivered(2, generation=2), 40),
            ],
            "of two partitions": [FIRST, other(0, partition=1)],
            "of two groups": [FIRST, other(0, group="h"), other(0, 10, group="h")],
            "answers that cross": [delivered(ended_ms=200), other(0, 20, generation=1)],
            "by a leader that may not have noticed": [ISLAND, REPLACED, other(generation=1), SECOND],
        },
        {
            "two in one generation": [FIRST, other(1, 20)],
            "the first again": [other(generation=1), SECOND],
            "by a leader that had long to notice": [ISLAND, REPLACED, other(generation=1), later(SECOND, 2_000)],
        },
    ),
    (
        EarlierOwnersAreRefused(["g"], **REFUSALS),
        {
            "before the next one received": [FIRST, ACKED, other(1, 20, generation=1)],
            "at the same moment": [FIRST, settled(began_ms=25, ended_ms=40), other(1, 20, generation=1)],
            "refused": [FIRST, other(generation=1), settled(outcome=Outcome.FAILED)],
            "of what is done": [FIRST, ACKED, other(1, 20, generation=1), later(ACKED, 50)],
            "of what the next one did": [FIRST, other(generation=1), settled(generation=1), later(ACKED, 50)],
            "of what a seek skipped": [FIRST, sought(1, 12), other(1, 5, generation=1), later(ACKED, 50)],
            "of another group": [delivered(group="h"), other(generation=1, group="h"), settled(group="h")],
        },
        {
            "an ack": [FIRST, other(1, generation=1), ACKED],
            "an ack of what the next one has": [FIRST, other(0, generation=1), ACKED],
            "a nack": [FIRST, ACKED, other(1, 20, generation=1), later(NACKED, 50)],
            "an extension": [FIRST, other(1, generation=1), settled("extend")],
        },
    ),
    (
        OwnersAreWaitedFor(GROUPS),
        {
            "it had nothing": [HEARD, long(), ACKED, other(1, 500, generation=1)],
            "its lease was over": [HEARD, FIRST, other(1, 500, generation=1)],
            "it gave back what was before": [
                HEARD,
                long(0),
                long(1),
                settled("nack"),
                other(0, 500, generation=1),
            ],
            "it left": [HEARD, long(), gone("c", 100), other(1, 500, generation=1)],
            "it was not heard": [HEARD, long(), other(1, SESSION_MS, generation=1)],
            "it had its time": [
                long(),
                *(asked("c", at_ms) for at_ms in range(0, HANDOVER_MS, 500)),
                other(1, HANDOVER_MS, generation=1),
            ],
            "its leader was replaced": [ISLAND, REPLACED, HEARD, long(), other(1, 500, generation=1, leader_epoch=2)],
            "the group sought": [HEARD, long(), sought(0, 50), other(0, 500, generation=1)],
            "it goes on itself": [HEARD, long(), long(1, 500, generation=1)],
        },
        {
            "it had a message": [HEARD, long(), other(1, 500, generation=1)],
            "it had another one": [HEARD, long(), long(1), ACKED, other(0, 500, generation=1)],
            "another one left": [HEARD, long(), gone("e", 100), other(1, 500, generation=1)],
            "it was heard in between": [HEARD, long(), asked("c", 2_000), other(1, SESSION_MS, generation=1)],
        },
    ),
    (
        OneLeaseAtATime(ordered_groups=["g"]),
        {
            "again with what was before it": [delivered(0), delivered(1), NACKED, later(delivered(1), 50)],
            "again, and again with what was before it": [
                delivered(0),
                delivered(1),
                NACKED,
                later(settled("nack", 1), 0),
                later(delivered(1), 50),
                later(delivered(2), 50),
                later(settled("nack", 1), 50),
                later(delivered(2), 80),
            ],
            "again as what was before it ran out, a little later than it could": [
                delivered(0),
                later(long(1), 105),
                later(long(1), 120),
            ],
            "again as what was before it ran out": [delivered(0), long(1), later(long(1), 120)],
        },
        {
            "twice": [delivered(1), later(delivered(1), 50)],
            "with what was done before it": [delivered(0), delivered(1), ACKED, later(delivered(1), 50)],
            "with what came again before it": [
                delivered(0),
                later(delivered(0, 2), 200),
                later(settled(attempt=2), 200),
                later(delivered(1), 230),
                later(delivered(1), 250),
            ],
            "with what is behind it": [delivered(0), delivered(1), settled("nack", 1), later(delivered(0), 50)],
            "in a group without an order": [
                delivered(0, group="h"),
                delivered(1, group="h"),
                settled("nack", group="h"),
                later(delivered(1, group="h"), 50),
            ],
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
def test_a_good_history_is_accepted(checker: Checker, events: list[Event]) -> None:
    assert checker.check(_history(events)) == []


@pytest.mark.parametrize(("checker", "events"), _cases(1))
def test_a_violation_is_caught(checker: Checker, events: list[Event]) -> None:
    assert checker.check(_history(events)) != []


def test_members_survive_json() -> None:
    history = _history([HEARD, gone("c", 20), owned("c", 1)])
    assert History.from_json_lines(history.to_json_lines()).events == history.events
