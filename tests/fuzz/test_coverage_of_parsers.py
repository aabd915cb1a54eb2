"""No parser of requests is left out: each has a target that calls it."""

import ast
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PARSING = REPOSITORY / "app" / "http" / "parsing"


def _parsers() -> Iterator[str]:
    for path in PARSING.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("parse_"):
                yield node.name


def test_every_parser_of_requests_has_a_target() -> None:
    called = {
        node.id
        for path in (REPOSITORY / "tests" / "fuzz" / "targets").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name)
    }
    parsers = set(_parsers())
    assert len(parsers) > 20
    assert sorted(parsers - called) == []
