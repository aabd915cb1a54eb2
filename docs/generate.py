"""Writes the parts of the documentation that are tables of the code's own facts.

`python -m docs.generate` writes them; a test fails when they are stale.
"""

import ast
import inspect
import re
from dataclasses import fields
from pathlib import Path
from textwrap import dedent

from acklog.command.mirror_metrics import MEANINGS
from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.configuration.etcd_options import EtcdOptions
from app.configuration.jwt_options import JwtOptions
from app.configuration.node_options import NodeOptions
from app.configuration.node_settings import numeric_settings
from app.configuration.server_settings import ENVIRONMENT_PREFIX, NODE_PREFIX, Settings, option_of
from app.configuration.tls_options import PeerOptions, TlsOptions
from app.configuration.trace_options import TraceOptions
from app.configuration.worker_options import WorkerOptions
from app.http.description.openapi import openapi_document
from app.http.description.remedies import REMEDIES
from app.http.exchange.request_body import ADMINISTRATION_BYTES_MAX, COMMIT_BYTES_MAX, JOIN_BYTES_MAX
from app.http.openapi_file import standalone_app
from app.http.parsing.message_properties import PROPERTIES
from cluster.catalog.catalog_change import CatalogSettings
from docs.alert_faults import alert_faults_table
from docs.alerts_table import alerts_table
from docs.dashboards import dashboard_files
from docs.fuzz_targets_table import fuzz_targets_table
from docs.metrics_table import metrics_table
from docs.sqs_calls_table import sqs_calls_table
from docs.third_party import third_party_table

REPOSITORY = Path(__file__).resolve().parents[1]
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
    """Path in the repository to the whole content, as it should be."""
    documents = dashboard_files()
    for path, parts in PARTS.items():
        document = (REPOSITORY / path).read_text()
        for name, table in parts.items():
            document = _replace(document, name, table())
        documents[path] = document
    return documents


def limits_table() -> str:
    """What a client can run into. What lies beyond is in the API's own documentation, call by call."""
    mib = KIB * KIB
    rows = [
        ("a message's body", f"{limits.MESSAGE_BODY_BYTES_MAX // mib} MiB", "413 `MESSAGE_TOO_LARGE`"),
        (
            "a request",
            f"{limits.REQUEST_BODY_BYTES_MAX // mib} MiB unpacked, {limits.REQUEST_MESSAGES_MAX:,} messages",
            "413 `REQUEST_TOO_LARGE`, `TOO_MANY_MESSAGES`; nothing is stored",
        ),
        (
            "a request that administers",
            f"{ADMINISTRATION_BYTES_MAX // KIB} KiB; {JOIN_BYTES_MAX // KIB} KiB to join a group, "
            f"{COMMIT_BYTES_MAX // KIB:,} KiB to commit positions or seek",
            "413 `REQUEST_TOO_LARGE`",
        ),
        *((*each.property.limit, "400 `INVALID_FIELD`") for each in PROPERTIES if each.property.limit is not None),
        (
            "recurring schedules",
            f"{CatalogSettings().recurring_max:,}, with messages of {limits.RECURRING_BODY_BYTES_MAX // KIB} KiB",
            "409 `TOO_MANY_SCHEDULES`, 413 `MESSAGE_TOO_LARGE`",
        ),
        (
            "namespaces",
            f"{CatalogSettings().namespaces_max:,}, with names of {limits.NAMESPACE_LENGTH_MAX} characters",
            "409 `TOO_MANY_NAMESPACES`, 400 `INVALID_NAME`",
        ),
        ("a message's text in JSON", f"{limits.MESSAGE_TEXT_BYTES_MAX // KIB**2} MiB", "413 `MESSAGE_TOO_LARGE`"),
        ("gzip members of a request", f"{limits.GZIP_MEMBERS_MAX:,}", "413 `REQUEST_TOO_LARGE`"),
        ("nesting of JSON", f"{limits.JSON_DEPTH_MAX} objects and arrays", "400 `INVALID_FIELD`"),
        (
            "partitions of a topic",
            f"{limits.PARTITIONS_MAX:,}; {limits.PARTITIONS_DEFAULT} by default",
            "400 `INVALID_FIELD`",
        ),
        (
            "`max` of a receive",
            f"{limits.RECEIVE_MESSAGES_MAX:,}; {limits.RECEIVE_MESSAGES_DEFAULT} by default",
            "400 `INVALID_FIELD`",
        ),
        ("`waitSeconds`", f"{limits.WAIT_SECONDS_MAX}", "400 `INVALID_FIELD`"),
        (
            "a lease",
            f"{limits.VISIBILITY_SECONDS_MAX // 3600} hours; {limits.VISIBILITY_SECONDS_DEFAULT} s by default",
            "400 `INVALID_FIELD`",
        ),
        (
            "leased per group and partition",
            f"{limits.IN_FLIGHT_MAX:,}",
            "an empty answer with the reason `IN_FLIGHT_LIMIT`",
        ),
        (
            "attempts",
            f"{limits.MAX_ATTEMPTS_MAX:,}; {limits.MAX_ATTEMPTS_DEFAULT} by default",
            "then the message goes to the dead-letter topic",
        ),
        (
            "window of idempotency keys",
            f"{limits.DEDUP_WINDOW_MS_MAX // 60_000} minutes; {limits.DEDUP_WINDOW_MS_DEFAULT // 60_000} by default",
            "afterwards a key is new again",
        ),
        ("what waits for the disk", "in bytes, by settings", "429 `OVERLOADED` with `Retry-After`; nothing is lost"),
    ]
    head = ["| what | limit | beyond it |", "|---|---|---|"]
    return "\n".join([*head, *(f"| {what} | {limit} | {beyond} |" for what, limit, beyond in rows)]) + "\n"


