"""How fast a job's part goes."""

import pytest

from storage.redrive.letter_pace import LetterPace
from storage.redrive.redrive_settings import RedriveSettings

SETTINGS = RedriveSettings(letters_at_once=200, period_ms=100)


@pytest.mark.parametrize(
    ("per_second", "letters_max"), [(None, 200), (0.01, 1), (9.9, 1), (25, 2), (1_999, 199), (1_000_000, 200)]
)
def test_a_step_is_a_tenth_of_a_second_and_one_letter_at_least(per_second: float | None, letters_max: int) -> None:
    assert LetterPace(per_second, SETTINGS).letters_max == letters_max


@pytest.mark.parametrize("per_second", [0.5, 7, 20, 333, 50_000])
def test_the_rate_is_never_passed(per_second: float) -> None:
    pace = LetterPace(per_second, SETTINGS)
    now_ms = letters = 0
    while now_ms < 20_000:
        letters += pace.letters_max
        now_ms += 3 + pace.pause_ms(pace.letters_max, took_ms=3)
    assert letters <= per_second * now_ms / 1000 + 1e-6
    assert letters >= min(per_second, 200 / 0.004) * now_ms / 1000 * 0.7


def test_without_a_rate_nobody_waits() -> None:
    assert LetterPace(None, SETTINGS).pause_ms(200, took_ms=0) == 0
