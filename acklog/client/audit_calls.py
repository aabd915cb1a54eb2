"""The calls about the audit log."""

from acklog.audit import AuditPage
from acklog.client.call import Call, Request, read_as, target

_read_page = read_as(AuditPage)


def read_audit(
    *,
    since_ms: int | None,
    until_ms: int | None,
    who: str | None,
    operation: str | None,
    result: str | None,
    limit: int | None,
    after: int | None,
) -> Call[AuditPage]:
    query = [
        ("since", since_ms),
        ("until", until_ms),
        ("who", who),
        ("operation", operation),
        ("result", result),
        ("max", limit),
        ("after", after),
    ]
    return Call(Request("GET", target("/audit", query)), _read_page)
