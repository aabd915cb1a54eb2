"""The audit log as the API describes it. Times are in milliseconds since 1970."""

from typing import Any

import msgspec
from msgspec import field


class AuditedCaller(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Who asked. `kind`: anyone, or by what they were let in: file, stored, jwt or certificate."""

    name: str
    kind: str
    token_id: str = field(name="tokenId", default="")


class AuditEntry(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One record. `result`: intended, allowed, refused, failed or unknown. `needs` are the rights that the operation
    takes, `asked` what the request says of what is to be done, `changed` [before, after] by the setting's path. With
    `count` it stands for so many refusals: in one request, or of one kind, the last of which was at `until_ms`."""

    id: str
    time_ms: int = field(name="time")
    result: str
    operation: str = ""
    method: str = ""
    route: str = ""
    names: dict[str, str] = field(default_factory=dict)
    needs: list[str] = field(default_factory=list)
    principal: AuditedCaller | None = None
    address: str = ""
    status: int = 0
    code: str = ""
    field_name: str = field(name="field", default="")
    detail: str = ""
    request_id: str = field(name="requestId", default="")
    trace_id: str = field(name="traceId", default="")
    asked: dict[str, Any] = field(default_factory=dict)
    changed: dict[str, list[Any]] = field(default_factory=dict)
    count: int = 0
    until_ms: int = field(name="until", default=0)
    operations: list[str] = field(default_factory=list)
    offset: int = -1


class AuditPage(msgspec.Struct, kw_only=True):
    """In the order of the log. `next` is where to go on; `at_end` says that there is nothing behind it yet."""

    records: list[AuditEntry]
    next: int
    at_end: bool = field(name="atEnd")
