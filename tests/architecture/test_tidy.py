"""Size, shape and cleanliness of the source. What is not kept yet stands in a table that may only shrink."""

import ast
import re

import pytest

from tests.architecture.source_tree import (
    Module,
    functions,
    product_modules,
    python_modules,
    text_files,
)

MODULE_LINES_MAX = 400
REASONED_LINES_MAX = 300
TEST_MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70

# Path, or path and function: how many lines it may have until it is taken apart.
LONG_MODULES: dict[str, int] = {}
LONG_FUNCTIONS: dict[tuple[str, str], int] = {}

# Modules of the product beyond REASONED_LINES_MAX: why that is one noun all the same. Look for a second one first.
LONG_FOR_A_REASON = {
    "acklog/client/async_catalog.py": "one call beside the next: all that can be asked of topics and of groups",
    "acklog/catalog.py": "one struct beside the next: topics and groups as the API describes them",
    "acklog/client/async_client.py": "one call beside the next, each with its docstring",
    "acklog/client/client.py": "the client without `await` has every call of the other one, each with its docstring",
    "acklog/command/commands/cluster.py": "one command beside the next, most of it options and help",
    "acklog/command/commands/topics.py": "one command beside the next, most of it options and help",
    "acklog/command/server_checks.py": "one check beside the next; what several need is in `checkup`",
    "acklog/consumer/engine.py": "the life of one consumer: what its tasks do ends in an order that is here",
    "acklog/wire/batch.py": "the table of the format, and both directions of each of its fields",
    "acklog/errors.py": "one class for each problem code, so that users can catch it",
    "app/gateway/batching/coalescer.py": "a wave from its first message to its last answer; much of it explains why",
    "app/gateway/routing.py": "what may be tried again after which failure: one decision for three kinds of calls",
    "app/http/description/example_answers.py": "parts of one story, so that its ids and figures fit together",
    "app/http/description/operations.py": "a table: what the description says of each call",
    "app/http/protocol/limited_protocol.py": "every limit hangs on a callback of the one class that uvicorn wants",
    "app/http/description/schemas.py": "one schema beside the next: all that the document names",
    "app/sqs/shapes.py": "one struct beside the next: written from the description of the calls",
    "cluster/catalog/topic_admin.py": "what users decide of a topic: one compare-and-set beside the next",
    "app/services/catalog.py": "topics, partitions and groups are found by the same steps, each of which may refuse",
    "app/services/polls.py": "a long poll is made of the asking that a short one does, and gives back through it",
    "app/services/settle.py": "ack, nack and extend differ in a word; the way of an item is the same",
    "cluster/metadata/metadata_view.py": "one part of the copy beside the next, all fed by the same watch",
    "cluster/model/values.py": "one value beside the next: all that the coordination store holds of topics and groups",
    "storage/check/directory_check.py": "the order of the checks: each relies on what those before it said",
    "storage/delivery/exclusive_delivery.py": "what is asked of a group, most of it passed on; the rest is one order",
    "storage/delivery/group_delivery.py": "what is asked of a group; most of it is decided elsewhere",
    "storage/delivery/group_progress.py": "what each kind of record makes durable, and how the whole is written down",
    "storage/delivery/group_state.py": "what a record does, and what its failure undoes: each speaks of every field",
    "storage/log/group_commit.py": "a round is one chain of callbacks, and reads from top to bottom",
    "storage/log/log_reader.py": "reads by offset, by time and for the scrub go the same way through the segments",
    "storage/log/partition_log.py": "all that a log can be asked, each with its docstring; what is done is elsewhere",
    "storage/check/findings.py": "one table: all that a check finds, what it means, and what to do",
    "storage/log/recovery.py": "one log's way back, in steps that each need what the ones before have found",
    "storage/node/groups/partition_groups.py": "receive, settle and seek of a group change the same state in turn",
    "storage/node/partition/partition_host.py": "the only writer of its log: what it has under way is in one place",
    "storage/node/replicas/replica_host.py": "does each effect of one machine; what takes long to do has a module",
    "storage/node/replicas/replicas.py": "the one loop that takes up, informs and lets go, and the answers about it",
    "storage/node/storage_node.py": "puts the parts of a node together and names every call that others make of it",
    "storage/replication/leader_replica.py": "one state machine; its parts have modules, their order is here",
    "storage/rpc/messages.py": "one struct beside the next: all that a gateway and a node say to each other",
    "storage/rpc/server_connection.py": "a stream's handler: limits, requests under way and answers are one count",
}

