"""What a reader of the audit log asks for, and what it gets."""

from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from app.audit.audit_record import AuditRecord, AuditResult


@dataclass(frozen=True, slots=True)
class AuditQuery:
    """None: any. `since_ms` and `until_ms` are of the records' times, the latter exclusive; `after` is the `next` of
    the page before."""

    records_max: int
    after: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    who: str | None = None
    operation: str | None = None
    result: AuditResult | None = None

    def matches(self, record: AuditRecord) -> bool:
        """A sum of refusals is of all its operations, and of the time from its first to its last one."""
        who = None if record.principal is None else record.principal.name
        return (
            (self.since_ms is None or max(record.time, record.until) >= self.since_ms)
            and (self.until_ms is None or record.time < self.until_ms)
            and (self.who is None or who == self.who)
            and (self.operation is None or self.operation in (record.operation, *record.operations))
            and (self.result is None or record.result is self.result)
        )


class AuditListing(msgspec.Struct, rename="camel"):
    """In the order in which they were stored. `next` is where to go on, `atEnd` whether there is nothing behind it yet:
    a page may hold fewer records than asked for, or none, and not be the last one."""

    records: list[AuditRecord]
    next: int
    at_end: bool


class FoundRecords(NamedTuple):
    """`next_offset` is behind all that was looked at."""

    records: list[AuditRecord]
    next_offset: int
    is_full: bool
