"""The checkers of pauses and of static names accept what may be, and catch what may not."""

import pytest

from cluster.model.values import GroupMode
from tests.sim.history import Event, History, MemberGone, Outcome, Paused, Resumed, StaticAsked
from tests.sim.options import OrderedGroup
from tests.sim.pause_checkers import GRACE_MS, PausedIsNotDelivered
from tests.sim.static_checkers import StaticNamesAreOneProcesses
from tests.sim.test_checkers import delivered, later

UNNOTICED_MS = 1_000
LATE_MS = 10 + GRACE_MS + UNNOTICED_MS
SESSION_MS = 3_000
GROUPS = {
    "g": OrderedGroup(
        GroupMode.EXCLUSIVE, consumers=2, stay_ms=1_000, session_timeout_ms=SESSION_MS, rebalance_timeout_ms=5_000
    )
}


def history_of(events: list[Event]) -> History:
    history = History()
    for event in events:
        history.add(event)
    return history


def paused(outcome: Outcome = Outcome.OK, *, queue: str = "", partitions: tuple[int, ...] = ()) -> Paused:
    return Paused(began_ms=0, ended_ms=10, group="g", queue=queue, partitions=list(partitions), outcome=outcome)


def resumed(at_ms: float, outcome: Outcome = Outcome.OK) -> Resumed:
    return Resumed(began_ms=at_ms, ended_ms=at_ms + 10, group="g", outcome=outcome)


QUEUE = delivered(0).queue
AFTER = later(delivered(0), LATE_MS + 100)


class TestPauses:
    @pytest.mark.parametrize("pause", [paused(), paused(queue=QUEUE), paused(queue=QUEUE, partitions=(0,))])
    def test_what_is_delivered_all_the_same_is_caught(self, pause: Paused) -> None:
        checker = PausedIsNotDelivered(unnoticed_ms=UNNOTICED_MS)
        assert len(checker.check(history_of([pause, AFTER]))) == 1
        assert len(checker.check(history_of([pause, AFTER, resumed(AFTER.ended_ms + 1)]))) == 1

    @pytest.mark.parametrize(
        "events",
        [
            [paused(), later(delivered(0), LATE_MS - 100)],  # its leader may not have heard of it
            [paused(), resumed(AFTER.began_ms - 1, Outcome.UNKNOWN), AFTER],
            [paused(Outcome.UNKNOWN), AFTER],
            [paused(queue="another"), AFTER],
            [paused(queue=QUEUE, partitions=(1,)), AFTER],
            [paused(), later(delivered(0, group="h"), LATE_MS + 100)],
        ],
    )
    def test_what_may_be_is_not(self, events: list[Event]) -> None:
        assert PausedIsNotDelivered(unnoticed_ms=UNNOTICED_MS).check(history_of(events)) == []


def asked(instance: str, what: str, at_ms: float, outcome: Outcome = Outcome.OK, *, member: str = "m") -> StaticAsked:
    return StaticAsked(
        began_ms=at_ms, ended_ms=at_ms + 10, group="g", member=member, instance=instance, what=what, outcome=outcome
    )


def gone(member: str, at_ms: float) -> MemberGone:
    return MemberGone(began_ms=at_ms, ended_ms=at_ms, group="g", member=member)


class TestStaticNames:
    def test_who_left_before_it_was_heard_again_is_there(self) -> None:
        events: list[Event] = [gone("m", 0), asked("one", "join", 10), asked("two", "join", 1_000)]
        assert len(StaticNamesAreOneProcesses(GROUPS).check(history_of(events))) == 1

    @pytest.mark.parametrize("heard", ["join", "heartbeat"])
    def test_a_second_process_beside_one_that_was_heard_is_caught(self, heard: str) -> None:
        events: list[Event] = [asked("one", heard, 0), asked("two", "join", 1_000)]
        assert len(StaticNamesAreOneProcesses(GROUPS).check(history_of(events))) == 1

    @pytest.mark.parametrize(
        "events",
        [
            [asked("one", "heartbeat", 0), asked("two", "join", SESSION_MS / 2)],
            [asked("one", "heartbeat", 0), asked("two", "join", 1_000, Outcome.FAILED)],
            [asked("one", "heartbeat", 0), asked("two", "join", 1_000, Outcome.UNKNOWN)],
            [asked("one", "heartbeat", 0, Outcome.UNKNOWN), asked("two", "join", 1_000)],
            [asked("one", "heartbeat", 0), asked("one", "join", 1_000)],
            [asked("one", "heartbeat", 0), asked("two", "join", 1_000, member="n")],
            [asked("one", "heartbeat", 0), asked("one", "step out", 500), asked("two", "join", 1_000)],
            [asked("one", "heartbeat", 0), gone("m", 500), asked("two", "join", 1_000)],
            [asked("one", "heartbeat", 0), asked("one", "step out", 500, Outcome.UNKNOWN), asked("two", "join", 1_000)],
        ],
    )
    def test_what_may_be_is_not(self, events: list[Event]) -> None:
        assert StaticNamesAreOneProcesses(GROUPS).check(history_of(events)) == []
