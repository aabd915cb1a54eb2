"""The documentation's pages: what a browser gets, and what it is allowed to do with it."""

import json
import re
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
from starlette.types import ASGIApp

from acklog.wire.problems import ProblemCode
from app.auth.tokens import parse_token_table
from app.http.application import create_app
from app.http.description.documentation_files import PACKAGED, packaged
from app.http.exchange.web_file import CHUNK_BYTES, POLICY, WebFile
from app.http.protocol.web_guard import guard_of
from tests.architecture.source_tree import REPOSITORY
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.conftest import client_of

VENDORED = REPOSITORY / "app" / "http" / "description" / "swagger_ui"
DIGESTS = {
    "swagger-ui-bundle.js": "e6a898692f2d768e807c3ba4626068a69a2c5dd960dd6c76f3e4d3a3de180af2",
    "swagger-ui.css": "5ed08757e53da3e026d6cbecc61fe5d43585c9560b302d534ad56692519a273d",
}
FILE_BYTES_MAX = 2_000_000
PAGES = {"/docs": "text/html", "/docs/plain": "text/html", "/docs/errors": "text/html"}
FILES = {
    "/docs/assets/swagger-ui-bundle.js": "text/javascript",
    "/docs/assets/start.js": "text/javascript",
    "/docs/assets/swagger-ui.css": "text/css",
    "/docs/assets/page.css": "text/css",
}
EVERYTHING = {**PAGES, **FILES, "/openapi.json": "application/json"}


