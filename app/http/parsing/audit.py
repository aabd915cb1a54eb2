"""What `GET /audit` takes."""

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from app.audit.audit_record import AuditResult
from app.calls.audit import AuditQuery
from app.calls.records import OFFSET_MAX
from app.http.parsing import query
from cluster.errors import ServerError

LISTED_DEFAULT = 100
AUDIT_QUERY = query.QueryTable(
    (
        query.integer("since", 0, limits.TIMESTAMP_MS_MAX, "only what was at this time (ms since 1970) or later"),
        query.integer("until", 0, limits.TIMESTAMP_MS_MAX, "only what was before this time"),
        query.text("who", limits.CALLER_NAME_LENGTH_MAX, "only what the principal of this name did"),
        query.text("operation", limits.NAME_LENGTH_MAX, "only this operation, such as updateTopic"),
        query.choice("result", tuple(each.value for each in AuditResult), "only what came to this"),
        query.integer("max", 1, limits.AUDIT_LISTED_MAX, "records at most", default=LISTED_DEFAULT),
        query.integer("after", 0, OFFSET_MAX, "go on here: `next` of the page before"),
    )
)


def parse_audit(query_string: bytes) -> AuditQuery:
    """Raises ServerError."""
    arguments = AUDIT_QUERY.parse(query_string)
    since_ms, until_ms = arguments.integer("since"), arguments.integer("until")
    if since_ms is not None and until_ms is not None and until_ms < since_ms:
        raise ServerError(ProblemCode.INVALID_FIELD, "is before since", field="until")
    result = arguments.text("result")
    return AuditQuery(
        records_max=arguments.integer("max") or LISTED_DEFAULT,
        after=arguments.integer("after"),
        since_ms=since_ms,
        until_ms=until_ms,
        who=arguments.text("who"),
        operation=arguments.text("operation"),
        result=None if result is None else AuditResult(result),
    )
