"""Topics of one name that follow each other are told apart, and each is judged as long as it lasts."""

from typing import Any

from msgspec.structs import replace

from tests.sim.cluster.passing_judgement import LATE_MS, judge_passing
from tests.sim.cluster.passing_topic import GROUP, Life
from tests.sim.cluster.stage import calm_options
from tests.sim.history import Delivered, Event, History, Outcome, Sent
from tests.sim.queue_label import PASSING, is_passing, queue_label
from tests.sim.test_checkers import delivered, later, sent, settled

OLD, NEW = f"{PASSING} old", f"{PASSING} new"
LIVES = [Life(OLD, 0, 100), Life(NEW, 200, None)]
UNKNOWN = sent("m0", queue=PASSING)
STORED_IN_OLD = sent("m0", 0, queue=OLD)


def judge(*events: Event) -> list[str]:
    history = History()
    for event in sorted(events, key=lambda event: event.ended_ms):
        history.add(event)
    return judge_passing(history, LIVES, calm_options(1), has_final_looks=False)


def delivery(label: str, at_ms: float, **changes: Any) -> Delivered:
    moved: Delivered = later(delivered(queue=label, group=GROUP, **changes), at_ms)
    return moved


def test_a_message_of_the_deleted_topic_must_not_be_in_the_new_one() -> None:
    assert judge(STORED_IN_OLD, delivery(OLD, 20)) == []
    (violation,) = judge(STORED_IN_OLD, delivery(NEW, 300))
    assert violation == f"NothingOutlivesItsTopic: m0 is in {NEW}, and was never sent to it"


def test_a_send_of_which_nobody_knows_the_topic_may_have_reached_either() -> None:
    assert judge(UNKNOWN, delivery(NEW, 300)) == []
    assert judge(replace(UNKNOWN, outcome=Outcome.FAILED), delivery(NEW, 300)) != []
    long_ago = replace(UNKNOWN, began_ms=-LATE_MS, ended_ms=100 - LATE_MS)
    assert judge(long_ago, delivery(OLD, 20)) == []
    assert judge(long_ago, delivery(NEW, 300)) != []


def test_a_topic_is_judged_until_its_deletion_was_asked_for() -> None:
    ack = settled(queue=OLD, group=GROUP)
    assert judge(STORED_IN_OLD, delivery(OLD, 0), ack, delivery(OLD, 50, attempt=2)) != []
    assert judge(STORED_IN_OLD, delivery(OLD, 0), ack, delivery(OLD, 100, attempt=2)) == []


def test_the_last_topic_is_judged_to_the_end() -> None:
    stored = later(sent("m0", 0, queue=NEW), 200)
    ack = later(settled(queue=NEW, group=GROUP), 300)
    assert judge(stored, delivery(NEW, 300), ack, delivery(NEW, 400, attempt=2)) != []


def test_labels() -> None:
    assert queue_label(PASSING, "id") == f"{PASSING} id"
    assert queue_label("orders", "id") == "orders"
    assert is_passing(f"{PASSING}.{GROUP}.dlq")
    assert not is_passing("orders")
    assert isinstance(UNKNOWN, Sent)
