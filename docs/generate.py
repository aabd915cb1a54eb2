"""Writes the parts of the documentation that are tables of the code's own facts.

`python -m docs.generate` writes them; a test fails when they are stale.
"""

import ast
import inspect
import re
from dataclasses import fields
from pathlib import Path
from textwrap import dedent

from acklog.wire.problems import ProblemCode
from app.node_settings import numeric_settings
from app.settings import ENVIRONMENT_PREFIX, NODE_PREFIX, Settings, option_of
from storage.log.settings import LogStoreSettings
from storage.node.settings import NodeSettings

DOCS = Path(__file__).resolve().parent
KIB = 1024

# What the settings' own source says in no docstring.
EXPLANATIONS = {
    "partitions_opened_at_once": "Partitions that are opened at a time when a server starts.",
    "delivery_segment_bytes": "Size of a segment of a partition's delivery log.",
    "dead_letters_at_once": "Messages that one step moves to a dead-letter topic.",
    "dead_letter_retry_ms": "Pause before dead letters that could not be written are tried again.",
    "retention_interval_ms": "How often retention looks at the partitions.",
    "retry_after_ms": "The `Retry-After` of answers that say that the disk is busy or full.",
}


def generated() -> dict[str, str]:
    """File name in docs/ to its whole content, as it should be."""
    operations = (DOCS / "operations.md").read_text()
    operations = _replace(operations, "server settings", server_settings_table())
    operations = _replace(operations, "node settings", node_settings_table())
    errors = _replace((DOCS / "errors.md").read_text(), "problem codes", problem_table())
    return {"operations.md": operations, "errors.md": errors}


def server_settings_table() -> str:
    rows = ["| option | variable | default | may be | what it does |", "|---|---|---|---|---|"]
    for each in fields(Settings):
        metadata = each.metadata
        bounds = ""
        if "minimum" in metadata:
            bounds = f"{_figure(each.name, metadata['minimum'])} to {_figure(each.name, metadata['maximum'])}"
        if isinstance(each.default, bool):
            bounds = "true, false"
        variable = ENVIRONMENT_PREFIX + each.name.upper()
        default = _default(each.name, each.default)
        rows.append(f"| `{option_of(each.name)}` | `{variable}` | {default} | {bounds} | {metadata['help']} |")
    return "\n".join(rows) + "\n"


def node_settings_table() -> str:
    rows = ["| variable | default | what it does |", "|---|---|---|"]
    for kind in (NodeSettings, LogStoreSettings):
        described = descriptions(kind)
        for name, default in numeric_settings(kind).items():
            text = described.get(name) or EXPLANATIONS[name]
            rows.append(f"| `{NODE_PREFIX}{name.upper()}` | {_default(name, default)} | {text} |")
    return "\n".join(rows) + "\n"


def problem_table() -> str:
    rows = ["| code | status | try again? | what happened |", "|---|---|---|---|"]
    rows += [
        f"| `{code.name}` | {code.status} | {'yes' if code.retriable else 'no'} | {code.title} |"
        for code in ProblemCode
    ]
    return "\n".join(rows) + "\n"


def descriptions(kind: type) -> dict[str, str]:
    """What a settings class says of its fields: in strings below them, or in a list in its docstring."""
    [tree] = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    name = ""
    for line in (ast.get_docstring(tree) or "").splitlines():
        match = re.fullmatch(r"(\w+)  +(\S.*)", line)
        if match is not None:
            name = match[1]
            found[name] = match[2]
        elif name and line.startswith("  "):
            found[name] += " " + line.strip()
    for statement, following in zip(tree.body, tree.body[1:], strict=False):
        if not isinstance(statement, ast.AnnAssign):
            continue
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            found[ast.unparse(statement.target)] = " ".join(str(following.value.value).split())
    return {field: _sentence(text) for field, text in found.items()}


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:].rstrip(".") + "."


def _default(name: str, value: object) -> str:
    if value == "":
        return "(none)"
    if isinstance(value, bool):
        return str(value).lower()
    return _figure(name, value) if isinstance(value, int) else f"`{value}`"


def _figure(name: str, value: int) -> str:
    """Bytes as powers of 1024 where they are a multiple of one."""
    if name == "port":
        return str(value)
    for unit, size in (("GiB", KIB**3), ("MiB", KIB**2), ("KiB", KIB)):
        if "bytes" in name and value >= size and not value % size:
            return f"{value // size:,} {unit}"
    return f"{value:,}"


def _replace(document: str, name: str, content: str) -> str:
    """Put `content` between the two comments that mark the generated part `name`."""
    begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->"
    head, _, rest = document.partition(begin)
    _, marker, tail = rest.partition(end)
    if not marker:
        raise ValueError(f"the part {name!r} is not marked")
    return f"{head}{begin}\n{content}\n{end}{tail}"


def main() -> None:
    """Write what is stale."""
    for name, content in generated().items():
        path = DOCS / name
        if path.read_text() != content:
            path.write_text(content)


if __name__ == "__main__":
    main()
