"""The mapping of offsets beside a model that remembers every message."""

from hypothesis import given
from hypothesis import strategies as st

from acklog.mirror.checkpoint import Checkpoint
from acklog.mirror.offset_map import RUNS_MAX, OffsetMap

STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=60)
"""Message by message, how many offsets of the source and of the target are passed over before it."""


def built(steps: list[tuple[int, int]]) -> tuple[OffsetMap, dict[int, int]]:
    offsets, model, source, target = OffsetMap(), {}, 0, 0
    for source_hole, target_hole in steps:
        source, target = source + source_hole, target + target_hole
        offsets.add(source, target)
        model[source] = target
        source, target = source + 1, target + 1
    return offsets, model


def expected(model: dict[int, int], position: int) -> int | None:
    """Behind the last copy of what is done."""
    done = [target for source, target in model.items() if source < position]
    return max(done) + 1 if done else min(model.values(), default=None)


@given(STEPS, st.integers(0, 300))
def test_a_position_is_behind_the_last_copy_of_what_is_done(steps: list[tuple[int, int]], position: int) -> None:
    offsets, model = built(steps)
    assert offsets.target_of(position) == expected(model, position)


@given(STEPS)
def test_nothing_that_is_not_done_is_skipped_and_nothing_is_ahead_of_what_is_copied(
    steps: list[tuple[int, int]],
) -> None:
    offsets, model = built(steps)
    last = -1
    for position in range(max(model, default=0) + 3):
        translated = offsets.target_of(position)
        if translated is None:
            assert not model
            continue
        assert all(target >= translated for source, target in model.items() if source >= position)
        assert translated <= max(model.values()) + 1
        assert translated >= last
        last = translated


@given(STEPS)
def test_a_checkpoint_keeps_it(steps: list[tuple[int, int]]) -> None:
    offsets, model = built(steps)
    kept = Checkpoint("a", "i", "b", "j", 0, 0, runs=offsets.runs, is_whole=offsets.is_whole)
    for position in range(max(model, default=0) + 3):
        assert kept.offset_map().target_of(position) == offsets.target_of(position)


def test_it_is_bounded_and_says_where_it_does_not_know() -> None:
    offsets = OffsetMap()
    for number in range(RUNS_MAX):
        offsets.add(2 * number, number)
    assert (len(offsets.runs), offsets.is_whole, offsets.target_of(0)) == (RUNS_MAX, True, 0)
    offsets.add(2 * RUNS_MAX, RUNS_MAX)
    assert (len(offsets.runs), offsets.is_whole, offsets.target_of(0)) == (RUNS_MAX, False, None)
    assert offsets.target_of(2) is None
    assert offsets.target_of(3) == 2


def test_what_was_cut_in_the_source_is_forgotten() -> None:
    offsets = OffsetMap()
    for number in range(10):
        offsets.add(number, number)
    offsets.add(6, 10)
    assert [offsets.target_of(position) for position in (5, 6, 7, 9)] == [5, 6, 11, 11]
