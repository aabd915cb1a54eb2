"""When a stream that broke begins again."""

import pytest

from acklog.errors import AcklogError, CannotConnect, InvalidArgument, TooManyWatchers, TopicNotFound
from acklog.streams.comeback import STEADY_MS, Comeback
from acklog.streams.stream_settings import StreamSettings

AWAY = CannotConnect("away")


def after(comeback: Comeback, error: AcklogError, now_ms: float) -> int:
    return comeback.after(error, now_ms=now_ms, chance=1.0)


def test_what_does_not_pass_is_raised() -> None:
    comeback = Comeback(StreamSettings(), now_ms=0)
    comeback.begun(0)
    with pytest.raises(TopicNotFound):
        after(comeback, TopicNotFound("none"), 0)


def test_a_server_that_was_never_there_is_waited_for_as_long_as_is_said() -> None:
    comeback = Comeback(StreamSettings(first_contact_timeout_ms=1_000), now_ms=0)
    assert after(comeback, AWAY, 750) == 250
    with pytest.raises(CannotConnect):
        after(comeback, AWAY, 1_000)
    at_once = Comeback(StreamSettings(first_contact_timeout_ms=0), now_ms=0)
    with pytest.raises(CannotConnect):
        after(at_once, AWAY, 0)


def test_one_that_was_there_is_waited_for_with_growing_pauses() -> None:
    comeback = Comeback(StreamSettings(backoff_min_ms=100, backoff_max_ms=1_000), now_ms=0)
    comeback.begun(0)
    pauses = [after(comeback, AWAY, 1_000_000 * hour) for hour in range(1, 7)]
    assert pauses == [100, 200, 400, 800, 1_000, 1_000]


def test_it_may_be_given_up() -> None:
    comeback = Comeback(StreamSettings(away_timeout_ms=1_000), now_ms=0)
    comeback.begun(5_000)
    assert after(comeback, AWAY, 90_000) == 250
    assert after(comeback, AWAY, 90_500) == 500
    with pytest.raises(CannotConnect):
        after(comeback, AWAY, 90_500)
    again = Comeback(StreamSettings(away_timeout_ms=1_000), now_ms=0)
    again.begun(0)
    after(again, AWAY, 900)
    again.begun(1_800)
    assert after(again, AWAY, 1_900) == 500, "it was there meanwhile"


def test_what_the_server_asks_for_counts() -> None:
    comeback = Comeback(StreamSettings(), now_ms=0)
    assert after(comeback, TooManyWatchers("full", retry_after_s=5), 0) == 5_000
    impatient = Comeback(StreamSettings(first_contact_timeout_ms=2_000), now_ms=0)
    with pytest.raises(TooManyWatchers):
        after(impatient, TooManyWatchers("full", retry_after_s=5), 0)


def test_only_a_stream_that_lasted_makes_the_next_break_the_first_one() -> None:
    comeback = Comeback(StreamSettings(), now_ms=0)
    pauses = []
    for number in range(4):
        comeback.begun(100_000 * number)
        pauses.append(after(comeback, AWAY, 100_000 * number + STEADY_MS - 1))
    comeback.begun(900_000)
    pauses.append(after(comeback, AWAY, 900_000 + STEADY_MS))
    assert pauses == [250, 500, 1_000, 2_000, 250]


@pytest.mark.parametrize(
    "settings",
    [
        {"backoff_min_ms": 0},
        {"backoff_min_ms": 20, "backoff_max_ms": 19},
        {"silence_timeout_ms": 0},
        {"first_contact_timeout_ms": -1},
        {"away_timeout_ms": 86400001},
    ],
)
def test_settings_have_limits(settings: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument) as refused:
        StreamSettings(**settings)
    assert refused.value.field in settings
