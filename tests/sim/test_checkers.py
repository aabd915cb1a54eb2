"""Each checker accepts a good history and catches a fabricated violation: a check that cannot fail is none."""

from typing import Any

import pytest

from tests.sim.checkers import Checker, check_all
from tests.sim.delivery_checkers import (
    AcknowledgedIsNeverDeliveredAgain,
    AttemptsAreLimited,
    AutoAckedIsDeliveredOnce,
    DeadLettersAreOnce,
    EverythingIsDoneInTheEnd,
    OneLeaseAtATime,
    ProgressNeverFalls,
    ReplayEqualsLiveState,
    StaleReceiptsAreRefused,
)
from tests.sim.history import (
    AutoAckedAnswerLost,
    Delivered,
    Elected,
    Event,
    Faulted,
    History,
    LogRead,
    Outcome,
    ProgressRead,
    ReadRecord,
    Sent,
    Settled,
)
from tests.sim.log_checkers import (
    AcknowledgedIsInTheLog,
    DuplicatesGetTheFirstAnswer,
    EpochsNeverFall,
    HighWatermarkNeverFalls,
    LogHasNoGaps,
    LogNeverChanges,
    NothingAboveTheHighWatermark,
    NothingAppearsByItself,
    NothingTwice,
    SendersKeepTheirOrder,
)
from tests.sim.options import LastingFault

DLQ = {("g", "q"): "q.g.dlq"}


def sent(uid: str, offset: int = -1, **changes: Any) -> Sent:
    outcome = Outcome.OK if offset >= 0 else Outcome.UNKNOWN
    values: dict[str, Any] = {
        "began_ms": 0,
        "ended_ms": 1,
        "sender": "s",
        "request": int(uid[1:]),
        "index": 0,
        "uid": uid,
        "queue": "q",
        "body": f"<{uid}>",
        "outcome": outcome,
        "partition": 0 if offset >= 0 else -1,
        "offset": offset,
        "epoch": 1 if offset >= 0 else -1,
    }
    return Sent(**{**values, **changes})


def log(*records: ReadRecord, **changes: Any) -> LogRead:
    end = records[-1].offset + 1 if records else 0
    values: dict[str, Any] = {
        "began_ms": 900,
        "ended_ms": 901,
        "reader": "r",
        "queue": "q",
        "partition": 0,
        "offset": 0,
        "next_offset": end,
        "log_start": 0,
        "high_watermark": end,
        "records": list(records),
        "is_final": True,
    }
    return LogRead(**{**values, **changes})


def record(offset: int, uid: str, *, epoch: int = 1, body: str | None = None) -> ReadRecord:
    return ReadRecord(offset, epoch, uid, f"<{uid}>" if body is None else body)


def delivered(offset: int = 0, attempt: int = 1, **changes: Any) -> Delivered:
    values: dict[str, Any] = {
        "began_ms": 10,
        "ended_ms": 11,
        "group": "g",
        "consumer": "c",
        "queue": "q",
        "partition": 0,
        "offset": offset,
        "epoch": 1,
        "uid": f"m{offset}",
        "body": f"<m{offset}>",
        "attempt": attempt,
        "generation": 0,
        "leader_epoch": 1,
        "visibility_ms": 100,
    }
    return Delivered(**{**values, **changes})


def settled(action: str = "ack", offset: int = 0, attempt: int = 1, **changes: Any) -> Settled:
    values: dict[str, Any] = {
        "began_ms": 20,
        "ended_ms": 21,
        "action": action,
        "group": "g",
        "queue": "q",
        "partition": 0,
        "offset": offset,
        "generation": 0,
        "leader_epoch": 1,
        "attempt": attempt,
        "outcome": Outcome.OK,
    }
    return Settled(**{**values, **changes})


