"""Whatever a failure tells beside its text is in the schema of problems, which allows nothing else."""

import ast
from collections.abc import Iterator

from app.http.description.schemas import all_schemas
from tests.architecture.source_tree import product_modules

_BETWEEN_NODES = {"messageOffset", "messageEpoch"}
"""Those are told to clients in other words (`app.services.scheduled`)."""


def extras(tree: ast.AST) -> Iterator[str]:
    """The names in dictionaries that are handed on as `extra`, or written into one."""
    for node in ast.walk(tree):
        values: list[ast.expr | None] = []
        if isinstance(node, ast.keyword) and node.arg == "extra":
            values = [node.value]
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            if any(isinstance(each, ast.Name) and each.id == "extra" for each in targets):
                values = [node.value]
            for each in targets:
                is_into_extra = isinstance(each, ast.Subscript) and ast.unparse(each.value).endswith("extra")
                if is_into_extra and isinstance(each, ast.Subscript) and isinstance(each.slice, ast.Constant):
                    yield str(each.slice.value)
        for value in values:
            if isinstance(value, ast.Dict):
                yield from (str(key.value) for key in value.keys if isinstance(key, ast.Constant))


def test_everything_that_a_failure_tells_is_described() -> None:
    told = {
        name
        for module in product_modules()
        if module.path.startswith(("app/", "cluster/", "storage/"))
        for name in extras(ast.parse(module.source))
    }
    assert {"logStart", "near", "quota", "jobId", "messageId"} <= told
    described = all_schemas()["Problem"]["properties"]
    assert sorted(told - described.keys() - _BETWEEN_NODES) == []
