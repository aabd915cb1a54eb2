"""One record of the audit log: who did what, from where, and what came of it. Its JSON is a message of `__audit`."""

from enum import Enum
from typing import Annotated, Any

import msgspec

from acklog.wire.problems import ProblemCode
from app.audit.plain_value import printable

BeforeAndAfter = Annotated[list[Any], msgspec.Meta(min_length=2, max_length=2, extra_json_schema={"items": {}})]
TEXT_LENGTH_MAX = 500
"""Characters of what a client says of itself, and of what it was told."""


class AuditResult(Enum):
    INTENDED = "intended"  # it is about to be done: the record with the same id says what came of it
    ALLOWED = "allowed"
    REFUSED = "refused"
    FAILED = "failed"
    UNKNOWN = "unknown"  # it may have been done


class AuditedPrincipal(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`kind` says where its token is from. `token_id` is no secret, and stored tokens alone have one."""

    name: str
    kind: str
    token_id: str = ""


class AuditRecord(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Times are in milliseconds since 1970. `id` names the act: two records have the same where the first one says what
    is intended, and the other what came of it. `principal` None: nobody knows who it was.

    `needs` are the rights that the operation takes, `asked` what the request says of what is to be done, `changed` what
    the gateway saw before and after it: [before, after] by the setting's path. With `count` the record stands for so
    many refusals: in one request, or with `until` of one kind, the last of which was then.
    """

    id: str
    time: int
    result: AuditResult
    operation: str = ""
    method: str = ""
    route: str = ""
    names: dict[str, str] = {}
    needs: list[str] = []
    principal: AuditedPrincipal | None = None
    address: str = ""
    status: int = 0
    code: str = ""
    field: str = ""
    detail: str = ""
    request_id: str = ""
    trace_id: str = ""
    asked: dict[str, Any] = {}
    changed: dict[str, BeforeAndAfter] = {}
    count: int = 0
    until: int = 0
    operations: list[str] = []
    offset: int = -1
    """Where it is in the log; not stored."""


def result_of(status: int, code: str) -> AuditResult:
    if status in (401, 403):
        return AuditResult.REFUSED
    if code in (ProblemCode.OUTCOME_UNKNOWN.name, ProblemCode.TIMED_OUT.name):
        return AuditResult.UNKNOWN
    return AuditResult.ALLOWED if status < 400 else AuditResult.FAILED


def shown(text: str, length_max: int = TEXT_LENGTH_MAX) -> str:
    """What may stand in a record of a text that somebody else chose."""
    return printable(text[:length_max])
