"""`/docs` as people use it: calls are found, tried out, copied, with tokens and without; all is text."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from tests.integration.console.conftest import NARROW, WIDE, OpenPage, Watched
from tests.support.server_process import REPOSITORY, ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

BOSS, SENDER = "boss-secret-of-16", "sender-secret-of-16"
TOKENS = f"""
tokens = [
  {{ name = "boss", token = "{BOSS}", roles = ["admin"] }},
  {{ name = "sender", token = "{SENDER}", rights = [{{ allow = ["send"], topics = ["orders"] }}] }},
]
"""
RUN_SECONDS = 30


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that asks for tokens and has no console."""
    directory = tmp_path_factory.mktemp("guarded-documentation")
    tokens = Path(directory, "tokens.toml")
    tokens.write_text(TOKENS)
    options = ("--tokens-file", str(tokens), "--no-console")
    with ServerProcess(directory / "data", directory / "log", options=options) as server:
        yield server


@pytest.fixture
def open_documentation(open_page: OpenPage) -> OpenPage:
    def open_it(server_url: str, call: str = "", **options: object) -> Watched:
        watched = open_page(server_url, f"#/{call}", path="/docs", **options)
        expect(watched.page.get_by_role("heading", level=1)).to_be_visible()
        return watched

    return open_it


def send(page: Page) -> None:
    page.get_by_role("button", name="Send", exact=True).click()


def go_on(page: Page, name: str) -> None:
    page.get_by_role("region", name="Answer").get_by_role("link", name=name).click()


def code(page: Page, language: str) -> str:
    page.get_by_role("button", name=f"Show as {language}").click()
    return page.get_by_role("region", name="As code").locator("pre").inner_text()


def run(command: list[str], token: str = "") -> str:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY), "ACKLOG_TOKEN": token}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False, env=environment, cwd=REPOSITORY
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_call_is_found_and_a_message_makes_its_way(shop: ServerProcess, open_documentation: OpenPage) -> None:
    watched = open_documentation(shop.base_url)
    page = watched.page
    page.keyboard.press("/")
    page.keyboard.type("send one message")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Send one message or a batch")).to_be_focused()
    assert page.url.endswith("/docs#/sendMessages")
    page.get_by_label("JSON").fill('{"queue": "made-here", "body": {"n": 1.10}}')
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("region", name="Answer").get_by_text("201", exact=True)).to_be_visible()
    go_on(page, "Receive it")
    expect(page.get_by_label("queue", exact=True)).to_have_value("made-here")
    send(page)
    answer = page.get_by_role("region", name="Answer")
    expect(answer.locator("pre")).to_contain_text('"n": 1.10')
    receipt = json.loads(answer.locator("pre").inner_text())["messages"][0]["receipt"]
    go_on(page, "Acknowledge it")
    expect(page.get_by_label("JSON")).to_have_value(f'{{\n  "receipt": "{receipt}"\n}}')
    send(page)
    expect(page.get_by_role("region", name="Answer").locator("pre")).to_contain_text("acknowledged")
    watched.assert_clean()


def test_what_is_copied_does_the_same(shop: ServerProcess, open_documentation: OpenPage) -> None:
    watched = open_documentation(shop.base_url, "describeTopic")
    page = watched.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_label("topic *").fill("orders")
    send(page)
    shown = json.loads(page.get_by_role("region", name="Answer").locator("pre").inner_text())
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == code(page, "curl")
    assert json.loads(run(["bash", "-c", f"{copied} --silent"]))["name"] == shown["name"] == "orders"
    program = code(page, "Python")
    assert "client.topics.get" in program
    assert "orders" in run([sys.executable, "-c", program])
    watched.assert_clean()


