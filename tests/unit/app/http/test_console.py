"""The console as it is served: what a browser gets, what it may keep, and what it may do with it."""

import re

import httpx2

from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.http.exchange.web_file import POLICY
from app.http.protocol.web_guard import guard_of
from app.http.routers.browser_files import IMMUTABLE
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.conftest import client_of

PAGE_BYTES_MAX = 200_000
AS_IT_IS = {"accept-encoding": "identity"}
BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
_LOADED = re.compile(r'(?:href|src)="(console/assets/[^"]+)"')


async def loaded_by_the_page(client: httpx2.AsyncClient) -> list[str]:
    return sorted({f"/{each}" for each in _LOADED.findall((await client.get("/console")).text)})


async def test_the_page_and_all_that_it_loads_is_there(client: httpx2.AsyncClient) -> None:
    urls = await loaded_by_the_page(client)
    assert any(url.endswith("/main.js") for url in urls)
    for url in ["/console", *urls]:
        answer = await client.get(url)
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == ("no-cache" if url == "/console" else IMMUTABLE)


async def test_each_form_has_a_tag_of_its_own_and_the_smaller_one_is_sent_to_who_takes_it(
    client: httpx2.AsyncClient,
) -> None:
    for url in ["/console", *await loaded_by_the_page(client)]:
        whole = await client.get(url, headers=AS_IT_IS)
        small = await client.get(url, headers={"accept-encoding": "br, gzip;q=0.5"})
        assert "content-encoding" not in whole.headers
        assert small.headers["content-encoding"] == "gzip"
        assert small.content == whole.content
        assert whole.headers["etag"] != small.headers["etag"]
        assert whole.headers["vary"] == small.headers["vary"] == "accept-encoding"
        for answer, coding in ((whole, "identity"), (small, "gzip")):
            known = {"if-none-match": answer.headers["etag"], "accept-encoding": coding}
            again = await client.get(url, headers=known)
            assert (again.status_code, again.content) == (304, b"")
        refused = await client.get(url, headers={"accept-encoding": "gzip;q=0"})
        assert "content-encoding" not in refused.headers


async def test_all_of_it_is_small(client: httpx2.AsyncClient) -> None:
    sizes = {}
    for url in ["/console", *await loaded_by_the_page(client)]:
        head = await client.head(url, headers={"accept-encoding": "gzip"})
        assert head.content == b""
        sizes[url] = int(head.headers["content-length"])
    assert sum(sizes.values()) < PAGE_BYTES_MAX


async def test_files_of_another_release_and_others_are_not_there(client: httpx2.AsyncClient) -> None:
    [start] = [url for url in await loaded_by_the_page(client) if url.endswith("/main.js")]
    release = start.split("/")[3]
    wrong = ["0" * 16 + "/main.js", f"{release}/nothing.js", f"{release}/", f"{release}/vendor/README.md"]
    wrong += [f"{release}/../console_files.py", f"{release}/%2e%2e/console_files.py"]
    for each in wrong:
        answer = await client.get(f"/console/assets/{each}")
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), each
    assert (await client.post("/console")).status_code == 405


async def test_browsers_are_led_to_the_console_and_programs_to_the_documentation(client: httpx2.AsyncClient) -> None:
    for headers, where in (
        (BROWSER, "console"),
        ({"accept": "*/*"}, "docs"),
        ({"accept": "application/json"}, "docs"),
        ({"accept": "text/html;q=0, */*"}, "docs"),
    ):
        for method in ("GET", "HEAD"):
            answer = await client.request(method, "/", headers=headers)
            assert (answer.status_code, answer.headers["location"], answer.headers["vary"]) == (307, where, "Accept")


async def test_it_can_be_left_out_and_brought_back_while_the_server_runs() -> None:
    world = MemoryWorld(settings=Settings(no_console=True))
    async with client_of(create_server_app(world.gateway).asgi) as client:
        assert (await client.get("/console")).status_code == 404
        assert (await client.get("/console/assets/x/main.js")).status_code == 404
        assert (await client.get("/", headers=BROWSER)).headers["location"] == "docs"
        world.gateway.settings.adopt({"no_console": False})
        assert (await client.get("/console")).status_code == 200
        assert (await client.get("/", headers=BROWSER)).headers["location"] == "console"


def test_a_link_on_another_page_may_lead_to_it() -> None:
    guard = guard_of(listens_on="127.0.0.1", allowed_hosts="", has_tokens=False)
    assert guard is not None
    asked = {"host": b"localhost:8080", "origin": None, "fetch_site": b"cross-site"}
    assert guard.fault(b"GET", b"/console", **asked) is None
    assert guard.fault(b"POST", b"/console", **asked) is not None
