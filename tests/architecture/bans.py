"""Finds in a module's source what would break determinism, block the event loop or go round a port.

Names are resolved through the module's imports, so `from time import monotonic as now` is found as well as
`time.monotonic`. What is bound at run time (`getattr(time, name)`) is not; no linter finds that.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

CLOCK = "take a cluster.ports.clock.Clock (now_ms, monotonic_ms, sleep)"
ENTROPY = "take a cluster.ports.entropy.Entropy (bits64, fraction)"
DISK = "take a storage.disk.port.Disk, and call it through an IoExecutor"
THREADS = "take a storage.disk.executor.IoExecutor"
TRANSPORT = "take a storage.rpc.transport.NodeTransport"
STORE = "take a cluster.ports.coordination.CoordinationStore"
NO_SETS = "iterate over your own list and ask each task with `done()`"
SORTED = "sort it, or keep a dict or a list: the order of a set is that of memory addresses and hash seeds"

MODULES = {
    "time": CLOCK,
    "random": ENTROPY,
    "secrets": ENTROPY,
    "uuid": ENTROPY,
    "socket": TRANSPORT,
    "select": TRANSPORT,
    "selectors": TRANSPORT,
    "threading": THREADS,
    "concurrent.futures": THREADS,
    "multiprocessing": THREADS,
    "subprocess": "the server starts no other programs",
    "os": DISK,
    "io": DISK,
    "pathlib": DISK,
    "shutil": DISK,
    "tempfile": DISK,
    "fcntl": DISK,
    "mmap": DISK,
    "aiofiles": DISK,
    "grpc": STORE,
}
NAMES = {
    "datetime.datetime.now": CLOCK,
    "datetime.datetime.utcnow": CLOCK,
    "datetime.datetime.today": CLOCK,
    "datetime.date.today": CLOCK,
    "asyncio.wait": NO_SETS,
    "asyncio.as_completed": NO_SETS,
    "asyncio.to_thread": THREADS,
    "asyncio.create_subprocess_exec": "the server starts no other programs",
    "asyncio.create_subprocess_shell": "the server starts no other programs",
    "asyncio.open_connection": TRANSPORT,
    "asyncio.start_server": TRANSPORT,
}
BUILTINS = {
    "open": DISK,
    "id": "compare with `is`, or give objects a serial number: an address differs from run to run",
    "hash": "use crc32c or blake2b: hash() of text differs from process to process",
    "input": "the server asks nobody",
    "print": "log it with structlog",
}
METHODS = {
    "run_in_executor": THREADS,
    "create_connection": TRANSPORT,
    "create_server": TRANSPORT,
    "read_text": DISK,
    "read_bytes": DISK,
    "write_text": DISK,
    "write_bytes": DISK,
}
UNORDERED = "iteration over a set"
FORGOTTEN_TASK = "task without a reference"
_SET_MAKERS = frozenset({"set", "frozenset"})
_ORDER_IS_LOST = frozenset({"all", "any", "frozenset", "len", "max", "min", "set", "sorted", "sum"})
_ORDER_IS_KEPT = frozenset({"dict", "enumerate", "iter", "list", "map", "next", "reversed", "tuple", "zip"})
_TASK_MAKERS = frozenset({"create_task", "ensure_future"})


class Violation(NamedTuple):
    """`ban` is what an exception is granted for: a module, a dotted name, or one of the two kinds without a name."""

    line: int
    ban: str
    instead: str


@cache
def violations(source: str) -> list[Violation]:
    """Everything in `source` that is banned, by line."""
    tree = ast.parse(source)
    names = _imported_names(tree)
    found = [
        *_imports(tree),
        *_uses(tree, names),
        *_set_iterations(tree),
        *_forgotten_tasks(tree),
    ]
    return sorted(set(found))


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """Local name to dotted name."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                local = alias.asname or alias.name.partition(".")[0]
                names[local] = alias.name if alias.asname else local
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _imports(tree: ast.Module) -> Iterator[Violation]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for module in modules:
            for banned, instead in MODULES.items():
                if module == banned or module.startswith(banned + "."):
                    yield Violation(node.lineno, banned, instead)
            if module in NAMES:
                yield Violation(node.lineno, module, NAMES[module])


