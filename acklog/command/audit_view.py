"""Records of the audit log as a person sees them."""

from typing import TYPE_CHECKING

from acklog.command.output import json_text
from acklog.command.times import clock_text
from acklog.command.views import Cell, Column, Sentence, Style, Table

if TYPE_CHECKING:
    from acklog.audit import AuditEntry

CHANGES_SHOWN_MAX = 5

_STYLES: dict[str, Style] = {"allowed": "good", "refused": "bad", "failed": "warning", "unknown": "warning"}
_COLUMNS = (
    Column("time", may_wrap=False),
    Column("who", style="name"),
    Column("from"),
    Column("operation"),
    Column("on"),
    Column("result"),
    Column("what"),
)


def audit_table(records: "list[AuditEntry]") -> Table:
    return Table(_COLUMNS, [_row(each) for each in records], empty="Nothing is recorded of that time.")


def audit_line(record: "AuditEntry") -> Sentence:
    """For a stream of them."""
    texts = [each.text if isinstance(each, Cell) else each for each in _row(record)]
    return Sentence("  ".join(filter(None, texts)), _STYLES.get(record.result, ""))


def _row(record: "AuditEntry") -> list[Cell | str]:
    return [
        clock_text(record.time_ms),
        record.principal.name if record.principal is not None else "-",
        record.address,
        record.operation or ", ".join(record.operations),
        ", ".join(f"{kind} {name}" for kind, name in record.names.items()),
        Cell(" ".join(filter(None, (record.result, record.code))), _STYLES.get(record.result, "")),
        _what(record),
    ]


def _what(record: "AuditEntry") -> str:
    if record.until_ms:
        return f"{record.count:,} more of these until {clock_text(record.until_ms)}"
    if record.detail:
        return f"{record.count:,} in one request: {record.detail}" if record.count else record.detail
    changed = [f"{path}: {json_text(each[0])} → {json_text(each[-1])}" for path, each in record.changed.items() if each]
    if changed:
        more = len(changed) - CHANGES_SHOWN_MAX
        return ", ".join(changed[:CHANGES_SHOWN_MAX]) + (f", and {more} more" if more > 0 else "")
    return ", ".join(f"{name}: {json_text(value)}" for name, value in record.asked.items())
