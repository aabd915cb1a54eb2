"""What others build on says what it does, in which units, and how it fails.

A class is documented by its docstring, or by the module's where it is the one thing that the module is about. Data
without behaviour (enumerations, records) may speak through its names; so may functions of a few lines.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import product_modules

SELF_EXPLAINING_LINES_MAX = 10
MODULE_DOCSTRING_LENGTH_MIN = 20

# (module, name): what stands undocumented until somebody writes it. May only shrink.
UNDOCUMENTED: dict[tuple[str, str], str] = {}


def test_public_names_are_documented() -> None:
    found = [
        f"{module.path}:{node.lineno}: {node.name}"
        for module in product_modules()
        for node in undocumented(module.tree)
        if (module.path, node.name) not in UNDOCUMENTED
    ]
    assert found == []


def test_the_table_of_exceptions_shrinks() -> None:
    needed = {(module.path, node.name) for module in product_modules() for node in undocumented(module.tree)}
    assert sorted(set(UNDOCUMENTED) - needed) == []


def undocumented(tree: ast.Module) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Public classes with behaviour and public functions that need a docstring and have none."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and _is_public(node) and _behaves(node)]
    speaks_for_its_class = len(classes) == 1 and len(ast.get_docstring(tree) or "") >= MODULE_DOCSTRING_LENGTH_MIN
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            if node in classes and not speaks_for_its_class and not ast.get_docstring(node):
                yield node
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if _is_public(node) and lines > SELF_EXPLAINING_LINES_MAX and not ast.get_docstring(node):
                yield node


def _is_public(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return not node.name.startswith("_")


def _behaves(node: ast.ClassDef) -> bool:
    return any(
        isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        and not each.name.startswith("_")
        and not any(isinstance(decorator, ast.Name) and decorator.id == "property" for decorator in each.decorator_list)
        for each in node.body
    )


LONG_BODY = "    x = 1\n" * SELF_EXPLAINING_LINES_MAX


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (f"def f():\n{LONG_BODY}", ["f"]),
        (f'def f():\n    """Says it."""\n{LONG_BODY}', []),
        (f"def _f():\n{LONG_BODY}", []),
        ("def f(): ...\n", []),
        ("class A:\n    def go(self): ...\n\nclass B:\n    '''Says it.'''\n    def go(self): ...\n", ["A"]),
        ("'''All that there is to say about A.'''\nclass A:\n    def go(self): ...\n", []),
        ("class A:\n    def go(self): ...\n", ["A"]),
        ("class A(Enum):\n    X = 1\n", []),
    ],
)
def test_what_is_undocumented_is_found(source: str, names: list[str]) -> None:
    assert [node.name for node in undocumented(ast.parse(source))] == names
