"""The table of docs/fuzzing.md: every target, as its module says in its first line."""

import ast
from pathlib import Path

from tests.fuzz.targets_table import TARGETS

MODULES = Path(__file__).resolve().parents[1] / "tests" / "fuzz" / "targets"


def fuzz_targets_table() -> str:
    rows = ["| target | what it reads |", "|---|---|"]
    for name in TARGETS:
        said = ast.get_docstring(ast.parse((MODULES / f"{name}.py").read_text())) or ""
        rows.append(f"| `{name}` | {' '.join(said.partition(chr(10) * 2)[0].split())} |")
    return "\n".join(rows) + "\n"
