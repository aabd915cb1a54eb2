"""Clients that offer another protocol with a request (RFC 9110, 7.8) get an answer to the request, body and all."""

import json

import pytest

from tests.unit.app.http.protocol.test_single_sends import BODY, GET, Rig, post

OFFERS = [
    (
        b"Connection: Upgrade, HTTP2-Settings",
        b"Upgrade: h2c",
        b"HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
    ),
    (b"Connection: Upgrade", b"Upgrade: websocket"),
    (b"Upgrade: TLS/1.0", b"Connection: keep-alive, upgrade"),
]


async def stored(rig: Rig, queue: bytes) -> list[object]:
    answer = await rig.exchange(b"GET /messages?queue=%b&max=100 HTTP/1.1\r\nhost: a\r\n\r\n" % queue)
    messages = json.loads(answer.partition(b"\r\n\r\n")[2])["messages"]
    return [each.get("body", each.get("bodyBase64")) for each in messages]


@pytest.mark.parametrize("offer", OFFERS)
async def test_a_send_keeps_its_body(offer: tuple[bytes, ...]) -> None:
    rig = Rig()
    first = await rig.exchange(post(BODY, *offer))
    plain = await rig.exchange(post(BODY, *offer))
    raw = await rig.exchange(post(b"important", b"content-type: text/plain", *offer, target=b"/messages?queue=orders"))
    assert [each[:12] for each in (first, plain, raw)] == [b"HTTP/1.1 201"] * 3
    assert sorted(map(str, await stored(rig, b"orders"))) == ["aW1wb3J0YW50", "{'n': 1}", "{'n': 1}"]


async def test_in_pieces() -> None:
    rig = Rig()
    request = post(BODY, *OFFERS[0])
    answer = await rig.exchange(*[request[place : place + 1] for place in range(len(request))])
    assert answer.startswith(b"HTTP/1.1 201")
    assert await stored(rig, b"orders") == [{"n": 1}]


async def test_what_is_pipelined_around_it_is_answered() -> None:
    rig = Rig()
    await rig.exchange(post())
    answers = await rig.exchange(GET + post(BODY, *OFFERS[0]) + post(BODY, *OFFERS[1]) + GET)
    assert answers.count(b"HTTP/1.1 201") == 2
    assert answers.count(b"HTTP/1.1 200") == 2


async def test_a_connection_that_is_to_close_closes() -> None:
    rig = Rig()
    answer = await rig.exchange(post(BODY, b"Connection: close, Upgrade", b"Upgrade: h2c"))
    assert b"connection: close" in answer.lower()


async def test_the_other_headers_are_judged_as_ever() -> None:
    rig = Rig()
    request = post(BODY, *OFFERS[0]).replace(b"host: a\r\n", b"")
    assert b"MALFORMED_HTTP" in await rig.exchange(request)
