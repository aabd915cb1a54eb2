"""What others build on says what it does, in which units, and how it fails.

A class or function is documented by its docstring, or by the module's where it is the one thing that the module is
about; so are the protocols of a port. Data without behaviour (enumerations, records) may speak through its names, and
so may functions of a few lines.
"""

import ast

import pytest

from tests.architecture.source_tree import product_modules

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
SELF_EXPLAINING_LINES_MAX = 10
MODULE_DOCSTRING_LENGTH_MIN = 20

# (module, name): what stands undocumented until somebody writes it. May only shrink.
UNDOCUMENTED: set[tuple[str, str]] = {
    ("app/http/openapi_file.py", "standalone_app"),
}


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
    assert sorted(UNDOCUMENTED - needed) == []


def undocumented(tree: ast.Module) -> list[Definition]:
    """Public classes with behaviour and public functions that need a docstring and have none."""
    things = [
        node
        for node in tree.body
        if isinstance(node, Definition) and not node.name.startswith("_") and (_behaves(node) or _is_long(node))
    ]
    is_module_documented = len(ast.get_docstring(tree) or "") >= MODULE_DOCSTRING_LENGTH_MIN
    if is_module_documented:
        things = [node for node in things if not _is_protocol(node)]
        if len(things) == 1:
            return []
    return [node for node in things if not ast.get_docstring(node)]


def _is_long(node: Definition) -> bool:
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    return not isinstance(node, ast.ClassDef) and lines > SELF_EXPLAINING_LINES_MAX


def _is_protocol(node: Definition) -> bool:
    return isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Protocol" for base in node.bases)


def _behaves(node: Definition) -> bool:
    return isinstance(node, ast.ClassDef) and any(
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
        ("'''All that there is to say about f.'''\n" + f"def f():\n{LONG_BODY}", []),
        ("'''All that there is to say about the port.'''\nclass A(Protocol):\n    def go(self): ...\n", []),
        ("class A(Enum):\n    X = 1\n", []),
    ],
)
def test_what_is_undocumented_is_found(source: str, names: list[str]) -> None:
    assert [node.name for node in undocumented(ast.parse(source))] == names
