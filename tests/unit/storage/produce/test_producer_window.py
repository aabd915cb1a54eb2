import pytest

from acklog.wire.limits import PRODUCE_RETRIES_MS
from storage.produce.producer_window import BatchStanding, Known, ProducerWindow, ProducerWindowSettings

WINDOW_MS = PRODUCE_RETRIES_MS + 1000
SETTINGS = ProducerWindowSettings(window_ms=WINDOW_MS, entries_per_producer_max=8, producers_max=3)
EPOCH = 4


@pytest.fixture
def window() -> ProducerWindow:
    return ProducerWindow(SETTINGS)


def append(window: ProducerWindow, producer_id: int, sequence: int, offset: int, *, now_ms: int = 0) -> None:
    window.begin(producer_id, sequence, now_ms=now_ms)
    window.commit(
        producer_id, sequence, base_offset=offset, leader_epoch=EPOCH, append_time_ms=offset + 7, now_ms=now_ms
    )
    window.check_invariants()


def note(window: ProducerWindow, producer_id: int, sequence: int, offset: int, *, age_ms: int, now_ms: int) -> None:
    window.note(
        producer_id,
        sequence,
        base_offset=offset,
        leader_epoch=EPOCH,
        append_time_ms=offset + 7,
        age_ms=age_ms,
        now_ms=now_ms,
    )
    window.check_invariants()


def retry(window: ProducerWindow, producer_id: int, sequence: int, *, now_ms: int = 0) -> Known | BatchStanding:
    return window.check(producer_id, sequence, is_retry=True, now_ms=now_ms)


def first_try(window: ProducerWindow, producer_id: int, sequence: int, *, now_ms: int = 0) -> Known | BatchStanding:
    return window.check(producer_id, sequence, is_retry=False, now_ms=now_ms)


def test_a_batch_is_absent_then_in_flight_then_known(window: ProducerWindow) -> None:
    assert first_try(window, 1, 0) is BatchStanding.ABSENT
    window.begin(1, 0, now_ms=0)
    assert retry(window, 1, 0) is BatchStanding.IN_FLIGHT
    window.commit(1, 0, base_offset=20, leader_epoch=EPOCH, append_time_ms=9, now_ms=0)
    assert retry(window, 1, 0) == first_try(window, 1, 0) == Known(20, EPOCH, 9)


def test_the_retry_of_a_batch_that_never_came_is_absent_also_from_an_unknown_producer(window: ProducerWindow) -> None:
    assert retry(window, 1, 5) is BatchStanding.ABSENT
    append(window, 1, 9, 0)
    assert retry(window, 1, 5) is retry(window, 1, 12) is BatchStanding.ABSENT


def test_an_append_that_failed_may_come_again(window: ProducerWindow) -> None:
    window.begin(1, 0, now_ms=0)
    window.abort(1, 0)
    assert retry(window, 1, 0) is BatchStanding.ABSENT
    append(window, 1, 0, 3)


def test_sequences_may_overtake_each_other(window: ProducerWindow) -> None:
    for offset, sequence in enumerate((4, 0, 3, 1, 2)):
        append(window, 1, sequence, offset)
    assert [retry(window, 1, sequence) for sequence in range(5)] == [
        Known(offset, EPOCH, offset + 7) for offset in (1, 3, 4, 2, 0)
    ]


def test_producers_do_not_meet(window: ProducerWindow) -> None:
    append(window, 1, 0, 0)
    append(window, 2, 0, 1)
    assert (retry(window, 1, 0), retry(window, 2, 0)) == (Known(0, EPOCH, 7), Known(1, EPOCH, 8))


def test_nothing_is_begun_twice_or_ended_unbegun(window: ProducerWindow) -> None:
    window.begin(1, 0, now_ms=0)
    with pytest.raises(ValueError, match="already"):
        window.begin(1, 0, now_ms=0)
    window.commit(1, 0, base_offset=0, leader_epoch=EPOCH, append_time_ms=0, now_ms=0)
    with pytest.raises(ValueError, match="already"):
        window.begin(1, 0, now_ms=0)
    with pytest.raises(KeyError):
        window.abort(1, 0)
    with pytest.raises(KeyError):
        window.commit(1, 1, base_offset=0, leader_epoch=EPOCH, append_time_ms=0, now_ms=0)


def test_what_was_forgotten_to_save_memory_is_too_old(window: ProducerWindow) -> None:
    for sequence in range(9):
        append(window, 1, sequence, sequence)
    assert window.entry_count == 7
    assert retry(window, 1, 0) is retry(window, 1, 1) is BatchStanding.TOO_OLD
    assert first_try(window, 1, 1) is BatchStanding.TOO_OLD, "its own retry may have overtaken it"
    assert retry(window, 1, 2) == Known(2, EPOCH, 9)
    assert retry(window, 1, 9) is BatchStanding.ABSENT


