"""Requests to send, as clients write them: shared by the targets that read these."""

import base64
import json

RECORDS = (
    {"queue": "orders", "body": {"id": 1, "text": 'é \\ " \u2028'}},
    {"topic": "orders", "body": None, "key": "k", "headers": {"a": "b"}, "tags": ["x", "y"], "timestamp": 1},
    {"queue": "orders", "bodyBase64": base64.b64encode(bytes(range(20))).decode(), "contentType": "image/png"},
    {"queue": "orders", "body": [[[]]], "partition": 3, "dedupId": "d", "ttlSeconds": 1.5},
    {"queue": "orders", "body": 1e300, "delaySeconds": 0.25},
    {"queue": "orders", "body": "x", "deliverAt": "2027-03-01T08:30:00+01:00", "ttlSeconds": 60},
)
FAULTY = (
    b'{"queue":"orders","body":1,"body":2}',
    b'{"queue":"orders","body":1,"no":2}',
    b'{"queue":"orders","body":nan}',
    b'{"queue":"orders","body":"\\ud800"}',
    b'{"queue":"orders","body":' + b"[" * 70 + b"]" * 70 + b"}",
    b'\xef\xbb\xbf{"queue":"orders","body":1}',
    b'{"queue":"orders","body":"\xff"}',
    b"{",
)


def singles() -> list[bytes]:
    return [
        *(json.dumps(record).encode() for record in RECORDS),
        json.dumps(RECORDS[0], ensure_ascii=False, indent=2).encode(),
        *FAULTY,
    ]


def _messages() -> list[dict[str, object]]:
    return [{name: value for name, value in record.items() if name not in {"queue", "topic"}} for record in RECORDS]


def batches() -> list[bytes]:
    plain = [{"body": {"n": number}, "key": f"k{number}"} for number in range(4)]
    return [
        json.dumps({"queue": "orders", "messages": plain}).encode(),
        json.dumps({"messages": _messages(), "queue": "orders", "acks": 1}, separators=(",", ":")).encode(),
        b'{"queue":"orders","messages":[{"body":1},{"no":1},5,{"body":2}]}',
        b'{"queue":"orders","messages":[]}',
        b'{"queue":"orders","messages":[{"body":1},]}',
        b'{"queue":"orders","messages":[{"body":1}],"messages":[{"body":2}]}',
        b'{"queue":"orders","key":"k","messages":[{"body":1}]}',
        b'{"messages":"[","queue":"orders"}',
    ]


def lines() -> list[bytes]:
    return [
        b"\n".join(json.dumps(each).encode() for each in _messages()),
        b'{"body":1}\n\n{"body":\n{"body":2}\r\n  \n{"body":"\xff"}\n{"no":1}',
        b"\n",
    ]