# `__init__.py` files with more than re-exports, and why.
CODE_IN_INIT: dict[str, str] = {
    "acklog/__init__.py": "its names on demand: a server's command heeds signals before anything is loaded",
    "acklog/command/__init__.py": "likewise",
    "spark/pyspark_acklog/__init__.py": "DefaultSource on demand: the commands are there without pyspark",
}

UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.-])/(?:work|root|home|tmp|Users|mnt|opt)(?:/|\b)")
REGISTRY_HOSTS = re.compile(
    # Spelt with gaps, so that the rule does not break itself.
    r"py[p]i\.org|python[h]osted\.org|registry\.npm[j]s|crates[.]io|ruby[g]ems\.org|proxy\.golan[g]\.org|"
    r"(?:index|registry-1?)\.docker\.io|repo1?\.mave[n]|conda\.anacond[a]\.org",
    re.IGNORECASE,
)
ROUTE_METHODS = frozenset(
    {"add_api_route", "api_route", "delete", "exception_handler", "get", "head", "middleware", "options", "patch"}
    | {"post", "put", "route", "trace"}
)


def test_modules_are_short() -> None:
    """One noun per file: a long module is a sign that two things live in it."""
    too_long = {path: lines for path, lines in _long_modules().items() if lines > LONG_MODULES.get(path, 0)}
    assert too_long == {}


def test_long_modules_have_a_reason() -> None:
    found = [path for path in _worth_a_reason() if path not in LONG_FOR_A_REASON]
    assert found == [], "is there a second noun in it?"


def _worth_a_reason() -> list[str]:
    return [module.path for module in product_modules() if module.source.count("\n") > REASONED_LINES_MAX]


def _long_modules() -> dict[str, int]:
    found = {}
    for module in python_modules():
        lines = module.source.count("\n")
        if lines > (TEST_MODULE_LINES_MAX if module.path.startswith("tests/") else MODULE_LINES_MAX):
            found[module.path] = lines
    return found


def test_functions_are_short() -> None:
    found = {
        (module.path, function.name): lines
        for module in python_modules()
        for function, lines in _lengths(module)
        if lines > FUNCTION_LINES_MAX
    }
    too_long = {place: lines for place, lines in found.items() if lines > LONG_FUNCTIONS.get(place, 0)}
    assert too_long == {}


def test_the_tables_of_exceptions_shrink() -> None:
    """What has become short leaves the table, so that it stays short."""
    long_functions = [
        (module.path, function.name)
        for module in python_modules()
        for function, lines in _lengths(module)
        if lines > FUNCTION_LINES_MAX
    ]
    with_code = [module.path for module in python_modules() if module.is_package and _code_in(module)]
    assert sorted(set(LONG_MODULES) - set(_long_modules())) == []
    assert sorted(set(LONG_FOR_A_REASON) - set(_worth_a_reason())) == []
    assert sorted(set(LONG_FUNCTIONS) - set(long_functions)) == []
    assert sorted(set(CODE_IN_INIT) - set(with_code)) == []


def _lengths(module: Module) -> list[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int]]:
    return [(each, (each.end_lineno or each.lineno) - each.lineno + 1) for each in functions(module.tree)]


def test_packages_hold_no_code_of_their_own() -> None:
    found = [
        f"{module.path}:{line}"
        for module in python_modules()
        if module.is_package and module.path not in CODE_IN_INIT
        for line in _code_in(module)
    ]
    assert found == []


