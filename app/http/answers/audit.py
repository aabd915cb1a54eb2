"""The audit log in the two forms that a reader may ask for."""

import msgspec

from app.calls.audit import AuditListing
from app.http.exchange.responses import JSON, NDJSON, BytesResponse, json_response

AUDIT_TYPES = (JSON, NDJSON)
_encode = msgspec.json.Encoder().encode


def audit_response(listing: AuditListing, media_type: str) -> BytesResponse:
    if media_type == JSON:
        return json_response(listing)
    lines = b"".join([_encode(record) + b"\n" for record in listing.records])
    headers = {"X-Acklog-Next-Offset": str(listing.next), "X-Acklog-At-End": "true" if listing.at_end else "false"}
    return BytesResponse(lines, 200, headers, NDJSON)
