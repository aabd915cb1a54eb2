"""The index of what was not used for longest answers as a look at all of it would, and does not grow with use."""

from hypothesis import given
from hypothesis import strategies as st

from cluster.metadata.longest_unused import _STALE_MIN, LongestUnused

KEYS = st.sampled_from("abcdefgh")
STEPS = st.lists(st.tuples(KEYS, st.none() | st.integers(0, 20)), max_size=200)


@given(STEPS)
def test_the_first_is_that_of_all(steps: list[tuple[str, int | None]]) -> None:
    index, model = LongestUnused(), dict[str, int]()
    for key, used_at_ms in steps:
        if used_at_ms is not None:
            index.put(key, used_at_ms)
            model[key] = used_at_ms
        elif key in model:
            index.remove(key)
            del model[key]
        assert bool(index) == bool(model)
        if len(model) % 2:  # a look must not be needed to keep it right
            assert index.first() == min(model, key=lambda each: (model[each], each))
    assert index.first() == min(model, key=lambda each: (model[each], each), default=None)


def test_use_again_and_again_takes_no_room() -> None:
    index = LongestUnused()
    for number in range(10_000):
        index.put("a", number)
        assert len(index._heap) <= 2 + _STALE_MIN
