"""What a rebalance may cost, and when it has cost more."""

from dataclasses import replace
from pathlib import Path

import pytest

from loadtests.plots import draw_gaps
from loadtests.rebalance_result import Outcome, problems_of

USUAL_S, TOLERANCE_S, SESSION_S = 0.2, 0.5, 6.0
UNDISTURBED = Outcome("undisturbed", 0, 0.0, {0: USUAL_S, 1: 0.1}, {})
COMES = Outcome("one comes", 1, 0.0, {0: 0.7}, {1: 0.7})
KILLED = Outcome("one is killed", 1, SESSION_S, {0: 0.1}, {1: 6.7})


def test_up_to_the_aims_nothing_is_wrong() -> None:
    assert problems_of([UNDISTURBED, COMES, KILLED], tolerance_s=TOLERANCE_S) == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (replace(COMES, moved_s={0: 0.1, 1: 0.1}), "2 partitions moved, of which 1 had to"),
        (replace(COMES, stayed_s={0: 0.701}), "of a partition that stayed nothing for 0.701 s, over 0.700 s"),
        (replace(COMES, moved_s={1: 0.701}), "of a partition that moved nothing for 0.701 s, over 0.700 s"),
        (replace(KILLED, stayed_s={0: 0.701}), "of a partition that stayed nothing for 0.701 s, over 0.700 s"),
        (replace(KILLED, moved_s={1: 6.701}), "of a partition that moved nothing for 6.701 s, over 6.700 s"),
    ],
)
def test_what_is_beyond_them_is_told(wrong: Outcome, words: str) -> None:
    [problem] = problems_of([UNDISTURBED, wrong], tolerance_s=TOLERANCE_S)
    assert problem == f"{wrong.what}: {words}"


def test_what_moves_where_nothing_happens_is_told() -> None:
    [problem] = problems_of([replace(UNDISTURBED, moved_s={1: 0.1})], tolerance_s=TOLERANCE_S)
    assert problem == "undisturbed: 1 partitions moved, of which 0 had to"


def test_the_plot_shows_each_of_them(tmp_path: Path) -> None:
    path = tmp_path / "gaps.svg"
    draw_gaps([UNDISTURBED, COMES, KILLED], path)
    drawn = path.read_text()
    for words in ("undisturbed", "one comes", "one is killed", "stayed: 2", "moved: 1", "partition"):
        assert words in drawn
    draw_gaps([UNDISTURBED, COMES, KILLED], tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == drawn
