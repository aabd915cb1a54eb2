"""When passes begin, where they go on, and how fast."""

from storage.log.keys import LogKey
from storage.log.log_table import LOGS
from storage.log.scrub_schedule import ScrubPosition, ScrubSchedule

KEYS = [LogKey(topic_id, 0, kind) for topic_id in ("alpha", "beta") for kind in LOGS]


def schedule(position: ScrubPosition | None = None) -> ScrubSchedule:
    return ScrubSchedule(position or ScrubPosition(), interval_ms=1000, min_age_ms=100, bytes_per_second=500)


def test_a_pass_goes_over_all_logs_in_order_and_the_next_one_is_due_an_interval_after_its_begin() -> None:
    scrub = schedule()
    assert scrub.due_in_ms(5_000) == 0
    scrub.begin(reversed(KEYS), 5_000)
    assert scrub.older_than_ms == 4_900
    seen = []
    while (key := scrub.current(5_400)) is not None:
        seen.append(key)
        scrub.went_on(7, found_damage=key is KEYS[1])
        assert scrub.position == ScrubPosition(str(key), 7, 5_000, -1, int(len(seen) > 1))
        scrub.log_done()
    assert seen == KEYS
    assert scrub.position == ScrubPosition("", 0, 5_000, 5_400, 0, 1)
    assert [scrub.due_in_ms(now_ms) for now_ms in (5_400, 5_999, 6_000, 9_000)] == [600, 1, 0, 0]
    scrub.begin(KEYS, 6_000)
    assert scrub.position == ScrubPosition("", 0, 6_000, 5_400, 0, 1)


def test_a_pass_that_was_under_way_goes_on_in_its_log() -> None:
    scrub = schedule(ScrubPosition(str(KEYS[2]), 40, 5_000, 4_000, 3))
    assert scrub.due_in_ms(5_001) == 0
    scrub.begin(KEYS, 9_000)
    assert (scrub.current(9_000), scrub.position.offset, scrub.position.began_ms) == (KEYS[2], 40, 5_000)


def test_where_its_log_is_gone_it_goes_on_with_the_next_one_from_the_beginning() -> None:
    scrub = schedule(ScrubPosition(str(KEYS[1]), 40, 5_000))
    scrub.begin([KEYS[0], KEYS[3]], 9_000)
    assert (scrub.current(9_000), scrub.position.offset) == (KEYS[3], 0)
    scrub = schedule(ScrubPosition(str(KEYS[3]), 40, 5_000))
    scrub.begin(KEYS[:3], 9_000)
    assert scrub.current(9_000) is None


def test_a_position_that_names_nothing_is_no_obstacle() -> None:
    scrub = schedule(ScrubPosition("what?", 40, 5_000))
    scrub.begin(KEYS, 9_000)
    assert (scrub.current(9_000), scrub.position.offset) == (KEYS[0], 0)


def test_a_clock_that_went_back_puts_nothing_off() -> None:
    assert schedule(ScrubPosition(began_ms=5_000, ended_ms=5_500)).due_in_ms(4_000) == 0


def test_the_rate_is_kept_by_pauses() -> None:
    assert schedule().pause_ms(1_000) == 2_000
