"""What stands behind a body says nothing of the request: it was judged by its head."""

import json

import pytest

from acklog.wire.problems import ProblemCode
from app.auth.tokens import parse_token_table
from app.configuration.server_settings import Settings
from tests.support.manual_clock import settle
from tests.unit.app.http.protocol.test_single_sends import Rig

GOOD, POOR = "good-token-0123456789", "poor-token-0123456789"
TABLE = {
    "tokens": [
        {"name": "good", "token": GOOD, "roles": ["admin"]},
        {"name": "poor", "token": POOR, "rights": [{"allow": ["send"], "topics": ["other"]}]},
    ]
}
BODY = b'{"queue":"orders","body":1}'


def request(*, head: bytes = b"", trailer: bytes = b"") -> bytes:
    lines = b"POST /messages HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n" + head
    chunks = b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n" % (len(BODY), BODY)
    return lines + chunks + trailer + b"\r\n"


def token(text: str) -> bytes:
    return b"authorization: Bearer %b\r\n" % text.encode()


def rig(settings: Settings | None = None) -> Rig:
    return Rig(settings or Settings(), tokens=parse_token_table(json.dumps(TABLE).encode()))


CASES = {
    "a token behind the body alone": (request(trailer=token(GOOD)), 401),
    "a better one behind it": (request(head=token(POOR), trailer=token(GOOD)), 403),
    "a worse one behind it": (request(head=token(GOOD), trailer=token(POOR)), 201),
    "another host behind it": (request(head=token(GOOD), trailer=b"host: b\r\n"), 201),
    "an idempotency key behind it": (
        request(head=token(GOOD), trailer=b"idempotency-key: " + b"k" * 300 + b"\r\n"),
        201,
    ),
}


@pytest.mark.parametrize("case", CASES)
async def test_however_it_is_cut(case: str) -> None:
    sent, status = CASES[case]
    server = rig()
    pieces = [
        (sent,),
        (sent[: -len(b"0\r\n") - 10], sent[-len(b"0\r\n") - 10 :]),
        tuple(sent[at : at + 7] for at in range(0, len(sent), 7)),
    ]
    for parts in pieces:
        protocol, transport = server.connect()
        for part in parts:
            protocol.data_received(part)
            await settle()
        assert transport.written.startswith(b"HTTP/1.1 %d " % status), (len(parts), transport.written)
        transport.closed.set()
        protocol.connection_lost(None)
        await settle()


async def test_they_count_among_the_bytes_of_headers() -> None:
    server = rig(Settings(header_bytes_max=1024))
    answer = await server.exchange(request(head=token(GOOD), trailer=b"x: " + b"y" * 1024 + b"\r\n"))
    assert ProblemCode.HEADERS_TOO_LARGE.name.encode() in answer