def test_a_stream_shows_what_comes_until_it_is_stopped(shop: ServerProcess, open_documentation: OpenPage) -> None:
    watched = open_documentation(shop.base_url, "tailTopic")
    page = watched.page
    page.get_by_label("topic *").fill("orders")
    send(page)
    expect(page.get_by_text("The stream is open.")).to_be_visible()
    shop.send("orders", {"seen": "in the stream"})
    events = page.get_by_role("region", name="Events")
    expect(events.get_by_text("in the stream")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped.")).to_be_visible()
    assert "--no-buffer" in code(page, "curl")
    watched.assert_clean("ERR_ABORTED")


def test_who_has_no_right_is_told_which(guarded: ServerProcess, open_documentation: OpenPage) -> None:
    watched = open_documentation(guarded.base_url, "listTopics")
    page = watched.page
    expect(page.get_by_role("link", name="Console")).to_have_count(0)
    send(page)
    answer = page.get_by_role("region", name="Answer")
    expect(answer.get_by_text("A valid bearer token is required.")).to_be_visible()
    answer.get_by_role("button", name="Use a token …").click()
    page.get_by_role("textbox", name="Token").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The server does not know this token.")).to_be_visible()
    page.get_by_role("textbox", name="Token").fill(SENDER)
    page.keyboard.press("Enter")
    expect(page.get_by_text("sender", exact=True)).to_be_visible()
    page.goto(f"{guarded.base_url}/docs#/putTopic")
    send(page)
    expect(answer.get_by_text("The token does not allow this.")).to_be_visible()
    expect(answer.get_by_text("This call needs: manage on the topic.")).to_be_visible()
    page.goto(f"{guarded.base_url}/docs#/sendMessages")
    for language, command in (("curl", ["bash", "-c"]), ("Python", [sys.executable, "-c"])):
        text = code(page, language)
        assert SENDER not in text
        assert "messageId" in run([*command, text], SENDER) or "message_id" in run([*command, text], SENDER)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Use a token …")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    watched.assert_clean("401", "403")


def test_every_call_is_shown_and_nothing_a_document_or_an_answer_says_is_more_than_text(
    shop: ServerProcess, open_documentation: OpenPage
) -> None:
    hostile = '<img src=x onerror="document.title=1">\u202e[go](javascript:alert(1))'

    def poisoned(route: Route) -> None:
        document = route.fetch().json()
        document["info"]["description"] = hostile
        for methods in document["paths"].values():
            for operation in methods.values():
                operation["summary"] = f"{operation['operationId']} {hostile}"
                operation["x-rights"] = hostile
        route.fulfill(json=document)

    watched = open_documentation(shop.base_url)
    page = watched.page
    page.route("**/openapi.json", poisoned)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    ids = [
        operation["operationId"]
        for methods in shop.request("GET", "/openapi.json").document["paths"].values()
        for operation in methods.values()
    ]
    hrefs = page.locator(".call-row").evaluate_all("rows => rows.map(each => each.getAttribute('href'))")
    assert sorted(hrefs) == sorted(f"#/{each}" for each in ids)
    expect(page.locator(".lead")).to_contain_text("<img src=x")
    expect(page.locator(".lead").get_by_text("U+202E")).to_be_visible()
    shop.send("poisoned", {"body": hostile})
    page.goto(f"{shop.base_url}/docs#/receiveMessages")
    page.get_by_label("queue", exact=True).fill("poisoned")
    send(page)
    expect(page.get_by_role("region", name="Answer").get_by_text("U+202E")).to_be_visible()
    assert page.locator("img").count() == 0
    assert page.locator("a[href^='javascript']").count() == 0
    watched.assert_clean()


@pytest.mark.parametrize(
    ("size", "colours", "calls"),
    [(WIDE, "dark", ("sendMessages", "describeTopic")), (NARROW, "light", ("", "describeTopic"))],
    ids=["wide-dark", "narrow-light"],
)
def test_it_is_for_everybody(
    shop: ServerProcess, open_documentation: OpenPage, size: tuple[int, int], colours: str, calls: tuple[str, ...]
) -> None:
    """By axe; and nothing is wider than the screen."""
    watched = open_documentation(shop.base_url, size=size, colours=colours)
    page = watched.page
    faults = []
    for call in calls:
        page.goto(f"{shop.base_url}/docs#/{call}")
        if call == "describeTopic":
            page.get_by_label("topic *").fill("nowhere")
            send(page)
            expect(page.get_by_text("There is no such topic.").first).to_be_visible()
        found = Axe().run(page).response["violations"]
        faults += [f"{call}: {each['id']} {each['nodes'][0]['target']}" for each in found]
        if page.evaluate("document.documentElement.scrollWidth") > size[0]:
            faults.append(f"{call} is wider than the screen")
    assert faults == []
    watched.assert_clean("404")


def test_behind_a_prefix_all_is_asked_for_below_it(shop: ServerProcess, open_documentation: OpenPage) -> None:
    watched = open_documentation(shop.base_url)
    page = watched.page
    prefix = f"{shop.base_url}/queues/acklog"
    asked: list[str] = []

    def proxied(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(response=route.fetch(url=route.request.url.replace("/queues/acklog", "", 1)))

    page.route("**/*", proxied)
    page.goto(f"{prefix}/docs#/listTopics")
    send(page)
    expect(page.get_by_role("region", name="Answer").get_by_text("200", exact=True)).to_be_visible()
    assert f"{prefix}/topics" in code(page, "curl")
    assert f"{prefix}/topics" in {each.partition("?")[0] for each in asked}
    assert [each for each in asked if not each.startswith(prefix)] == []
    watched.assert_clean()
