"""A whole connection: any bytes, in any pieces, to the server's protocol class and the application behind it."""

import re

from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.http_server import INPUTS_MAX, FuzzedServer
from tests.fuzz.parts import cut_up

_BUSY = frozenset({503})
_STATUS = re.compile(rb"HTTP/1\.1 ([0-9]{3}) ")
_SINGLE = b'{"queue":"orders","body":1,"key":"k"}'
_HOST = b" HTTP/1.1\r\nhost: localhost\r\n"


def _request(line: bytes, body: bytes, *headers: bytes) -> bytes:
    lines = [b"%b HTTP/1.1" % line, b"host: localhost", b"content-length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def _seeds() -> list[bytes]:
    json = b"content-type: application/json"
    chunked = b"POST /messages" + _HOST + json + b"\r\ntransfer-encoding: chunked\r\n\r\n"
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(_SINGLE), _SINGLE)
    send = _request(b"POST /messages", _SINGLE, json)
    return [
        b"\x01" + send,
        b"\x02" + send + _request(b"GET /messages?queue=orders&max=1", b"") + _request(b"GET /healthz", b""),
        b"\x03" + chunked + chunks,
        b"\x04"
        + _request(b"POST /messages?queue=orders", b'{"body":1}\n{"body":', b"content-type: application/x-ndjson"),
        b"\x05" + _request(b"POST /ack", b'{"receipts":["r"]}', json, b"connection: close"),
        b"\x06" + _request(b"PUT /topics/a%2Fb", b"{}", json, b"expect: 100-continue"),
        b"\x07" + _request(b"GET /topics/orders/partitions/0/records", b"", b"accept: application/x-ndjson"),
        b"\x08" + _request(b"POST /messages", _SINGLE, json, b"upgrade: h2c", b"connection: upgrade"),
        b"\x09GET / HTTP/1.0\r\n\r\n",
        b"\x0a\x16\x03\x01\x02\x00",
        b"\x0b" + _request(b"PUT /topics/orders/schedules/nightly", b'{"cron":"0 8 * * *","message":{"body":1}}', json),
        b"\x0c" + _request(b"POST /messages", b"\x1f\x8b\x08", json, b"content-encoding: gzip"),
        b"\x0d" + _request(b"GET /groups/mail/offsets?topic=orders", b"", b"traceparent: 00-x"),
    ]


class _Servers:
    """The one that is used now."""

    def __init__(self) -> None:
        self._server: FuzzedServer | None = None

    def current(self) -> FuzzedServer:
        if self._server is not None and self._server.inputs >= INPUTS_MAX:
            self._server.close()
            self._server = None
        if self._server is None:
            self._server = FuzzedServer()
        return self._server


_SERVERS = _Servers()


def _read(data: bytes) -> None:
    seed, sent = data[0] if data else 0, data[1:]
    server = _SERVERS.current()
    before = server.kept
    written = server.answer(cut_up(sent, seed))
    statuses = [int(status) for status in _STATUS.findall(written)]
    assert not [status for status in statuses if status >= 500 and status not in _BUSY], statuses
    assert server.kept == before, "something is kept of a connection that has ended"


TARGET = FuzzTarget(_read, (), _seeds)
