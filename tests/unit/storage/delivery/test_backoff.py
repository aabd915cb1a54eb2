import pytest

from cluster.model.values import GroupSettings
from storage.delivery.backoff import chance_of, retry_delay_ms


def delays_ms(settings: GroupSettings, *, chance: float, attempts: int = 5) -> list[int]:
    return [retry_delay_ms(settings, attempts=each, chance=chance) for each in range(1, attempts + 1)]


def test_a_list_says_each_delay_and_its_last_one_repeats() -> None:
    settings = GroupSettings(retry_delays_ms=(0, 500, 60_000), retry_jitter=0.0)
    for chance in (0.0, 0.3, 1.0):
        assert delays_ms(settings, chance=chance) == [0, 500, 60_000, 60_000, 60_000]


def test_a_list_of_one_is_a_fixed_delay() -> None:
    settings = GroupSettings(retry_delays_ms=(5_000,), retry_jitter=0.0)
    assert delays_ms(settings, chance=0.7) == [5_000] * 5


def test_a_list_goes_beyond_the_limits_of_doubling() -> None:
    settings = GroupSettings(
        retry_backoff_min_ms=1_000, retry_backoff_max_ms=2_000, retry_delays_ms=(10, 90_000), retry_jitter=0.0
    )
    assert delays_ms(settings, chance=0.5, attempts=2) == [10, 90_000]


@pytest.mark.parametrize(
    ("jitter", "earliest"),
    [(0.0, [100, 200, 400]), (0.25, [100, 150, 300]), (0.5, [100, 100, 200]), (1.0, [100, 100, 100])],
)
def test_jitter_is_the_part_that_is_left_to_chance(jitter: float, earliest: list[int]) -> None:
    """No delay is shorter than the shortest one that the group names."""
    settings = GroupSettings(retry_backoff_min_ms=100, retry_backoff_max_ms=400, retry_jitter=jitter)
    assert delays_ms(settings, chance=0.0, attempts=3) == earliest
    assert delays_ms(settings, chance=1.0, attempts=3) == [100, 200, 400]


def test_a_list_may_be_spread_down_to_nothing() -> None:
    settings = GroupSettings(retry_delays_ms=(1_000,), retry_jitter=1.0)
    assert [retry_delay_ms(settings, attempts=1, chance=chance) for chance in (0.0, 0.5, 1.0)] == [0, 500, 1_000]


@pytest.mark.parametrize("count", [1, 2, 10, 1_000])
@pytest.mark.parametrize("drawn", [0.0, 0.3, 1.0])
def test_what_fails_together_is_spread_over_all_that_is_left_to_chance(count: int, drawn: float) -> None:
    chances = sorted(chance_of(place, drawn) for place in range(count))
    assert chances[0] >= 0
    assert chances[-1] <= 1
    gaps = [later - earlier for earlier, later in zip([0.0, *chances], [*chances, 1.0], strict=True)]
    assert max(gaps) <= 3 / (count + 1) + 1e-9 or count == 1
