"""Each target with a few inputs of Hypothesis's making: any bytes, and seeds that were changed somewhere. What atheris
does for minutes, in a second."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.corpus_files import inputs_of
from tests.fuzz.promise import is_taken
from tests.fuzz.targets_table import TARGETS, load_target, module_of

EXAMPLES = 25


def changed(seeds: list[bytes]) -> st.SearchStrategy[bytes]:
    """A seed with some bytes in the place of others."""

    def change(seed: bytes, at: int, length: int, put: bytes) -> bytes:
        at %= len(seed) + 1
        return seed[:at] + put + seed[at + length :]

    return st.builds(change, st.sampled_from(seeds), st.integers(0, 1 << 16), st.integers(0, 8), st.binary(max_size=8))


@pytest.mark.parametrize("name", TARGETS)
def test_whatever_comes_the_promise_is_kept(name: str) -> None:
    target = load_target(module_of(name))
    seeds = [path.read_bytes() for path in inputs_of(name)]

    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.binary(max_size=200) | changed(seeds))
    def try_it(data: bytes) -> None:
        is_taken(target, data)

    try_it()
