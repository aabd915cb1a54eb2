"""What pages of other origins may do, and what their browsers are told."""

import json

import httpx2
import pytest

from app.auth.tokens import parse_token_table
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.http.description.openapi import _HEADERS
from app.http.protocol.cross_origin import METHODS, REQUEST_HEADERS, cross_origin
from app.http.protocol.web_guard import guard_of
from app.processes.sqs_door import sqs_doors
from tests.support.memory_gateway import MemoryWorld
from tests.support.request_heads import head_of
from tests.unit.app.conftest import client_of
from tests.unit.app.http.test_rights_by_route import ROUTES

SHOP, OTHER = "https://shop.example", "https://other.example"
TOKEN = "shop-token-0123456789"
TABLE = {"tokens": [{"name": "shop", "token": TOKEN, "roles": ["admin"]}]}
ALLOW, EXPOSE = "access-control-allow-origin", "access-control-expose-headers"


def browser(*origins: str) -> httpx2.AsyncClient:
    world = MemoryWorld(tokens=parse_token_table(json.dumps(TABLE).encode()))
    return client_of(cross_origin(create_server_app(world.gateway).asgi, frozenset(origins)))


def asks(origin: str, method: str, *headers: str) -> dict[str, str]:
    asked = {"Origin": origin, "Access-Control-Request-Method": method}
    return asked | ({"Access-Control-Request-Headers": ", ".join(headers)} if headers else {})


async def test_a_page_that_is_named_may_ask_with_a_token_and_read_the_answer() -> None:
    async with browser(SHOP) as client:
        may = await client.options("/messages", headers=asks(SHOP, "POST", "authorization", "content-type"))
        assert (may.status_code, may.headers[ALLOW]) == (200, SHOP)
        assert "access-control-allow-credentials" not in may.headers
        head = {"Origin": SHOP, "Authorization": f"Bearer {TOKEN}"}
        sent = await client.post("/messages", json={"queue": "orders", "body": 1}, headers=head)
        assert (sent.status_code, sent.headers[ALLOW], sent.headers[EXPOSE]) == (201, SHOP, "*")
        assert "Origin" in sent.headers["vary"]


async def test_it_may_read_why_it_is_refused() -> None:
    async with browser(SHOP) as client:
        refused = await client.get("/topics", headers={"Origin": SHOP})
        assert (refused.status_code, refused.headers[ALLOW]) == (401, SHOP)


async def test_a_page_that_is_not_named_is_told_so() -> None:
    async with browser(SHOP) as client:
        for origin in (OTHER, "null", SHOP + ".other.example", SHOP.replace("https", "http")):
            may = await client.options("/messages", headers=asks(origin, "POST"))
            assert (may.status_code, may.json()["code"]) == (403, "ORIGIN_NOT_ALLOWED")
            assert ALLOW not in may.headers
            answer = await client.get("/topics", headers={"Origin": origin, "Authorization": f"Bearer {TOKEN}"})
            assert ALLOW not in answer.headers


async def test_what_nobody_sends_is_not_allowed_and_is_no_fault_of_the_origin() -> None:
    async with browser(SHOP) as client:
        method = await client.options("/messages", headers=asks(SHOP, "TRACE"))
        assert (method.status_code, method.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
        assert method.headers["allow"] == ", ".join(METHODS)
        header = await client.options("/messages", headers=asks(SHOP, "POST", "authorization", "x-other"))
        assert (header.status_code, header.json()["code"]) == (400, "INVALID_FIELD")
        assert header.json()["field"] == "Access-Control-Request-Headers"
        both = await client.options("/messages", headers=asks(OTHER, "TRACE", "x-other"))
        assert (both.status_code, both.json()["code"]) == (403, "ORIGIN_NOT_ALLOWED")


PRIVATE = {"Access-Control-Request-Private-Network": "true"}


async def test_a_page_of_the_internet_that_is_named_may_call_a_server_in_a_private_network() -> None:
    async with browser(SHOP) as client:
        may = await client.options("/messages", headers=asks(SHOP, "POST") | PRIVATE)
        assert (may.status_code, may.headers[ALLOW]) == (200, SHOP)
        assert may.headers["access-control-allow-private-network"] == "true"
        refused = await client.options("/messages", headers=asks(OTHER, "POST") | PRIVATE)
        assert (refused.status_code, refused.json()["code"]) == (403, "ORIGIN_NOT_ALLOWED")
        assert "access-control-allow-private-network" not in refused.headers


async def test_any_page_of_the_internet_may_not() -> None:
    async with browser("*") as client:
        refused = await client.options("/messages", headers=asks(OTHER, "POST") | PRIVATE)
        assert (refused.status_code, refused.json()["code"]) == (403, "ORIGIN_NOT_ALLOWED")
        assert "private network" in refused.json()["detail"]


async def test_every_page_where_that_is_said() -> None:
    async with browser("*") as client:
        may = await client.options("/messages", headers=asks(OTHER, "POST"))
        assert (may.status_code, may.headers[ALLOW]) == (200, "*")


async def test_none_where_nothing_is_said() -> None:
    async with browser() as client:
        may = await client.options("/messages", headers=asks(SHOP, "POST"))
        assert (may.status_code, may.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
        answer = await client.get("/topics", headers={"Origin": SHOP, "Authorization": f"Bearer {TOKEN}"})
        assert (answer.status_code, answer.headers.get(ALLOW)) == (200, None)


def test_all_that_calls_take_may_be_sent() -> None:
    assert {method for method, _path in ROUTES.values()} <= set(METHODS)
    assert {name.lower() for name in _HEADERS} <= {name.lower() for name in REQUEST_HEADERS}


async def test_a_pages_call_is_left_to_the_application_which_tells_its_browser() -> None:
    ways = create_server_app(MemoryWorld().gateway, sqs_doors(Settings())).short_ways
    for (method, path), way in ways.items():
        headers = {b"content-length": b"20"} if method == b"POST" else {}
        if path == b"/":
            headers[b"x-amz-target"] = b"AmazonSQS.SendMessage"
        assert way.takes(head_of(method, path, headers)) is not None
        assert way.takes(head_of(method, path, headers | {b"origin": SHOP.encode()})) is None


@pytest.mark.parametrize("fetch_site", [None, b"cross-site", b"same-site"])
def test_the_guard_of_a_server_without_tokens_lets_in_who_is_named(fetch_site: bytes | None) -> None:
    named = guard_of(listens_on="127.0.0.1", allowed_hosts="", has_tokens=False, web_origins=frozenset({SHOP}))
    assert named is not None
    host = b"127.0.0.1:8080"
    assert named.fault(b"GET", b"/messages", host=host, origin=SHOP.encode(), fetch_site=fetch_site) is None
    assert named.fault(b"GET", b"/messages", host=host, origin=OTHER.encode(), fetch_site=fetch_site) is not None
    # An image or a link sends no Origin, so nobody knows whose it is.
    assert named.fault(b"GET", b"/messages", host=host, origin=None, fetch_site=b"cross-site") is not None
    assert (
        named.fault(b"GET", b"/messages", host=b"rebound.example", origin=SHOP.encode(), fetch_site=fetch_site)
        is not None
    )


def test_the_guard_of_named_hosts_lets_in_every_page_where_that_is_said() -> None:
    guard = guard_of(listens_on="0.0.0.0", allowed_hosts="queue", has_tokens=True, web_origins=frozenset({"*"}))
    assert guard is not None
    assert guard.fault(b"GET", b"/messages", host=b"queue", origin=OTHER.encode(), fetch_site=b"cross-site") is None
