"""Writes the README of the Helm chart from its values and the comments above them.

`python -m docs.chart_readme` writes it; a test fails when it is stale.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

REPOSITORY = Path(__file__).resolve().parents[1]
CHART = "helm/acklog"
README = f"{CHART}/README.md"
_KEY = re.compile(r"^(?P<indent> *)(?P<name>[A-Za-z][\w-]*):(?P<rest>.*)$")

HEAD = """# The chart

Acklog on Kubernetes: storage nodes, gateways and etcd, or all in one pod. How to install, upgrade and scale it is in
[docs/kubernetes.md](../../docs/kubernetes.md).

```sh
helm install acklog helm/acklog --set auth.insecure=true     # for trying out: no tokens
```

## Values

What is not in this table is refused.

| value | default | what it is |
|---|---|---|
"""


class Row(NamedTuple):
    path: str
    default: Any
    text: str


def rows(content: str) -> list[Row]:
    """The values with a comment of their own, and those that have none and hold no others."""
    values = yaml.safe_load(content)
    found: list[Row] = []
    place: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in content.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            comment.append(stripped.removeprefix("#").strip())
            continue
        match = _KEY.match(line)
        if match is not None:
            indent = len(match["indent"])
            place = [*(each for each in place if each[0] < indent), (indent, match["name"])]
            names = [name for _, name in place]
            parent = ".".join(names[:-1])
            if comment or (match["rest"].strip() and not any(row.path == parent for row in found)):
                found.append(Row(".".join(names), _value(values, names), " ".join(comment)))
        comment = []
    return found


def generated() -> str:
    """The whole README, as it should be."""
    lines = []
    for path, default, text in rows((REPOSITORY / CHART / "values.yaml").read_text()):
        lines.append(f"| `{path}` | {_shown(default)} | {text.replace('|', chr(92) + '|')} |")
    return HEAD + "\n".join(lines) + "\n"


def _value(values: Any, names: list[str]) -> Any:
    for name in names:
        values = values[name]
    return values


def _shown(value: Any) -> str:
    return "" if value in ("", {}, []) else f"`{value if isinstance(value, str) else json.dumps(value)}`"


if __name__ == "__main__":
    (REPOSITORY / README).write_text(generated())