def _code_in(module: Module) -> list[int]:
    """Lines of an `__init__.py` with anything but a docstring, imports and `__all__`."""
    return [node.lineno for node in module.tree.body if not _is_re_export(node)]


def _is_re_export(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]


def test_every_module_says_what_it_is() -> None:
    found = [
        module.path
        for module in python_modules()
        if not module.is_package and not _is_a_test(module) and not ast.get_docstring(module.tree)
    ]
    assert found == []


def _is_a_test(module: Module) -> bool:
    """Its name and those of its functions say it."""
    name = module.path.rpartition("/")[2]
    return module.path.startswith("tests/") and (name.startswith("test_") or name == "conftest.py")


def test_nothing_is_left_unfinished() -> None:
    found = [
        f"{path}:{number}"
        for path, content in text_files()
        for number, line in enumerate(content.splitlines(), start=1)
        if UNFINISHED.search(line)
    ]
    assert found == []


def test_endpoints_run_on_the_event_loop() -> None:
    """A plain `def` endpoint or dependency runs in a thread of the framework's: outside the simulation, and slower."""
    found = [
        f"{module.path}:{line}"
        for module in product_modules()
        if module.path.startswith("app/")
        for line in _plain_endpoints(module.tree)
    ]
    assert found == []


def _plain_endpoints(tree: ast.Module) -> list[int]:
    plain = {node.name: node.lineno for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    lines = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(_is_route(decorator) for decorator in node.decorator_list)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            is_registration = isinstance(node.func, ast.Attribute) and node.func.attr in {"add_api_route", "add_route"}
            is_dependency = isinstance(node.func, ast.Name) and node.func.id in {"Depends", "Security"}
            if is_registration or is_dependency:
                names = [argument.id for argument in node.args if isinstance(argument, ast.Name)]
                lines += [plain[name] for name in names if name in plain]
    return sorted(lines)


def _is_route(decorator: ast.expr) -> bool:
    return (
        isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and decorator.func.attr in ROUTE_METHODS
    )


def test_the_product_knows_no_machine() -> None:
    """Paths of somebody's machine in the product's strings; defaults are relative, the rest is a setting."""
    found = [
        f"{module.path}:{node.lineno}: {node.value[:60]!r}"
        for module in product_modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and MACHINE_PATHS.search(node.value)
    ]
    assert found == []


def test_the_repository_names_no_package_registry() -> None:
    """Where packages come from is the business of each machine's own set-up."""
    found = [
        f"{path}:{number}"
        for path, content in text_files()
        if path != "tests/architecture/test_tidy.py"
        for number, line in enumerate(content.splitlines(), start=1)
        if REGISTRY_HOSTS.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("@router.get('/x')\ndef f(): ...\n", [2]),
        ("@router.get('/x')\nasync def f(): ...\n", []),
        ("def f(): ...\nrouter.add_api_route('/x', f)\n", [1]),
        ("def f(): ...\nasync def g(x=Depends(f)): ...\n", [1]),
        ("@cache.setting('x')\ndef f(): ...\n", []),
    ],
)
def test_plain_endpoints_are_found(source: str, lines: list[int]) -> None:
    assert _plain_endpoints(ast.parse(source)) == lines


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("/tmp/x", True),
        ("open /home", True),
        ("file:///" + "root/a", True),
        ("/homepage", False),
        ("a/tmp", False),
        ("/topics/{topic}", False),
        ("/working", False),
    ],
)
def test_machine_paths_are_found(text: str, is_found: bool) -> None:
    assert (MACHINE_PATHS.search(text) is not None) is is_found


def test_code_in_a_package_is_found() -> None:
    module = Module("x/__init__.py", '"""Doc."""\n\nimport a\n\n__all__ = ["a"]\nx = 1\n\n\ndef f(): ...\n')
    assert _code_in(module) == [6, 9]


def test_unfinished_work_is_found() -> None:
    for word in ("to" + "do", "fix" + "me", "xx" + "x"):
        assert UNFINISHED.search(f"# {word.upper()}: later")
    assert not UNFINISHED.search("a hackathon, a todo list")