def progress(at: int, **changes: Any) -> ProgressRead:
    values: dict[str, Any] = {
        "began_ms": 30,
        "ended_ms": 31,
        "group": "g",
        "queue": "q",
        "partition": 0,
        "leader_epoch": 1,
        "high_watermark": 1,
        "progress": at,
        "done_above": 0,
        "in_flight": 0,
        "dead_lettered": 0,
    }
    return ProgressRead(**{**values, **changes})


def later(event: Any, by_ms: float) -> Any:
    return type(event)(
        **{
            **{name: getattr(event, name) for name in event.__struct_fields__},
            "began_ms": event.began_ms + by_ms,
            "ended_ms": event.ended_ms + by_ms,
        }
    )


AGAIN = later(delivered(attempt=2), 50)  # while the first lease, until 110, lives
EXPIRED = later(delivered(attempt=2), 200)
ISLAND = Faulted(began_ms=0, ended_ms=0, kind=LastingFault.ISLAND_WITHOUT_STORE.value)
REPLACED = Elected(began_ms=10, ended_ms=10, queue="q", partition=0, epoch=2, leader=2)

GOOD_AND_BAD: list[tuple[Checker, dict[str, list[Event]], dict[str, list[Event]]]] = [
    (
        AcknowledgedIsInTheLog(),
        {
            "stored": [sent("m0", 0), log(record(0, "m0"))],
            "unknown and absent": [sent("m0"), log()],
        },
        {
            "lost": [sent("m0", 0), log()],
            "another message there": [sent("m0", 0), log(record(0, "m1"))],
            "other bytes": [sent("m0", 0), log(record(0, "m0", body="?"))],
            "other epoch": [sent("m0", 0), log(record(0, "m0", epoch=2))],
            "in another partition": [sent("m0", 0), log(record(0, "m0"), partition=1)],
            "only in an early read": [sent("m0", 0), log(record(0, "m0"), is_final=False)],
        },
    ),
    (
        NothingAppearsByItself(ignored_queues=["ignored"]),
        {
            "sent": [sent("m0", 0), log(record(0, "m0"))],
            "unknown but stored": [sent("m0"), log(record(0, "m0"))],
            "failed, then sent again": [
                sent("m0", outcome=Outcome.FAILED),
                sent("m0", 0),
                log(record(0, "m0")),
            ],
            "in an ignored queue": [log(record(0, "m0"), queue="ignored")],
        },
        {
            "never sent": [log(record(0, "m0"))],
            "sent to another queue": [sent("m0", 0, queue="p"), log(record(0, "m0"))],
            "other bytes": [sent("m0", 0), log(record(0, "m0", body="?"))],
            "failed, but stored": [sent("m0", outcome=Outcome.FAILED), log(record(0, "m0"))],
        },
    ),
    (
        NothingTwice(dedup_window_ms=100),
        {
            "once": [sent("m0", 0), log(record(0, "m0"))],
            "twice, sent twice": [sent("m0"), sent("m0", 1), log(record(0, "m0"), record(1, "m0"))],
            "deduplicated": [sent("m0", dedup_id="d"), sent("m0", 0, dedup_id="d"), log(record(0, "m0"))],
            "twice, beyond the window": [
                sent("m0", dedup_id="d"),
                later(sent("m0", 0, dedup_id="d"), 200),
                log(record(0, "m0"), record(1, "m0")),
            ],
        },
        {
            "sent once, stored twice": [sent("m0", 0), log(record(0, "m0"), record(1, "m0"))],
            "one of two sends failed": [
                sent("m0", outcome=Outcome.FAILED),
                sent("m0", 0),
                log(record(0, "m0"), record(1, "m0")),
            ],
            "not deduplicated": [
                sent("m0", dedup_id="d"),
                sent("m0", 1, dedup_id="d"),
                log(record(0, "m0"), record(1, "m0")),
            ],
            "in two partitions": [sent("m0", 0), log(record(0, "m0")), log(record(0, "m0"), partition=1)],
        },
    ),
    (
        DuplicatesGetTheFirstAnswer(dedup_window_ms=100),
        {
            "the same": [sent("m0", 0, dedup_id="d"), sent("m0", 0, dedup_id="d")],
            "another, beyond the window": [sent("m0", 0, dedup_id="d"), later(sent("m0", 7, dedup_id="d"), 200)],
        },
        {
            "another offset": [sent("m0", 0, dedup_id="d"), sent("m0", 1, dedup_id="d")],
            "another partition": [sent("m0", 0, dedup_id="d"), sent("m0", 0, dedup_id="d", partition=1)],
        },
    ),
    (
        SendersKeepTheirOrder(),
        {
            "in order": [sent("m1", 0), sent("m2", 1)],
            "two partitions": [sent("m1", 5), sent("m2", 1, partition=1)],
            "two senders": [sent("m1", 5), sent("m2", 1, sender="t")],
            "two keys in one request": [sent("m1", 5, request=1, key="a"), sent("m2", 1, request=1, index=1)],
            "one of them sent again": [sent("m1"), sent("m2", 1), sent("m1", 2, request=3)],
        },
        {
            "swapped": [sent("m1", 1), sent("m2", 0)],
            "swapped within a batch": [sent("m1", 1, request=1, index=0), sent("m2", 0, request=1, index=1)],
            "swapped within a batch, for a key": [
                sent("m1", 1, request=1, key="k"),
                sent("m2", 0, request=1, index=1, key="k"),
            ],
            "two keys in two requests": [sent("m1", 1, key="a"), sent("m2", 0, key="b")],
            "after the last, not after the first": [sent("m1", 1), sent("m2", 9), sent("m3", 5)],
            "at one offset": [sent("m1", 1), sent("m2", 1)],
        },
    ),
    (
        LogNeverChanges(),
        {"the same": [log(record(0, "m0")), delivered(0), log(record(0, "m0"))]},
        {
            "another message": [log(record(0, "m0"), is_final=False), log(record(0, "m1"))],
            "another epoch": [log(record(0, "m0"), is_final=False), log(record(0, "m0", epoch=2))],
            "other bytes delivered": [delivered(0, body="?"), log(record(0, "m0"))],
            "delivered differently": [delivered(0), delivered(0, attempt=2, uid="m7")],
        },
    ),
    (
        LogHasNoGaps(),
        {"whole": [log(record(0, "m0"), record(1, "m1", epoch=2))]},
        {
            "a gap": [log(record(0, "m0"), record(2, "m1"))],
            "an offset twice": [log(record(0, "m0"), record(0, "m1"))],
            "an epoch that falls": [log(record(0, "m0", epoch=2), record(1, "m1", epoch=1))],
            "a final read that ends early": [log(record(0, "m0"), high_watermark=2)],
        },
    ),
    (
        HighWatermarkNeverFalls(),
        {
            "rising": [log(high_watermark=1, next_offset=1), later(log(high_watermark=2, next_offset=2), 10)],
            "at the same time": [log(high_watermark=2), log(high_watermark=1)],
            "of two partitions": [log(high_watermark=2), later(log(high_watermark=1, partition=1), 10)],
        },
        {
            "falling": [log(high_watermark=2), later(log(high_watermark=1), 10)],
            "falling between a read and a look": [
                later(log(high_watermark=2), -890),
                progress(0, high_watermark=1),
            ],
            "falling below the highest, not below the last": [
                log(high_watermark=3),
                later(log(high_watermark=1), 0.5),
                later(log(high_watermark=2), 10),
            ],
        },
    ),
    (
        EpochsNeverFall(),
        {"rising": [progress(0, leader_epoch=1), later(progress(0, leader_epoch=2), 10)]},
        {"falling": [progress(0, leader_epoch=2), later(progress(0, leader_epoch=1), 10)]},
    ),
    (
        NothingAboveTheHighWatermark(),
        {"below": [log(record(0, "m0")), delivered(0)]},
        {
            "a record above": [log(record(0, "m0"), high_watermark=0, next_offset=0)],
            "a place beyond": [log(next_offset=5, high_watermark=4)],
            "a delivery beyond the log": [delivered(1), log(record(0, "m0"))],
        },
    ),
    (
        OneLeaseAtATime(),
        {
            "expired": [delivered(), EXPIRED],
            "given back": [delivered(), settled("nack"), AGAIN],
            "perhaps given back": [delivered(), settled("nack", outcome=Outcome.UNKNOWN), AGAIN],
            "another group": [delivered(), later(delivered(group="h"), 50)],
            "after a failover": [delivered(), later(delivered(leader_epoch=2), 50)],
            "at the same time as the answer": [delivered(), later(delivered(attempt=2), 1)],
            "earlier by what clocks leave out": [delivered(), later(delivered(attempt=2), 97)],
            "extended to a shorter time": [
                delivered(),
                settled("extend", visibility_ms=5),
                AGAIN,
            ],
        },
        {
            "again at once": [delivered(), AGAIN],
            "too early by a millisecond more than that": [delivered(), later(delivered(attempt=2), 96)],
            "given back in vain": [delivered(), settled("nack", outcome=Outcome.FAILED), AGAIN],
            "again within an extension": [delivered(), settled("extend", visibility_ms=1000), EXPIRED],
            "one attempt twice": [delivered(), later(delivered(), 500)],
        },
    ),
    (
        StaleReceiptsAreRefused(max_attempts={"g": 3}, dead_letter_queues=DLQ),
        {
            "before the newer lease": [delivered(), settled(), EXPIRED],
            "by the newer receipt": [delivered(), EXPIRED, later(settled(attempt=2), 300)],
            "refused": [delivered(), EXPIRED, later(settled(outcome=Outcome.FAILED), 300)],
            "done meanwhile": [
                delivered(),
                EXPIRED,
                later(settled(attempt=2), 300),
                later(settled(), 400),
            ],
            "forgotten by an election": [
                delivered(),
                EXPIRED,
                Elected(began_ms=250, ended_ms=250, queue="q", partition=0, epoch=99, leader=2),
                later(settled(), 300),
            ],
            "perhaps dead-lettered meanwhile": [
                delivered(),
                later(delivered(attempt=3), 200),
                later(settled(), 300),
            ],
            "perhaps dead-lettered before the last delivery was answered": [
                delivered(),
                EXPIRED,
                later(settled(), 300),
                delivered(attempt=3, began_ms=220, ended_ms=400),
            ],
            "dead-lettered though nobody got the last delivery": [
                delivered(),
                EXPIRED,
                later(settled(), 300),
                log(record(0, "m0"), queue="q.g.dlq"),
            ],
            "perhaps acknowledged with a delivery that nobody got": [
                delivered(),
                EXPIRED,
                AutoAckedAnswerLost(began_ms=220, ended_ms=230, group="g", queue="q", messages_max=1),
                later(settled(), 300),
            ],
            "perhaps done meanwhile": [
                delivered(),
                EXPIRED,
                later(settled(attempt=2, outcome=Outcome.UNKNOWN), 300),
                later(settled(), 400),
            ],
        },
        {
            "an old ack": [delivered(), EXPIRED, later(settled(), 300)],
            "an old ack after an election before the newer lease": [
                delivered(),
                Elected(began_ms=150, ended_ms=150, queue="q", partition=0, epoch=2, leader=2),
                later(delivered(leader_epoch=2), 200),
                later(settled(), 300),
            ],
            "an old ack after an election of another partition": [
                delivered(),
                EXPIRED,
                Elected(began_ms=250, ended_ms=250, queue="q", partition=1, epoch=99, leader=2),
                later(settled(), 300),
            ],
            "an old nack": [delivered(), EXPIRED, later(settled("nack"), 300)],
            "an old extension": [delivered(), EXPIRED, later(settled("extend"), 300)],
            "of an older epoch": [
                delivered(),
                later(delivered(leader_epoch=2), 200),
                later(settled(), 300),
            ],
            "an old nack after it was dead-lettered": [
                delivered(),
                later(delivered(attempt=3), 200),
                later(settled("nack"), 300),
            ],
            "an old ack before the last delivery": [
                delivered(),
                EXPIRED,
                later(settled(), 300),
                later(delivered(attempt=3), 400),
            ],
            "an old ack though another was dead-lettered": [
                delivered(),
                EXPIRED,
                later(settled(), 300),
                log(record(0, "m1"), queue="q.g.dlq"),
            ],
            "an old ack though it was dead-lettered for another group": [
                delivered(),
                EXPIRED,
                later(settled(), 300),
                log(record(0, "m0"), queue="q.h.dlq"),
            ],
            "an old ack before an acknowledged delivery that nobody got": [
                delivered(),
                EXPIRED,
                later(settled(), 300),
                AutoAckedAnswerLost(began_ms=420, ended_ms=430, group="g", queue="q", messages_max=1),
            ],
            "an old nack after it was done": [
                delivered(),
                EXPIRED,
                later(settled(attempt=2), 300),
                later(settled("nack"), 400),
            ],
        },
    ),
    (
        AcknowledgedIsNeverDeliveredAgain(unnoticed_ms=1_000),
        {
            "by a leader that could not notice": [
                ISLAND,
                REPLACED,
                later(delivered(leader_epoch=2), 20),
                later(settled(leader_epoch=2), 20),
                later(delivered(), 990),
            ],
            "acked at last": [delivered(), EXPIRED, later(settled(attempt=2), 300)],
            "perhaps acked": [delivered(), settled(outcome=Outcome.UNKNOWN), EXPIRED],
            "a receive that had begun": [delivered(), settled(), delivered(attempt=2, ended_ms=500)],
            "another group": [delivered(), settled(), later(delivered(group="h"), 200)],
        },
        {
            "by a leader that should have noticed": [
                ISLAND,
                REPLACED,
                later(delivered(leader_epoch=2), 20),
                later(settled(leader_epoch=2), 20),
                later(delivered(), 1_020),
            ],
            "by a leader that was replaced before the cut": [
                REPLACED,
                later(ISLAND, 15),
                later(delivered(leader_epoch=2), 20),
                later(settled(leader_epoch=2), 20),
                later(delivered(), 100),
            ],
            "again": [delivered(), settled(), EXPIRED],
            "again after a failover": [delivered(), settled(), later(delivered(leader_epoch=2), 200)],
            "again after autoAck": [delivered(is_auto_acked=True), EXPIRED],
        },
    ),
    (
        AttemptsAreLimited(max_attempts={"g": 2}),
        {"up to the limit": [delivered(attempt=1), delivered(attempt=2)]},
        {"beyond": [delivered(attempt=3)], "zero": [delivered(attempt=0)]},
    ),
    (
        EverythingIsDoneInTheEnd(dead_letter_queues=DLQ),
        {
            "acked": [settled(), log(record(0, "m0"))],
            "perhaps acked": [settled(outcome=Outcome.UNKNOWN), log(record(0, "m0"))],
            "autoAcked": [delivered(is_auto_acked=True), log(record(0, "m0"))],
            "dead-lettered": [log(record(0, "m0")), log(record(0, "m0"), queue="q.g.dlq")],
            "in a lost answer": [
                AutoAckedAnswerLost(began_ms=0, ended_ms=1, group="g", queue="q", messages_max=1),
                log(record(0, "m0")),
            ],
        },
        {
            "never": [log(record(0, "m0"))],
            "ack refused": [settled(outcome=Outcome.FAILED), log(record(0, "m0"))],
            "acked for another group": [settled(group="h"), log(record(0, "m0"))],
            "dead-lettered for another group": [log(record(0, "m0")), log(record(0, "m0"), queue="q.h.dlq")],
            "more than a lost answer had": [
                AutoAckedAnswerLost(began_ms=0, ended_ms=1, group="g", queue="q", messages_max=1),
                log(record(0, "m0"), record(1, "m1")),
            ],
            "progress behind": [settled(), log(record(0, "m0")), progress(0, is_final=True)],
            "still leased": [settled(), log(record(0, "m0")), progress(1, in_flight=1, is_final=True)],
        },
    ),
    (
        AutoAckedIsDeliveredOnce(),
        {"once for each group": [delivered(is_auto_acked=True), delivered(is_auto_acked=True, group="h")]},
        {"twice": [delivered(is_auto_acked=True), delivered(is_auto_acked=True)]},
    ),
    (
        DeadLettersAreOnce(dead_letter_queues=DLQ),
        {
            "once": [log(record(0, "m0")), log(record(0, "m0"), queue="q.g.dlq")],
            "as often as in the source": [
                log(record(0, "m0"), record(1, "m0")),
                log(record(0, "m0"), record(1, "m0"), queue="q.g.dlq"),
            ],
        },
        {
            "twice": [log(record(0, "m0")), log(record(0, "m0"), record(1, "m0"), queue="q.g.dlq")],
            "from nowhere": [log(record(0, "m0"), queue="q.g.dlq")],
        },
    ),
    (
        ProgressNeverFalls(),
        {
            "rising": [progress(1), later(progress(2), 10)],
            "of two groups": [progress(2), later(progress(1, group="h"), 10)],
        },
        {"falling": [progress(2), later(progress(1), 10)]},
    ),
    (
        ReplayEqualsLiveState(),
        {
            "equal": [progress(1, is_final=True), progress(1, is_final=True)],
            "only the last two count": [
                progress(0, is_final=True),
                progress(1, is_final=True),
                progress(1, is_final=True),
            ],
        },
        {
            "progress": [progress(1, is_final=True), progress(0, is_final=True)],
            "holes": [progress(1, is_final=True, done_above=1), progress(1, is_final=True)],
            "dead letters": [progress(1, is_final=True, dead_lettered=1), progress(1, is_final=True)],
            "one look only": [progress(1, is_final=True)],
        },
    ),
]
GOOD = [(checker, name, events) for checker, good, _ in GOOD_AND_BAD for name, events in good.items()]
BAD = [(checker, name, events) for checker, _, bad in GOOD_AND_BAD for name, events in bad.items()]


