"""How long a message rests after a failure, against a naive model of what a group's settings say."""

from fractions import Fraction
from itertools import chain, repeat

from hypothesis import given
from hypothesis import strategies as st

from acklog.wire import limits
from cluster.model.values import GroupSettings
from storage.delivery.backoff import retry_delay_ms

LONGEST_MS = limits.NACK_DELAY_SECONDS_MAX * 1000
delays = st.integers(0, LONGEST_MS)
chances = st.floats(0, 1)


def steps_of(settings: GroupSettings, count: int) -> list[int]:
    """The delays before anything is left to chance, step by step as the documents tell it."""
    if settings.retry_delays_ms is not None:
        steps = chain(settings.retry_delays_ms, repeat(settings.retry_delays_ms[-1]))
        return [next(steps) for _ in range(count)]
    found: list[int] = []
    step_ms = settings.retry_backoff_min_ms
    for _ in range(count):
        found.append(min(step_ms, settings.retry_backoff_max_ms))
        step_ms = min(2 * step_ms, settings.retry_backoff_max_ms)
    return found


@st.composite
def group_settings(draw: st.DrawFn) -> GroupSettings:
    shortest = draw(delays)
    return GroupSettings(
        retry_backoff_min_ms=shortest,
        retry_backoff_max_ms=draw(st.integers(shortest, LONGEST_MS)),
        retry_delays_ms=draw(st.none() | st.lists(delays, min_size=1, max_size=limits.RETRY_DELAYS_MAX).map(tuple)),
        retry_jitter=draw(chances),
    )


@given(settings=group_settings(), chance=chances, attempts=st.integers(1, 60))
def test_a_delay_is_its_step_less_what_is_left_to_chance(settings: GroupSettings, chance: float, attempts: int) -> None:
    step_ms = steps_of(settings, attempts)[-1]
    delay_ms = retry_delay_ms(settings, attempts=attempts, chance=chance)
    earliest = step_ms * (1 - Fraction(settings.retry_jitter))
    if settings.retry_delays_ms is None:
        earliest = max(earliest, Fraction(min(settings.retry_backoff_min_ms, step_ms)))
    expected = earliest + (step_ms - earliest) * Fraction(chance)
    assert abs(delay_ms - expected) <= 2  # whole milliseconds
    assert earliest - 1 <= delay_ms <= step_ms


@given(settings=group_settings(), attempts=st.integers(1, limits.MAX_ATTEMPTS_MAX))
def test_without_jitter_nothing_is_left_to_chance(settings: GroupSettings, attempts: int) -> None:
    exact = GroupSettings(
        retry_backoff_min_ms=settings.retry_backoff_min_ms,
        retry_backoff_max_ms=settings.retry_backoff_max_ms,
        retry_delays_ms=settings.retry_delays_ms,
        retry_jitter=0.0,
    )
    step_ms = steps_of(exact, attempts)[-1]
    assert {retry_delay_ms(exact, attempts=attempts, chance=chance) for chance in (0.0, 0.5, 1.0)} == {step_ms}
