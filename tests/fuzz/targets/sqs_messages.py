"""What a message of SQS is made of: bodies, attributes in headers of whomever, traces, receipt handles."""

from acklog.wire.identifiers import Receipt, id_from_bits
from acklog.wire.record import Record
from app.sqs.messages.attribute_checks import check_attributes, is_number
from app.sqs.messages.attribute_headers import REST, TYPES, attributes_of, headers_of
from app.sqs.messages.digests import attributes_md5
from app.sqs.messages.message_body import body_text, stored_body
from app.sqs.messages.receipt_handle import handle_text, parse_handle
from app.sqs.messages.sqs_text import is_sqs_text
from app.sqs.messages.trace_header import trace_headers, trace_of
from app.sqs.sqs_error import SqsError
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of, text_of

_RECEIPT = str(Receipt(id_from_bits(1), 0, 5, id_from_bits(2), 0, 1, 1))
_TRACE = b"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
_SEEDS = (
    joined(b'{"a": 1}', _TRACE, b"n", b"1.50", b'{"n":"Number"}', b'{"x":["Binary","AP8="]}', _RECEIPT.encode()),
    joined(b"text", b"", b"seal", b"AP8=", b'{"seal":"Binary.png"}'),
    joined(b"[[]]", _TRACE + b";Lineage=a", b"sqs.types", b"x", b"[", b"[[[[", f"{_RECEIPT}.1.2.3".encode()),
)


def _read(data: bytes) -> None:
    body, trace, name, value, types, rest, handle = map(text_of, parts_of(data, 7))
    stored = stored_body(body)
    if is_sqs_text(body):
        assert body_text(Record(stored.data, content_type=stored.content_type)) == body
    body_text(Record(body.encode(), content_type=value))
    assert trace_of(trace_headers(trace)) == trace
    found = attributes_of({name: value, TYPES: types, REST: rest})
    attributes_md5(found)
    assert attributes_of(headers_of(found)) == found
    parsed = parse_handle(handle)
    if parsed is not None and parsed.epoch >= 0:
        receipt, epoch, received_at_ms, visibility_ms = parsed
        times = {"received_at_ms": received_at_ms, "visibility_ms": visibility_ms}
        assert handle_text(str(receipt), epoch=epoch, **times) == handle
    if is_number(value):
        float(value)
    check_attributes(found)


TARGET = FuzzTarget(_read, (SqsError,), lambda: _SEEDS)
