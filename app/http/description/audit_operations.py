"""What openapi.yaml says of the audit log."""

from acklog.wire.problems import ProblemCode
from app.http.description.media_types import NDJSON
from app.http.description.operation import FROM_NODES, WITH_TOKEN, Operation, json_of
from app.http.parsing.audit import AUDIT_QUERY

_P = ProblemCode

AUDIT_OPERATIONS: dict[str, Operation] = {
    "readAudit": Operation(
        "Who did what, and who was refused",
        {200: ("A page of records", {**json_of("AuditListing"), NDJSON: {"type": "string", "format": "binary"}})},
        (*WITH_TOKEN, *FROM_NODES, _P.NOT_ACCEPTABLE, _P.QUOTA_EXCEEDED, _P.OFFSET_OUT_OF_RANGE, _P.MESSAGE_EXPIRED),
        query=AUDIT_QUERY,
    ),
}
