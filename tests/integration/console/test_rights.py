"""What a token may not do is not offered, and why is said."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.integration.console.conftest import NARROW, OpenPage
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

TOKENS = """
tokens = [
  { name = "boss", token = "boss-secret-of-16", roles = ["admin"] },
  { name = "watcher", token = "watcher-secret-of-16", roles = ["viewer"] },
  { name = "worker", token = "worker-secret-of-16", roles = ["consumer"], topics = ["orders"], groups = ["mail"] },
  { name = "nobody", token = "nobody-secret-of-16", rights = [{ allow = ["send"], topics = ["other"] }] },
]
"""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("guarded")
    tokens = Path(directory, "tokens.toml")
    tokens.write_text(TOKENS)
    with ServerProcess(directory / "data", directory / "log", options=("--tokens-file", str(tokens))) as server:
        boss = {"Authorization": "Bearer boss-secret-of-16"}
        for topic in ("orders", "secrets"):
            server.request("PUT", f"/topics/{topic}", {"partitions": 1}, headers=boss)
            server.request("POST", "/messages", {"queue": topic, "body": {"of": topic}}, headers=boss)
        yield server


def test_a_person_signs_in_and_out(guarded: ServerProcess, open_page: OpenPage) -> None:
    watched = open_page(guarded.base_url, "#/topics", size=NARROW)
    page = watched.page
    expect(page.get_by_text("This server asks for a token.")).to_be_visible()
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The server does not know this token.")).to_be_visible()
    page.get_by_label("Token").fill("boss-secret-of-16")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="orders")).to_be_visible()
    expect(page.get_by_text("boss", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_role("link", name="orders")).to_be_visible()
    kept = "JSON.stringify([document.cookie, Object.entries(localStorage), location.href])"
    assert "boss-secret-of-16" not in page.evaluate(kept)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You have signed out.")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    watched.assert_clean("401")


def test_who_only_looks_is_offered_no_messages(guarded: ServerProcess, open_page: OpenPage) -> None:
    watched = open_page(guarded.base_url, "#/topics/orders", token="watcher-secret-of-16")
    page = watched.page
    expect(page.get_by_role("heading", name="orders")).to_be_visible()
    for name in ("Messages", "Follow live", "Send"):
        expect(page.locator(".screen-head").get_by_role("button", name=name, exact=True)).to_be_disabled()
    reason = "Your token “watcher” has no right to send on topic orders."
    expect(page.get_by_role("button", name="Send", exact=True)).to_have_accessible_description(reason)
    page.goto(f"{guarded.base_url}/console#/topics/orders/messages")
    expect(page.get_by_role("alert")).to_contain_text("FORBIDDEN")
    watched.assert_clean("403")


def test_a_worker_sees_its_topic_and_reads_it(guarded: ServerProcess, open_page: OpenPage) -> None:
    watched = open_page(guarded.base_url, "#/topics", token="worker-secret-of-16")
    page = watched.page
    expect(page.get_by_role("link", name="orders")).to_be_visible()
    expect(page.get_by_role("link", name="secrets")).to_have_count(0)
    page.get_by_role("link", name="orders").click()
    page.get_by_role("link", name="Messages", exact=True).click()
    expect(page.get_by_text('{"of":"orders"}')).to_be_visible()
    page.goto(f"{guarded.base_url}/console#/send?topic=orders")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    watched.assert_clean()


def test_who_may_look_at_nothing_is_told_so(guarded: ServerProcess, open_page: OpenPage) -> None:
    watched = open_page(guarded.base_url, token="nobody-secret-of-16")
    expect(watched.page.get_by_role("alert")).to_contain_text("FORBIDDEN")
    watched.page.get_by_role("link", name="Topics").click()
    expect(watched.page.get_by_text("the token has no right to look on anything")).to_be_visible()
    expect(watched.page.get_by_role("heading", name="Topics")).to_be_visible()
    watched.assert_clean("403")
