"""The documentation's pages: what a browser gets, and what it is allowed to do with it."""

import json
import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
from starlette.types import ASGIApp

from acklog.wire.problems import ProblemCode
from app.auth.tokens import parse_token_table
from app.console.console_files import media_type_of, read_console
from app.console.console_page import CONSOLE_PAGE
from app.console.documentation_page import DOCUMENTATION_PAGE
from app.console.shared_styles import PLAIN_STYLES
from app.http.application import create_app
from app.http.description.remedies import REMEDIES
from app.http.exchange.web_file import CHUNK_BYTES, POLICY, WebFile
from app.http.protocol.web_guard import guard_of
from app.http.routers.browser_files import IMMUTABLE
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.conftest import client_of

CONSOLE = read_console()
FOLDER = f"/docs/assets/{CONSOLE.release}"
OWN_PATHS = sorted({*DOCUMENTATION_PAGE.paths(CONSOLE), *PLAIN_STYLES})
PAGE_BYTES_MAX = 120_000
PAGES = {"/docs": "text/html", "/docs/plain": "text/html", "/docs/errors": "text/html"}
FILES = {f"{FOLDER}/{path}": media_type_of(path).partition(";")[0] for path in OWN_PATHS}
CHANGING = {**PAGES, "/openapi.json": "application/json"}
EVERYTHING = {**CHANGING, **FILES}


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
        assert len(answer.content) > 0
        assert answer.headers["cache-control"] == ("no-cache" if url in CHANGING else IMMUTABLE)
        assert answer.headers["vary"] == "accept-encoding"
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
    assert set(" ".join(rules.values()).split()) == {"'none'", "'self'"}


async def test_pages_load_and_link_only_what_is_here_also_under_a_prefix(client: httpx2.AsyncClient) -> None:
    for url in PAGES:
        page = await page_at(client, url)
        assert page.inline == []
        for each in {*page.loads, *page.links}:
            target = urlsplit(urljoin(f"http://gateway/queues/acklog{url}", each))
            assert (target.scheme, target.netloc) == ("http", "gateway")
            assert target.path.startswith("/queues/acklog/")
            answer = await client.get(target.path.removeprefix("/queues/acklog"))
            assert answer.status_code == 200, each
            if target.fragment:
                assert f'id="{target.fragment}"' in answer.text, each


async def test_the_page_and_all_that_it_loads_is_small(client: httpx2.AsyncClient) -> None:
    """As it is sent, the document with all calls included."""
    sizes = {}
    for url in ("/docs", "/openapi.json", *(f"{FOLDER}/{path}" for path in DOCUMENTATION_PAGE.paths(CONSOLE))):
        head = await client.head(url, headers={"Accept-Encoding": "gzip"})
        assert head.headers["content-encoding"] == "gzip"
        sizes[url] = int(head.headers["content-length"])
    assert 50_000 < sum(sizes.values()) < PAGE_BYTES_MAX, sorted(sizes.items(), key=lambda each: -each[1])[:8]


async def test_who_takes_no_coding_gets_none(client: httpx2.AsyncClient) -> None:
    plain = await client.get("/openapi.json", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert int(plain.headers["content-length"]) == len(plain.content)
    packed = await client.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert packed.content == plain.content
    assert packed.headers["etag"] != plain.headers["etag"]


async def test_it_leads_to_the_console_while_there_is_one_and_is_there_without() -> None:
    world = MemoryWorld()
    async with client_of(create_app(world.gateway)) as client:
        for is_off, address in ((False, "console"), (True, ""), (False, "console")):
            world.gateway.settings.adopt({"no_console": is_off})
            assert f' data-console="{address}"' in (await client.get("/docs")).text
            for url in EVERYTHING:
                assert (await client.get(url)).status_code == 200


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
    shared = (await client.get("/openapi.json")).json()["components"]["responses"]
    descriptions = [answer["description"] for answer in shared.values()]
    linked = [re.findall(r"\]\(docs/errors#([A-Z_]+)\)", description) for description in descriptions]
    assert all(linked)
    assert {code for codes in linked for code in codes} <= page.ids


async def test_every_code_says_what_to_do(client: httpx2.AsyncClient) -> None:
    assert list(REMEDIES) == list(ProblemCode)
    examples = (await client.get("/openapi.json")).json()["components"]["examples"]
    assert {name: each["description"] for name, each in examples.items()} == {
        code.name: text for code, text in REMEDIES.items()
    }
    assert all(text.endswith(".") for text in REMEDIES.values())
    assert len((await page_at(client, "/docs/errors")).ids & {code.name for code in ProblemCode}) == len(REMEDIES)


async def test_every_call_is_of_one_task_and_plain_pages_have_all(client: httpx2.AsyncClient) -> None:
    document = (await client.get("/openapi.json")).json()
    calls = [operation for methods in document["paths"].values() for operation in methods.values()]
    named = [each for task in document["x-tasks"] for each in task["operations"]]
    assert sorted(named) == sorted(call["operationId"] for call in calls)
    plain = (await client.get("/docs/plain")).text
    assert all(escape(call["summary"]) in plain for call in calls)


async def test_nothing_else_is_served(client: httpx2.AsyncClient) -> None:
    others = sorted(set(CONSOLE_PAGE.paths(CONSOLE)) - set(OWN_PATHS))
    assert "main.js" in others
    for name in (*others, "", "README.md", "vendor/preact.LICENSE", "..%2F__init__.py", "../console_page.py"):
        for method in ("GET", "HEAD"):
            assert (await client.request(method, f"{FOLDER}/{name}")).status_code == 404
    for url in ("/docs/assets/0123456789abcdef/documentation.js", "/docs/assets/documentation.js", "/docs/assets/"):
        assert (await client.get(url)).status_code == 404


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

    scope = {"type": "http", "method": "GET", "path": "/openapi.json", "query_string": b""}
    await app({**scope, "headers": [], "root_path": "", "raw_path": b""}, receive, send)
    pieces = [message["body"] for message in sent[1:]]
    assert max(map(len, pieces)) == CHUNK_BYTES
    assert [message["more_body"] for message in sent[1:]] == [True] * (len(pieces) - 1) + [False]
    assert json.loads(b"".join(pieces))["openapi"] == "3.1.0"


async def test_files_are_read_once_and_off_the_loop() -> None:
    """Those of the console are the same."""
    read: list[str] = []

    async def in_thread(call: Any) -> Any:
        read.append(call.__name__)
        return call()

    gateway = replace(MemoryWorld().gateway, in_thread=in_thread)
    async with client_of(create_app(gateway)) as client:
        for _ in range(2):
            for url in (*EVERYTHING, "/console"):
                assert (await client.get(url)).status_code == 200
    assert len(read) == 1


def test_another_content_has_another_tag() -> None:
    assert WebFile(b"a", "text/css").etag == WebFile(b"a", "text/css").etag != WebFile(b"b", "text/css").etag