def test_a_silent_producer_is_forgotten_after_its_window_and_not_before(window: ProducerWindow) -> None:
    append(window, 1, 0, 0)
    assert isinstance(retry(window, 1, 0, now_ms=WINDOW_MS - 1), Known)
    assert retry(window, 1, 0, now_ms=WINDOW_MS) is BatchStanding.ABSENT
    assert window.producer_count == 0


def test_one_with_an_append_in_flight_is_not_forgotten(window: ProducerWindow) -> None:
    window.begin(1, 0, now_ms=0)
    assert retry(window, 1, 0, now_ms=10 * WINDOW_MS) is BatchStanding.IN_FLIGHT
    for producer_id in range(2, 9):
        append(window, producer_id, 0, producer_id)
    assert retry(window, 1, 0) is BatchStanding.IN_FLIGHT


def test_one_producer_too_many_costs_the_longest_silent_and_the_trust_in_unknown_retries(
    window: ProducerWindow,
) -> None:
    for producer_id in (1, 2, 3):
        append(window, producer_id, 0, producer_id, now_ms=producer_id)
    append(window, 1, 1, 10, now_ms=4)
    append(window, 4, 0, 11, now_ms=5)
    assert window.producer_count == 3
    assert retry(window, 2, 0, now_ms=5) is BatchStanding.TOO_OLD
    append(window, 2, 7, 12, now_ms=6)
    assert retry(window, 2, 0, now_ms=6) is BatchStanding.TOO_OLD, "that it is known again changes nothing"
    assert retry(window, 1, 0, now_ms=6) == Known(1, EPOCH, 8)
    assert first_try(window, 9, 0, now_ms=6) is BatchStanding.ABSENT
    assert retry(window, 9, 0, now_ms=3 + WINDOW_MS - 1) is BatchStanding.TOO_OLD
    assert retry(window, 9, 0, now_ms=3 + WINDOW_MS) is BatchStanding.ABSENT


def test_more_producers_than_allowed_only_while_all_of_them_have_appends_in_flight(window: ProducerWindow) -> None:
    for producer_id in range(5):
        window.begin(producer_id, 0, now_ms=0)
    assert window.producer_count == 5
    for producer_id in range(5):
        window.abort(producer_id, 0)
        window.check_invariants()
    assert window.producer_count == 3


def test_a_follower_knows_what_it_replicated_and_not_what_it_cut_off(window: ProducerWindow) -> None:
    for sequence in range(6):
        note(window, 1 + sequence % 2, sequence, 10 * sequence, age_ms=0, now_ms=0)
    window.truncate_to(30)
    window.check_invariants()
    assert [isinstance(retry(window, 1 + sequence % 2, sequence), Known) for sequence in range(6)] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    assert retry(window, 2, 3) is BatchStanding.ABSENT
    note(window, 2, 3, 35, age_ms=0, now_ms=0)
    assert retry(window, 2, 3) == Known(35, EPOCH, 42)


def test_the_later_place_counts_for_a_batch_that_was_cut_off_elsewhere(window: ProducerWindow) -> None:
    note(window, 1, 0, 5, age_ms=0, now_ms=0)
    note(window, 1, 0, 3, age_ms=0, now_ms=0)
    assert retry(window, 1, 0) == Known(3, EPOCH, 10)


def test_what_is_old_already_is_not_learnt(window: ProducerWindow) -> None:
    note(window, 1, 0, 0, age_ms=WINDOW_MS, now_ms=5)
    assert window.producer_count == 0
    note(window, 1, 0, 0, age_ms=WINDOW_MS - 1, now_ms=5)
    assert isinstance(retry(window, 1, 0, now_ms=5), Known)
    assert retry(window, 1, 0, now_ms=6) is BatchStanding.ABSENT
    note(window, 1, 1, 0, age_ms=-50, now_ms=6)
    assert isinstance(retry(window, 1, 1, now_ms=5 + WINDOW_MS), Known), "a clock that went back forgets nothing early"


def test_after_a_gap_no_retry_is_taken_for_a_window(window: ProducerWindow) -> None:
    append(window, 1, 0, 0)
    window.forget_all(now_ms=10)
    assert retry(window, 1, 0, now_ms=10) is BatchStanding.TOO_OLD
    assert first_try(window, 1, 1, now_ms=10) is BatchStanding.ABSENT
    append(window, 1, 1, 1, now_ms=10)
    assert isinstance(retry(window, 1, 1, now_ms=10), Known)
    assert retry(window, 1, 0, now_ms=9 + WINDOW_MS) is BatchStanding.TOO_OLD
    assert retry(window, 1, 0, now_ms=10 + WINDOW_MS) is BatchStanding.ABSENT


@pytest.mark.parametrize(
    "wrong", [{"window_ms": PRODUCE_RETRIES_MS}, {"entries_per_producer_max": 3}, {"producers_max": 0}]
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ProducerWindowSettings(**wrong)
