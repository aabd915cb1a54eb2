"""Writes the examples' code into the recipes. A page shows a file behind a line with a link to it, in a fence.

`python -m docs.recipe_code` writes the pages; a test fails when they are stale.
"""

import re
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parents[1]
RECIPES = REPOSITORY / "docs" / "recipes"
_LISTING = re.compile(
    r"^\*\*\[(?P<path>[\w./-]+)\]\(\.\./\.\./examples/(?P<target>[\w./-]+)\)\*\*\n\n"
    r"```(?P<language>\w+)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Listing(NamedTuple):
    """A whole file on a page. `path` is relative to `examples/`."""

    path: str
    code: str


def listings(page: str) -> list[Listing]:
    """The files that a page shows."""
    return [Listing(match["path"], match["code"]) for match in _LISTING.finditer(page)]


def generated() -> dict[str, str]:
    """Path in the repository to the whole content of each page, as it should be."""
    return {
        path.relative_to(REPOSITORY).as_posix(): _LISTING.sub(_current, path.read_text())
        for path in sorted(RECIPES.glob("*.md"))
    }


def _current(match: re.Match[str]) -> str:
    code = (REPOSITORY / "examples" / match["target"]).read_text()
    return f"**[{match['target']}](../../examples/{match['target']})**\n\n```{match['language']}\n{code}```"


if __name__ == "__main__":
    for name, content in generated().items():
        (REPOSITORY / name).write_text(content)
