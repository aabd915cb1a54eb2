"""Examples of the audit log."""

from typing import Any

from app.http.description.example_answers import line
from app.http.description.example_forms import Examples, in_json
from app.http.description.media_types import NDJSON

_ACT: dict[str, Any] = {
    "id": "7d1f0a3c5e9b2468",
    "time": 1767222000000,
    "result": "allowed",
    "operation": "updateTopic",
    "method": "PATCH",
    "route": "/topics/{topic}",
    "names": {"topic": "orders"},
    "needs": ["manage on the topic"],
    "principal": {"name": "anna", "kind": "stored", "tokenId": "2nehaadj6b1yg"},
    "address": "10.0.0.7",
    "status": 200,
    "asked": {"config": {"retentionMs": 86400000}},
    "changed": {"config.retentionMs": [604800000, 86400000]},
    "offset": 41,
}
_SUM: dict[str, Any] = {
    "id": "a05c77e01b3d9f42",
    "time": 1767222060000,
    "result": "refused",
    "address": "10.0.0.9",
    "code": "UNAUTHENTICATED",
    "count": 4211,
    "until": 1767222119000,
    "operations": ["sendMessages"],
    "offset": 42,
}

AUDIT_EXAMPLES: dict[str, Examples] = {
    "readAudit": Examples(
        {},
        {},
        {
            200: {
                **in_json(an_act_and_a_flood={"records": [_ACT, _SUM], "next": 43, "atEnd": True}),
                NDJSON: {"a record on each line": line(_ACT)},
            }
        },
    ),
}
