"""An object of the server's is whole when its constructor returns, and nobody hears of it before."""

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tests.architecture.source_tree import functions, product_modules

SERVER_PACKAGES = ("app/", "cluster/", "storage/")

# (module, attribute): why it is set outside of the constructor. Only what a framework's class has declared.
FOREIGN_ATTRIBUTES = {
    ("app/http/exchange/responses.py", "raw_headers"): "starlette's Response asks for it in `init_headers`",
    ("app/http/protocol/limited_protocol.py", "cycle"): "uvicorn's protocol has it",
    ("app/http/protocol/limited_protocol.py", "parser"): "uvicorn's protocol has it",
    ("app/http/protocol/server.py", "should_exit"): "uvicorn's server has it",
    ("app/http/protocol/server_protocol.py", "cycle"): "uvicorn's protocol has it",
    ("app/http/protocol/server_protocol.py", "expect_100_continue"): "uvicorn's protocol has it",
    ("app/http/protocol/server_protocol.py", "headers"): "uvicorn's protocol has it",
    ("app/http/protocol/server_protocol.py", "url"): "uvicorn's protocol has it",
}

# (module, call): why a constructor may begin something.
BEGUN_BY_CONSTRUCTORS = {
    ("storage/disk/thread_executor.py", "start"): "its threads know the queue of calls, and nothing of the object",
}

_BEGINS_SOMETHING = frozenset({"create_task", "ensure_future", "start", "subscribe", "watch"})
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})


def test_every_attribute_is_there_after_the_constructor() -> None:
    """Who reads a class finds what it consists of in one place, and no call comes too early."""
    found = [
        f"{path}:{line}: {class_.name}.{name}"
        for path, class_ in _server_classes()
        for name, line in _late_attributes(class_)
        if (path, name) not in FOREIGN_ATTRIBUTES
    ]
    assert found == []


def test_constructors_begin_nothing() -> None:
    """No task, thread or subscription: what is told of half an object finds half an object. A factory begins it
    (`open`, `following`), or `start`. A deadline may be set: it is what the object waits for."""
    found = [
        f"{path}:{line}: {class_.name} {call}"
        for path, class_ in _server_classes()
        for call, line in _begun(class_)
        if (path, call) not in BEGUN_BY_CONSTRUCTORS
    ]
    assert found == []


def test_every_exception_is_still_needed() -> None:
    late = {(path, name) for path, class_ in _server_classes() for name, _ in _late_attributes(class_)}
    begun = {(path, call) for path, class_ in _server_classes() for call, _ in _begun(class_)}
    assert sorted(set(FOREIGN_ATTRIBUTES) - late) == []
    assert sorted(set(BEGUN_BY_CONSTRUCTORS) - begun) == []


@cache
def _server_classes() -> list[tuple[str, ast.ClassDef]]:
    return [
        (module.path, node)
        for module in product_modules()
        if module.path.startswith(SERVER_PACKAGES)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    ]


@cache
def _classes_by_name() -> dict[str, list[ast.ClassDef]]:
    found: dict[str, list[ast.ClassDef]] = {}
    for _, class_ in _server_classes():
        found.setdefault(class_.name, []).append(class_)
    return found


def _late_attributes(class_: ast.ClassDef) -> list[tuple[str, int]]:
    declared = _declared(class_)
    return [
        (name, line)
        for method in class_.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.name not in _CONSTRUCTORS
        for name, line in _assigned_to_self(method)
        if name not in declared
    ]


def _declared(class_: ast.ClassDef) -> set[str]:
    """By the class or the server's classes that it inherits from: in the body, by a constructor, or as a property that
    can be set."""
    names: set[str] = set()
    for statement in class_.body:
        if isinstance(statement, ast.AnnAssign):
            names.add(ast.unparse(statement.target))
        elif isinstance(statement, ast.Assign):
            names.update(ast.unparse(target) for target in statement.targets)
        elif isinstance(statement, ast.FunctionDef):
            if statement.name in _CONSTRUCTORS:
                names.update(name for name, _ in _assigned_to_self(statement))
            if any(ast.unparse(decorator).endswith(".setter") for decorator in statement.decorator_list):
                names.add(statement.name)
    for base in class_.bases:
        for parent in _classes_by_name().get(ast.unparse(base).partition("[")[0].rpartition(".")[2], []):
            if parent is not class_:
                names |= _declared(parent)
    return names


def _assigned_to_self(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, int]]:
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            yield node.attr, node.lineno


def _begun(class_: ast.ClassDef) -> list[tuple[str, int]]:
    return [
        (node.func.attr, node.lineno)
        for method in functions(class_)
        if method.name in _CONSTRUCTORS
        for node in ast.walk(method)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _BEGINS_SOMETHING
    ]


@pytest.mark.parametrize(
    ("body", "late"),
    [
        ("def __init__(self): self.a = 1\n    def f(self): self.a += 1", []),
        ("def f(self): self.a = 1", ["a"]),
        ("def __init__(self): self.f()\n    def f(self): self.a, self.b = 1, 2", ["a", "b"]),
        ("a: int\n    def f(self): self.a = 1", []),
        ("def f(self): self.other.a = 1", []),
        ("async def f(self): self.a: int = 1", ["a"]),
    ],
)
def test_late_attributes_are_found(body: str, late: list[str]) -> None:
    assert [name for name, _ in _late_attributes(_class(body))] == late


@pytest.mark.parametrize(
    ("body", "calls"),
    [
        ("def __init__(self, loop): self.t = loop.create_task(f())", ["create_task"]),
        ("def __init__(self, view): view.subscribe(self.f)", ["subscribe"]),
        ("def start(self, view): view.subscribe(self.f)", []),
        ("def __init__(self, view): self.view = view", []),
    ],
)
def test_what_a_constructor_begins_is_found(body: str, calls: list[str]) -> None:
    assert [call for call, _ in _begun(_class(body))] == calls


def _class(body: str) -> ast.ClassDef:
    node = ast.parse(f"class A:\n    {body}\n").body[0]
    assert isinstance(node, ast.ClassDef)
    return node