def needed_rights_table() -> str:
    """By route, as openapi.yaml lists them."""
    described = openapi_document(standalone_app())["paths"]
    rows = [
        f"| `{method.upper()} {path}` | {operation['x-rights']} |"
        for path, operations in described.items()
        for method, operation in operations.items()
    ]
    return "\n".join(["| call | needs |", "|---|---|", *rows]) + "\n"


def server_settings_table() -> str:
    return options_table(Settings)


def worker_options_table() -> str:
    return options_table(WorkerOptions)


def node_options_table() -> str:
    return options_table(NodeOptions)


def etcd_options_table() -> str:
    return options_table(EtcdOptions)


def tls_options_table() -> str:
    return options_table(TlsOptions)


def jwt_options_table() -> str:
    return options_table(JwtOptions)


def peer_options_table() -> str:
    return options_table(PeerOptions)


def trace_options_table() -> str:
    return options_table(TraceOptions)


def options_table(kind: type[Settings | NodeOptions | EtcdOptions | TlsOptions | PeerOptions | TraceOptions]) -> str:
    rows = ["| option | variable | default | may be | what it does |", "|---|---|---|---|---|"]
    for each in fields(kind):
        metadata = each.metadata
        bounds = ""
        if "minimum" in metadata:
            bounds = f"{_figure(each.name, metadata['minimum'])} to {_figure(each.name, metadata['maximum'])}"
        if isinstance(each.default, bool):
            bounds = "true, false"
        variable = ENVIRONMENT_PREFIX + each.name.upper()
        is_within = "minimum" not in metadata or each.default >= metadata["minimum"]
        default = _default(each.name, each.default) if is_within else "(none)"
        rows.append(f"| `{option_of(each.name)}` | `{variable}` | {default} | {bounds} | {metadata['help']} |")
    return "\n".join(rows) + "\n"


def node_settings_table() -> str:
    rows = ["| variable | default | what it does |", "|---|---|---|"]
    for each in numeric_settings():
        text = descriptions(each.kind).get(each.field) or EXPLANATIONS[each.field]
        rows.append(f"| `{NODE_PREFIX}{each.name.upper()}` | {_default(each.name, each.default)} | {text} |")
    return "\n".join(rows) + "\n"


def problem_table() -> str:
    rows = ["| code | status | try again? | what happened | what to do |", "|---|---|---|---|---|"]
    rows += [
        f"| `{code.name}` | {code.status} | {'yes' if code.retriable else 'no'} | {code.title} | {REMEDIES[code]} |"
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


def mirror_metrics_table() -> str:
    rows = ["| metric | type | what it tells |", "|---|---|---|"]
    rows += [f"| `{name}` | {kind} | {meaning} |" for name, (kind, meaning) in MEANINGS.items()]
    return "\n".join(rows) + "\n"


def decisions_table() -> str:
    """The decisions in their order, by the titles that they have."""
    lines = []
    for path in sorted((REPOSITORY / "docs" / "adr").glob("[0-9]*.md")):
        number, _, title = path.read_text().partition("\n")[0].removeprefix("# ").partition(". ")
        lines.append(f"{number}. [{title}]({path.name})")
    return "\n".join(lines) + "\n"


PARTS = {
    "README.md": {"limits": limits_table},
    "docs/errors.md": {"problem codes": problem_table},
    "docs/fuzzing.md": {"fuzz targets": fuzz_targets_table},
    "docs/operations.md": {
        "server settings": server_settings_table,
        "worker options": worker_options_table,
        "node settings": node_settings_table,
        "node options": node_options_table,
        "etcd options": etcd_options_table,
    },
    "docs/security.md": {"jwt options": jwt_options_table, "needed rights": needed_rights_table},
    "docs/tracing.md": {"trace options": trace_options_table},
    "docs/tls.md": {"tls options": tls_options_table, "peer options": peer_options_table},
    "docs/runbooks/README.md": {"alerts": alerts_table, "alert faults": alert_faults_table},
    "docs/mirror.md": {"mirror metrics": mirror_metrics_table},
    "docs/metrics.md": {"metrics": metrics_table},
    "docs/third-party.md": {"third parties": third_party_table},
    "docs/sqs.md": {"sqs calls": sqs_calls_table},
    "docs/adr/README.md": {"decisions": decisions_table},
}


def main() -> None:
    """Write what is stale."""
    for name, content in generated().items():
        path = REPOSITORY / name
        if not path.exists() or path.read_text() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)


if __name__ == "__main__":
    main()
