"""A browser, and what it must not do: complain, or ask another host for anything."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.support.server_process import ServerProcess

CHROMIUM = shutil.which("chromium")
WAIT_MS = 20_000
WIDE, NARROW = (1440, 900), (390, 844)

expect.set_options(timeout=WAIT_MS)


@dataclass
class Watched:
    """What a page did. `expected` are texts of complaints that belong to the test: the browser says of each answer
    from 400 on that it failed to load."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def assert_clean(self, *expected: str) -> None:
        assert [text for text in self.complaints if not any(each in text for each in expected)] == []
        assert len(self.hosts) <= 1, self.hosts


OpenPage = Callable[..., Watched]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium on the path: on Debian, apt-get install chromium")
    with sync_playwright() as playwright:
        # Without a sandbox, as root has none; what it opens is ours.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens the console of a server, in a session of its own."""
    contexts = []

    def open_it(
        server_url: str,
        place: str = "#/",
        *,
        path: str = "/console",
        size: tuple[int, int] = WIDE,
        colours: str = "light",
        token: str = "",
    ) -> Watched:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if colours == "dark" else "light",
            reduced_motion="reduce",
        )
        contexts.append(context)
        context.set_default_timeout(WAIT_MS)
        if token:
            context.add_init_script(
                f"sessionStorage.getItem('acklog.token') ?? sessionStorage.setItem('acklog.token', '{token}')"
            )
        watched = Watched(context.new_page())

        def complained(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                watched.complaints.append(message.text)

        def asked(request: Request) -> None:
            url = urlsplit(request.url)
            if url.scheme not in ("data", "blob"):
                watched.hosts.add(url.netloc)

        watched.page.on("console", complained)
        watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        watched.page.on("request", asked)
        watched.page.goto(f"{server_url}{path}{place}")
        return watched

    yield open_it
    for context in contexts:
        context.close()


@pytest.fixture(scope="package")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that asks nobody, with a topic."""
    directory = tmp_path_factory.mktemp("console")
    with ServerProcess(Path(directory, "data"), Path(directory, "log")) as server:
        server.request("PUT", "/topics/orders", {"partitions": 4})
        for number in range(20):
            server.send("orders", {"order": number}, key=f"customer-{number % 5}")
        yield server


@pytest.fixture(scope="module")
def no_streams(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that has no place for watchers."""
    directory = tmp_path_factory.mktemp("no-streams")
    options = ("--events-watchers-max", "0", "--tails-max", "0")
    with ServerProcess(directory / "data", directory / "log", options=options) as server:
        yield server