def _uses(tree: ast.Module, names: dict[str, str]) -> Iterator[Violation]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            dotted = _dotted(node, names)
            if dotted in NAMES:
                yield Violation(node.lineno, dotted, NAMES[dotted])
            if node.attr in METHODS:
                yield Violation(node.lineno, node.attr, METHODS[node.attr])
        elif isinstance(node, ast.Call):
            name = _name_of(node.func)
            if name in BUILTINS and name not in names:
                yield Violation(node.lineno, name, BUILTINS[name])


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        parent = _dotted(node.value, names)
        return f"{parent}.{node.attr}" if parent else ""
    return names.get(node.id, "") if isinstance(node, ast.Name) else ""


# --- sets ------------------------------------------------------------------------------------------------------------


def _set_iterations(tree: ast.Module) -> Iterator[Violation]:
    attributes = frozenset(name for name in _known_sets(ast.walk(tree)) if "." in name)
    yield from _iterations_in(_of_scope(tree), attributes)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _iterations_in(_of_scope(node), attributes)


def _of_scope(scope: ast.AST) -> list[ast.AST]:
    """The nodes of a function or module without those of the functions in it."""
    found: list[ast.AST] = []
    waiting = [*ast.iter_child_nodes(scope)]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return found


def _iterations_in(nodes: list[ast.AST], attributes: frozenset[str]) -> Iterator[Violation]:
    known = attributes | _known_sets(nodes)
    harmless = _where_order_is_lost(nodes)
    for node in nodes:
        if node in harmless:
            continue
        iterated: list[ast.expr] = []
        if isinstance(node, ast.For | ast.AsyncFor):
            iterated = [node.iter]
        elif isinstance(node, ast.ListComp | ast.DictComp | ast.GeneratorExp):
            iterated = [generator.iter for generator in node.generators]
        elif isinstance(node, ast.Call) and _name_of(node.func) in _ORDER_IS_KEPT:
            iterated = [*node.args]
        elif isinstance(node, ast.Starred):
            iterated = [node.value]
        for each in iterated:
            if _is_set(each, known):
                yield Violation(each.lineno, UNORDERED, SORTED)


def _where_order_is_lost(nodes: list[ast.AST]) -> set[ast.AST]:
    """Arguments of `sorted`, `sum` and their like, what goes into another set, and loops that only assert."""
    lost: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.Call) and _name_of(node.func) in _ORDER_IS_LOST:
            lost.update(node.args)
        elif isinstance(node, ast.Set):
            lost.update(node.elts)
        elif isinstance(node, ast.For) and all(isinstance(each, ast.Assert) for each in node.body):
            lost.add(node)
    return lost


def _known_sets(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names and `self.` attributes that are annotated or assigned as sets."""
    known: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
            target = ast.Name(node.arg) if isinstance(node, ast.arg) else node.target
            annotation = node.annotation
            head = annotation.value if isinstance(annotation, ast.Subscript) else annotation
            if _name_of(head) in _SET_MAKERS:
                known[_target_name(target)] = None
        elif isinstance(node, ast.Assign) and _is_set(node.value, frozenset()):
            known.update({_target_name(target): None for target in node.targets})
    return frozenset(known) - {""}


def _is_set(node: ast.expr, known: frozenset[str]) -> bool:
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in _SET_MAKERS
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor):
        return _is_set(node.left, known) or _is_set(node.right, known)
    return _target_name(node) in known


def _target_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


# --- tasks -----------------------------------------------------------------------------------------------------------


def _forgotten_tasks(tree: ast.Module) -> Iterator[Violation]:
    """The event loop keeps only weak references: a task that nobody holds may vanish, and its failure with it. A task
    group holds its own."""
    groups = set(_task_groups(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            function = node.value.func
            if isinstance(function, ast.Attribute) and _name_of(function.value) in groups:
                continue
            name = function.attr if isinstance(function, ast.Attribute) else _name_of(function)
            if name in _TASK_MAKERS:
                yield Violation(node.lineno, FORGOTTEN_TASK, "keep it until it is done, and look at how it ended")


def _task_groups(tree: ast.Module) -> Iterator[str]:
    """Names that stand for a task group: bound by `async with`, or parameters that say so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.withitem) and isinstance(node.context_expr, ast.Call):
            made = node.context_expr.func
            is_group = isinstance(made, ast.Attribute) and made.attr == "TaskGroup"
            if is_group and isinstance(node.optional_vars, ast.Name):
                yield node.optional_vars.id
        elif isinstance(node, ast.arg) and isinstance(node.annotation, ast.Attribute):
            yield from [node.arg] * (node.annotation.attr == "TaskGroup")
