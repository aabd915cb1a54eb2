"""Links between the repository's documents lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.architecture.source_tree import text_files
from tests.unit.docs.documents import REPOSITORY

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
DOCUMENTS = [path for path, _ in text_files() if path.endswith(".md")]


def anchor(heading: str) -> str:
    """As the usual renderers make it."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def anchors(path: Path) -> set[str]:
    text = _CODE.sub("", path.read_text())
    return {anchor(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    document = REPOSITORY / name
    broken = []
    for link in _LINK.findall(_CODE.sub("", document.read_text())):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, fragment = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.exists() or (fragment and target.suffix == ".md" and fragment not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_the_documents_are_found() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/operations.md"} <= set(DOCUMENTS)


def test_anchors() -> None:
    assert anchor("What is promised, and what is not") == "what-is-promised-and-what-is-not"
    assert anchor("`POST /messages`") == "post-messages"
