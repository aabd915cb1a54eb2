"""Every input of the corpora, once, without atheris: seeds of every format, and whatever was found before."""

from pathlib import Path

import pytest

from tests.fuzz.corpus_files import CORPUS, CORPUS_BYTES_MAX, FOUND, SEED, inputs_of
from tests.fuzz.promise import is_taken
from tests.fuzz.targets_table import TARGETS, load_target, module_of


@pytest.mark.parametrize("name", TARGETS)
def test_every_input_is_taken_or_refused_as_promised(name: str) -> None:
    target = load_target(module_of(name))
    for path in inputs_of(name):
        try:
            is_taken(target, path.read_bytes())
        except Exception as error:
            error.add_note(f"the input is {path.relative_to(CORPUS)}")
            raise


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_of_the_formats_of_today(name: str) -> None:
    """Or they would be refused at the first check, and nothing behind it be tried."""
    target = load_target(module_of(name))
    seeds = [path for path in inputs_of(name) if path.name.startswith(SEED)]
    assert any(is_taken(target, path.read_bytes()) for path in seeds)
    assert any(is_taken(target, seed) for seed in target.seeds())


@pytest.mark.parametrize("name", TARGETS)
def test_corpora_are_small_and_say_where_they_are_from(name: str) -> None:
    inputs = inputs_of(name)
    assert [path.name for path in inputs if not path.name.startswith((SEED, FOUND))] == []
    assert sum(path.stat().st_size for path in inputs) <= CORPUS_BYTES_MAX


def test_every_target_is_in_the_table() -> None:
    modules = (Path(__file__).parent / "targets").glob("*.py")
    assert sorted(path.stem for path in modules if path.stem != "__init__") == sorted(TARGETS)
    assert sorted(path.name for path in CORPUS.iterdir()) == sorted(TARGETS)
    assert list(TARGETS) == sorted(TARGETS)
