"""What an SDK reads: answers of a server or of whatever stands in its place, pages of the log, Arrow."""

from acklog.client import message_calls
from acklog.client.call import Response
from acklog.errors import AcklogError
from acklog.wire.log_page import runs
from acklog.wire.records_arrow import load_library, record_batches, schema
from tests.fuzz.batch_bytes import batches, mended
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of, text_of

_PROBLEM = b"application/problem+json"
_STORED, _RECEIVED, _RECORDS, _INSPECTED, _SETTLED, _PAGE = b"stored", b"received", b"records", b"look", b"ack", b"page"
_RECEIPT = "r-0000000000001-7-1234-0000000000002-1-3-2"
_MESSAGE = (
    b'{"messageId":"m-0000000000001-0-3-17","receipt":"r","queue":"orders","partition":0,"offset":17,"attempt":1,'
    b'"key":"k","body":{"a":1},"appendTime":1700000000000}'
)
_CALLS = {
    _RECEIVED: message_calls.receive(
        "orders",
        group="mail",
        max_messages=1,
        max_bytes=None,
        wait_s=0,
        visibility_s=None,
        consumer=None,
        auto_ack=False,
    ),
    _RECORDS: message_calls.records("orders", 0, offset=0, epoch=None, time_ms=None, max_bytes=None, wait_s=0),
    _INSPECTED: message_calls.look("m"),
    _SETTLED: message_calls.ack(_RECEIPT),
}


load_library()


class NoAnswerError(ValueError):
    """The first part names no call, or the status is no number."""


def _seeds() -> list[bytes]:
    item = b'{"code":"INVALID_FIELD","detail":"wrong","retriable":false,"field":"key"}'
    problem = b'{"type":"about:blank","title":"t","status":400,"detail":"d","code":"INVALID_FIELD","retriable":false}'
    return [
        joined(_STORED, b"201", b"application/json", b'{"results":[{"messageId":"m","partition":0,"offset":1}]}'),
        joined(_STORED, b"207", b"application/json", b'{"results":[%b],"failed":1}' % item),
        joined(_STORED, b"400", _PROBLEM, problem[:-1] + b',"results":[%b]}' % item),
        joined(_STORED, b"503", _PROBLEM, problem),
        joined(_STORED, b"502", b"text/html", b"<html>"),
        joined(_RECEIVED, b"200", b"application/json", b'{"messages":[%b],"reason":null}' % _MESSAGE),
        joined(_RECORDS, b"200", b"application/json", b'{"records":[%b],"offset":0,"nextOffset":1}' % _MESSAGE),
        joined(_INSPECTED, b"200", b"application/json", _MESSAGE[:-1] + b',"groups":[]}'),
        joined(_SETTLED, b"200", b"application/json", b'{"results":[{"status":"done"}]}'),
        *(joined(_PAGE, b"200", b"application/vnd.acklog.batches", batch) for batch in batches()),
    ]


def _read(data: bytes) -> None:
    name, status, content_type, body = parts_of(data, 4)
    if name == _PAGE:
        _read_page(mended(body))
        return
    if not status.isdigit() or len(status) != 3:
        raise NoAnswerError
    response = Response(int(status), body, {"content-type": text_of(content_type)})
    if name == _STORED:
        assert len(message_calls.read_stored(response, 1)) == 1
    elif name in _CALLS:
        _CALLS[name].read(response)
    else:
        raise NoAnswerError


def _read_page(page: bytes) -> None:
    found = list(runs(page, 0))
    rows = list(record_batches(0, found, rows_max=2, bytes_max=1_000_000))
    assert all(each.schema.equals(schema()) and 0 < each.num_rows <= 2 for each in rows)
    assert sum(each.num_rows for each in rows) == sum(len(each) for _, _, each in found)


TARGET = FuzzTarget(_read, (AcklogError, ValueError), _seeds)