def _id(value: object) -> str | None:
    return value if isinstance(value, str) else type(value).__name__ if not isinstance(value, list) else ""


def _history(events: list[Event]) -> History:
    history = History()
    for event in events:
        history.add(event)
    return history


@pytest.mark.parametrize(("checker", "name", "events"), GOOD, ids=_id)
def test_a_good_history_is_accepted(checker: Checker, name: str, events: list[Event]) -> None:
    assert checker.check(_history(events)) == []


@pytest.mark.parametrize(("checker", "name", "events"), BAD, ids=_id)
def test_a_violation_is_caught(checker: Checker, name: str, events: list[Event]) -> None:
    assert checker.check(_history(events)) != []


def test_violations_name_their_checker() -> None:
    checkers: list[Checker] = [AcknowledgedIsInTheLog(), LogHasNoGaps()]
    (violation,) = check_all(_history([sent("m0", 0), log()]), checkers)
    assert violation.startswith("AcknowledgedIsInTheLog: m0 ")


def test_a_history_survives_json() -> None:
    lost = AutoAckedAnswerLost(began_ms=0, ended_ms=1, group="g", queue="q", messages_max=1)
    events: list[Event] = [
        sent("m0", 0, key="k", dedup_id="d"),
        delivered(),
        settled("nack", outcome=Outcome.UNKNOWN),
        lost,
        log(record(0, "m0")),
        progress(1),
        Faulted(began_ms=1, ended_ms=1, kind="kill"),
    ]
    history = _history(events)
    assert History.from_json_lines(history.to_json_lines()).events == events