class Page(HTMLParser):
    """What a page refers to, and whether it has any script or style of its own."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.inline: list[str] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self._open = tag
        self.ids.add(named.get("id", ""))
        self.inline += [name for name in named if name == "style" or name.startswith("on")]
        if tag == "a":
            self.links.append(named["href"])
        elif tag in ("link", "script"):
            self.loads.append(named.get("href") or named["src"])
        if tag == "style":
            self.inline.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open == "script":
            self.inline.append(data)


async def page_at(client: httpx2.AsyncClient, url: str) -> Page:
    return Page((await client.get(url)).text)


async def test_each_has_a_type_a_tag_and_a_policy(client: httpx2.AsyncClient) -> None:
    for url, media_type in EVERYTHING.items():
        answer = await client.get(url)
        assert answer.status_code == 200
        assert answer.headers["content-type"].partition(";")[0] == media_type
        assert int(answer.headers["content-length"]) == len(answer.content) > 0
        assert answer.headers["cache-control"] == "no-cache"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["content-security-policy"] == POLICY
        assert re.fullmatch(r'"[0-9a-f]{32}"', answer.headers["etag"])


async def test_a_head_says_the_same_and_sends_nothing(client: httpx2.AsyncClient) -> None:
    same = ("content-type", "content-length", "etag", "cache-control", "content-security-policy")
    for url in EVERYTHING:
        whole, head = await client.get(url), await client.head(url)
        assert (head.status_code, head.content) == (200, b"")
        assert {name: head.headers[name] for name in same} == {name: whole.headers[name] for name in same}


async def test_what_the_browser_has_is_not_sent_again(client: httpx2.AsyncClient) -> None:
    for url in EVERYTHING:
        etag = (await client.get(url)).headers["etag"]
        for method in ("GET", "HEAD"):
            for known in (etag, f"W/{etag}", f'"another", {etag}', "*"):
                answer = await client.request(method, url, headers={"If-None-Match": known})
                assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag)
                assert "content-length" not in answer.headers
        assert (await client.get(url, headers={"If-None-Match": '"another"'})).status_code == 200


def test_the_policy_allows_nothing_from_elsewhere_and_nothing_inline() -> None:
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == "'none'"
    assert {rules[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert {rules[name] for name in ("frame-ancestors", "base-uri", "form-action")} == {"'none'"}
    assert set(" ".join(rules.values()).split()) == {"'none'", "'self'", "data:"}


async def test_pages_load_and_link_only_what_is_here_also_under_a_prefix(client: httpx2.AsyncClient) -> None:
    for url in PAGES:
        page = await page_at(client, url)
        assert page.inline == []
        for each in {*page.loads, *page.links} - {"data:,"}:  # that is no icon
            target = urlsplit(urljoin(f"http://gateway/queues/acklog{url}", each))
            assert (target.scheme, target.netloc) == ("http", "gateway")
            assert target.path.startswith("/queues/acklog/")
            answer = await client.get(target.path.removeprefix("/queues/acklog"))
            assert answer.status_code == 200, each
            if target.fragment:
                assert f'id="{target.fragment}"' in answer.text, each


async def test_the_start_is_asked_for_relative_to_the_page(client: httpx2.AsyncClient) -> None:
    script = (await client.get("/docs/assets/start.js")).text
    assert 'new URL(".", document.baseURI)' in script
    assert 'new URL("openapi.json", folder)' in script
    assert "://" not in script
    assert "validatorUrl: null" in script
    assert "queryConfigEnabled: false" in script


async def test_without_scripts_there_is_a_way_on(client: httpx2.AsyncClient) -> None:
    text = (await client.get("/docs")).text
    noscript = text.partition("<noscript>")[2].partition("</noscript>")[0]
    assert Page(noscript).links == ["docs/plain", "docs/errors", "openapi.json"]
    plain = (await client.get("/docs/plain")).text
    assert "/topics/{topic}" in plain
    assert "customer-17" in plain


async def test_every_code_has_a_place_to_link_to(client: httpx2.AsyncClient) -> None:
    page = await page_at(client, "/docs/errors")
    assert {code.name for code in ProblemCode} <= page.ids
    descriptions = [
        answer["description"]
        for methods in (await client.get("/openapi.json")).json()["paths"].values()
        for operation in methods.values()
        for answer in operation["responses"].values()
        if "application/problem+json" in answer.get("content", {})
    ]
    linked = [re.findall(r"\]\(docs/errors#([A-Z_]+)\)", description) for description in descriptions]
    assert all(linked)
    assert {code for codes in linked for code in codes} <= page.ids


async def test_nothing_else_of_the_package_is_served(client: httpx2.AsyncClient) -> None:
    for name in ("", "swagger-ui.js", "README.md", "..%2F__init__.py", "../page.py", "swagger-ui.css.map", "start"):
        for method in ("GET", "HEAD"):
            assert (await client.request(method, f"/docs/assets/{name}")).status_code == 404


async def test_other_methods_are_refused_with_those_that_are_taken(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/docs")
    assert (answer.status_code, answer.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


async def test_root_leads_to_the_documentation_under_any_prefix(client: httpx2.AsyncClient) -> None:
    for method in ("GET", "HEAD"):
        answer = await client.request(method, "/")
        assert (answer.status_code, answer.headers["location"]) == (307, "docs")


async def test_no_token_is_needed_and_the_try_out_takes_one() -> None:
    table = {"tokens": [{"name": "shop", "token": "shop-token-0123456789", "scopes": ["write"]}]}
    world = MemoryWorld(tokens=parse_token_table(json.dumps(table).encode()))
    async with client_of(create_app(world.gateway)) as client:
        for url in EVERYTHING:
            assert (await client.get(url)).status_code == 200
        document = (await client.get("/openapi.json")).json()
    assert document["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert {"token": []} in document["paths"]["/messages"]["post"]["security"]


def test_the_pages_own_requests_pass_the_guard_and_only_pages_may_be_linked_to() -> None:
    guard = guard_of(listens_on="127.0.0.1", allowed_hosts="", has_tokens=False)
    assert guard is not None

    def is_taken(url: str, fetch_site: bytes) -> bool:
        host = b"127.0.0.1:8080"
        return guard.fault(b"GET", url.encode(), host=host, origin=None, fetch_site=fetch_site) is None

    for url in (*EVERYTHING, "/messages"):
        assert is_taken(url, b"same-origin")
        assert is_taken(url, b"cross-site") is (url in PAGES)


async def test_a_large_file_is_handed_over_in_pieces(app: ASGIApp) -> None:
    """A reader that takes nothing holds up one piece, not the whole."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/docs/assets/swagger-ui-bundle.js", "query_string": b""}
    await app({**scope, "headers": [], "root_path": "", "raw_path": b""}, receive, send)
    pieces = [message["body"] for message in sent[1:]]
    assert max(map(len, pieces)) == CHUNK_BYTES
    assert [message["more_body"] for message in sent[1:]] == [True] * (len(pieces) - 1) + [False]
    assert b"".join(pieces) == packaged("swagger-ui-bundle.js").content


async def test_files_are_read_once_and_off_the_loop() -> None:
    read: list[str] = []

    async def in_thread(call: Any) -> Any:
        read.extend(call.args)
        return call()

    gateway = replace(MemoryWorld().gateway, in_thread=in_thread)
    async with client_of(create_app(gateway)) as client:
        for _ in range(2):
            for name in PACKAGED:
                assert (await client.get(f"/docs/assets/{name}")).status_code == 200
    assert read == list(PACKAGED)


def test_the_library_is_as_its_makers_published_it() -> None:
    assert {name: sha256((VENDORED / name).read_bytes()).hexdigest() for name in DIGESTS} == DIGESTS
    assert all((VENDORED / name).stat().st_size < FILE_BYTES_MAX for name in DIGESTS)
    for name in ("LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"):
        assert (VENDORED / name).stat().st_size > 0
    assert re.search(r"swagger-ui-dist` \d+\.\d+\.\d+ ", (VENDORED / "README.md").read_text())


def test_another_content_has_another_tag() -> None:
    assert WebFile(b"a", "text/css").etag == WebFile(b"a", "text/css").etag != WebFile(b"b", "text/css").etag
