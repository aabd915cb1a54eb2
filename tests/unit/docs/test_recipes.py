"""The recipes show the code of `examples/`, which is checked and run, and none is left out of the index."""

import re
from pathlib import Path

import pytest

from docs import recipe_code
from tests.unit.docs.documents import REPOSITORY

EXAMPLES = REPOSITORY / "examples"
PAGES = sorted(path.name for path in recipe_code.RECIPES.glob("*.md") if path.name != "README.md")
PAGE_LINES_MAX = 200
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read_page(name: str) -> str:
    return (recipe_code.RECIPES / name).read_text()


@pytest.mark.parametrize("name", list(recipe_code.generated()))
def test_pages_show_the_code_as_it_is(name: str) -> None:
    assert (REPOSITORY / name).read_text() == recipe_code.generated()[name], "run python -m docs.recipe_code"


@pytest.mark.parametrize("name", PAGES)
def test_pages_show_whole_folders(name: str) -> None:
    """Whoever copies what is on the page has everything."""
    shown = {listing.path for listing in recipe_code.listings(read_page(name))}
    assert shown
    folders = {Path(path).parts[0] for path in shown}
    files = [path for folder in folders for path in (EXAMPLES / folder).iterdir() if path.is_file()]
    assert shown == {path.relative_to(EXAMPLES).as_posix() for path in files if path.name != "__init__.py"}


@pytest.mark.parametrize("name", PAGES)
def test_snippets_are_python(name: str) -> None:
    """Also those that cannot be run here."""
    for code in _PYTHON.findall(read_page(name)):
        compile(code, name, "exec")


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_short(name: str) -> None:
    assert read_page(name).count("\n") <= PAGE_LINES_MAX


def test_the_index_has_every_page() -> None:
    assert sorted(re.findall(r"\(([\w-]+\.md)\)", read_page("README.md"))) == PAGES


def test_a_listing_is_found() -> None:
    page = "Text.\n\n**[a/b.py](../../examples/a/b.py)**\n\n```python\nx = 1\n```\n\n```python\ny = 2\n```\n"
    assert recipe_code.listings(page) == [recipe_code.Listing("a/b.py", "x = 1\n")]
