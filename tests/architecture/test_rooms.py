"""The rooms of the house: nothing goes round in a circle, and CONTRIBUTING's table says who imports whom."""

import ast
import re
from collections.abc import Iterable, Mapping
from functools import cache

from tests.architecture.source_tree import REPOSITORY, Module, product_modules

SERVER = ("app", "cluster", "storage", "acklog_server")
_ROW = re.compile(r"^\| (?P<rooms>`[^|]+`) \|[^|]*\|(?P<imports>[^|]*)\|$")
_NAME = re.compile(r"`([^`]+)`")


def test_no_packages_of_the_server_import_each_other_not_even_by_way_of_others() -> None:
    assert circles(_packages(SERVER)) == []


def test_no_modules_import_each_other_not_even_by_way_of_others() -> None:
    assert circles(_imports()) == []


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]


def test_every_package_of_the_server_is_in_the_table() -> None:
    rooms = _table()
    homeless = [package for package in _packages(SERVER) if _room_of(package, rooms) is None]
    assert homeless == []


def test_the_table_says_what_each_room_imports() -> None:
    rooms = _table()
    wrong = []
    for room, said in rooms.items():
        imported = _imported_by(room, rooms)
        unsaid = sorted(each for each in imported if not any(_is_in(each, name) for name in said))
        unused = sorted(name for name in said if not any(_is_in(each, name) for each in imported))
        if unsaid or unused:
            wrong.append(f"{room}: also imports {unsaid}; does not import {unused}")
    assert not wrong, "\n".join(wrong)


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups of nodes each of which reaches all others of its group (Tarjan's strongly connected components)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in number:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], number[other])
        if lowest[node] == number[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


@cache
def _imports() -> dict[str, set[str]]:
    """Module by module, the modules of ours that it imports. What a package offers under its own name is no import of
    the package."""
    named = {_name_of(module): module for module in product_modules()}
    return {
        name: {each for each in _imported(module.tree, named) if each != name}
        for name, module in named.items()
        if not module.is_package
    }


def _imported(tree: ast.Module, named: Mapping[str, Module]) -> Iterable[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                imported = module if module in named else node.module
                if imported in named and not named[imported].is_package:
                    yield imported


def _packages(of: tuple[str, ...]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for module, imported in _imports().items():
        package = _package_of(module)
        if package.split(".")[0] in of:
            others = {_package_of(each) for each in imported if each.split(".")[0] in of}
            graph.setdefault(package, set()).update(others - {package})
    return graph


def _table() -> dict[str, list[str]]:
    """Folder by folder, as package names: what CONTRIBUTING says that it imports."""
    rooms: dict[str, list[str]] = {}
    for line in (REPOSITORY / "CONTRIBUTING.md").read_text().splitlines():
        row = _ROW.match(line)
        if row is not None:
            for room in _NAME.findall(row["rooms"]):
                rooms[_dotted(room)] = [_dotted(name) for name in _NAME.findall(row["imports"])]
    known = {module.split(".")[0] for module in _imports()}
    return {room: imports for room, imports in rooms.items() if room.split(".")[0] in known}


def _imported_by(room: str, rooms: Mapping[str, list[str]]) -> set[str]:
    """The packages that a room's modules import from other rooms."""
    imported: set[str] = set()
    for module, others in _imports().items():
        if _room_of(_package_of(module), rooms) == room:
            imported |= {_package_of(each) for each in others}
    return {each for each in imported if _room_of(each, rooms) != room}


def _room_of(package: str, rooms: Iterable[str]) -> str | None:
    return max((room for room in rooms if _is_in(package, room)), key=len, default=None)


def _is_in(package: str, room: str) -> bool:
    return package == room or package.startswith(f"{room}.")


def _package_of(module: str) -> str:
    return module.rpartition(".")[0]


def _name_of(module: Module) -> str:
    return module.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _dotted(folder: str) -> str:
    return folder.strip("/").replace("/", ".")
