"""The pace of a group between two looks of a gateway."""

import pytest

from app.services import group_pace
from app.services.group_pace import WINDOW_MS_MAX, WINDOW_MS_MIN, Ends, GroupPace, GroupPaces

PLACE = ("t1", 0)
OTHER = ("t1", 1)


def test_the_first_look_tells_nothing() -> None:
    assert GroupPaces().look("g", {PLACE: Ends(5, 5)}, 0) is None


@pytest.mark.parametrize(("pause_ms", "is_told"), [(WINDOW_MS_MIN - 1, False), (WINDOW_MS_MIN, True)])
def test_a_pace_takes_some_time(pause_ms: int, is_told: bool) -> None:
    paces = GroupPaces()
    paces.look("g", {PLACE: Ends(0, 0)}, 0)
    found = paces.look("g", {PLACE: Ends(100, 50)}, pause_ms)
    assert found == (GroupPace(10.0, 5.0) if is_told else None)


def test_who_looks_often_sees_the_last_ten_to_twenty_seconds() -> None:
    paces = GroupPaces()
    for second in range(60):
        found = paces.look("g", {PLACE: Ends(second * 7, second * 3)}, second * 1_000)
    assert found == GroupPace(7.0, 3.0)
    for second in range(60, 90):
        found = paces.look("g", {PLACE: Ends(60 * 7, 60 * 3)}, second * 1_000)
    assert found == GroupPace(0.0, 0.0)


@pytest.mark.parametrize(("pause_ms", "is_told"), [(WINDOW_MS_MAX, True), (WINDOW_MS_MAX + 1, False)])
def test_what_was_long_ago_is_history(pause_ms: int, is_told: bool) -> None:
    paces = GroupPaces()
    paces.look("g", {PLACE: Ends(0, 0)}, 0)
    assert (paces.look("g", {PLACE: Ends(1, 1)}, pause_ms) is not None) is is_told


def test_partitions_that_one_look_lacks_are_left_out_and_seeks_back_settle_nothing() -> None:
    paces = GroupPaces()
    paces.look("g", {PLACE: Ends(100, 90)}, 0)
    found = paces.look("g", {PLACE: Ends(120, 0), OTHER: Ends(1_000_000, 1_000_000)}, 10_000)
    assert found == GroupPace(2.0, 0.0)


def test_no_more_is_remembered_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_pace, "PLACES_MAX", 4)
    paces = GroupPaces()
    for group in ("a", "b"):
        paces.look(group, {PLACE: Ends(0, 0), OTHER: Ends(0, 0)}, 0)
    assert paces.look("b", {PLACE: Ends(0, 0), OTHER: Ends(0, 0)}, 10_000) is not None
    assert paces.look("a", {PLACE: Ends(0, 0)}, 10_000) is None, "it had to give way"
