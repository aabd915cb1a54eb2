"""`POST /messages` of any content type, with any query."""

from app.calls.send import record_of
from app.http.parsing.send import check_idempotency_key, parse_send
from cluster.errors import ServerError
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of, text_of
from tests.fuzz.send_seeds import batches, lines, singles


def _seeds() -> list[bytes]:
    return [
        joined(b"application/json", b"", b"key-1", singles()[0]),
        joined(b"text/json; charset=utf-8", b"queue=orders&acks=all", b"", b'{"body":1}'),
        joined(b"application/x-www-form-urlencoded", b"", b"", batches()[0]),
        joined(b"application/x-ndjson", b"topic=orders&acks=2", b"", lines()[0]),
        joined(
            b"image/png;a=b", b"queue=orders&key=k&tags=a&tags=b&header=x%3Ay&delaySeconds=0.5", b"\x01", b"\xff\x00"
        ),
        joined(b"", b"queue=orders&deliverAt=2027-03-01T08%3A30%3A00%2B01%3A00&ttlSeconds=5&dedupId=d", b"", b""),
        joined(b"text/plain", b"queue=%FF&partition=-1", b"", b"x"),
    ]


def _read(data: bytes) -> None:
    content_type, query, key, body = parts_of(data, 4)
    if key:
        check_idempotency_key(text_of(key))
    command = parse_send(body, content_type=text_of(content_type), query_string=query)
    assert command.messages
    for message in command.messages:
        if isinstance(message, ServerError):
            assert 400 <= message.code.status < 500
        else:
            record = record_of(message)
            assert record.content_type is not None or record.body in body or b"bodyBase64" in body


TARGET = FuzzTarget(_read, (ServerError,), _seeds)
