"""Groups: how far behind they are, and being paused and moved, by whom may."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.integration.console.conftest import NARROW, WIDE, OpenPage
from tests.integration.console.test_everywhere import serious_faults
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

TOKENS = """
tokens = [
  { name = "boss", token = "boss-secret-of-16", roles = ["admin"] },
  { name = "watcher", token = "watcher-secret-of-16", roles = ["viewer"] },
  { name = "mover", token = "mover-secret-of-16", rights = [
    { allow = ["look", "receive"], topics = ["*"], groups = ["*"] }, { allow = ["seek"], groups = ["*"] }] },
]
"""
ASKED_MAX = 50
BOSS = {"Authorization": "Bearer boss-secret-of-16"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("groups")
    tokens = Path(directory, "tokens.toml")
    tokens.write_text(TOKENS)
    with ServerProcess(directory / "data", directory / "log", options=("--tokens-file", str(tokens))) as server:
        server.request("PUT", "/topics/orders", {"partitions": 1}, headers=BOSS)
        for number in range(5):
            server.request("POST", "/messages", {"queue": "orders", "body": number}, headers=BOSS)
        yield server


def read_to(server: ServerProcess, group: str, offset: int) -> None:
    """A group shows once it has received something; then it is put there."""
    assert server.request("GET", f"/messages?queue=orders&group={group}&max=1", headers=BOSS).status == 200
    body = {"topic": "orders", "partition": 0, "to": {"offset": offset}}
    assert server.request("POST", f"/groups/{group}/offsets", body, headers=BOSS).status == 200


def progress(server: ServerProcess, group: str) -> int:
    [place] = server.request("GET", f"/groups/{group}/offsets", headers=BOSS).document["offsets"]
    return int(place["progress"])


def open_group(server: ServerProcess, open_page: OpenPage, group: str, token: str = "boss") -> Page:
    page: Page = open_page(server.base_url, f"#/groups/{group}", token=f"{token}-secret-of-16").page
    expect(page.get_by_role("region", name="Positions").locator("tbody tr")).to_have_count(1)
    return page


def test_a_group_is_found_with_its_lag(guarded: ServerProcess, open_page: OpenPage) -> None:
    read_to(guarded, "behind", 2)
    read_to(guarded, "other", 5)
    watched = open_page(guarded.base_url, "#/groups", token="boss-secret-of-16")
    page = watched.page
    page.get_by_label("Search groups").fill("BEHI")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator('tbody td[data-title="Lag"]')).to_have_text("3")
    page.get_by_role("link", name="behind").click()
    expect(page.locator('tbody td[data-title="Progress"]')).to_have_text("2 of 5")
    watched.assert_clean()


def test_where_the_stream_is_refused_groups_are_asked(no_streams: ServerProcess, open_page: OpenPage) -> None:
    """As many as are worth while, and those that are searched for."""
    no_streams.request("PUT", "/topics/asked", {"partitions": 2})
    for number in range(3):
        no_streams.send("asked", number)
    no_streams.receive("asked", "g-00", max=1)
    for number in range(1, ASKED_MAX + 1):
        assert no_streams.request("PUT", f"/groups/g-{number:02}", {}).status == 201
    watched = open_page(no_streams.base_url, "#/groups")
    page = watched.page
    expect(page.get_by_role("row", name="g-00").locator('[data-title="Lag"]')).to_have_text("3")
    expect(page.get_by_role("row", name="g-00").locator('[data-title="In flight"]')).to_have_text("1")
    expect(page.get_by_text("Those are the first 50: search for others.")).to_be_visible()
    expect(page.get_by_role("row", name="g-49").locator('[data-title="Lag"]')).to_have_text("0")
    page.get_by_role("button", name="Next →").click()
    expect(page.get_by_role("row", name="g-50").locator('[data-title="Lag"]')).to_have_text("–")
    page.get_by_label("Search groups").fill("g-50")
    expect(page.get_by_role("row", name="g-50").locator('[data-title="Lag"]')).to_have_text("0")
    expect(page.get_by_text("search for others")).to_have_count(0)
    watched.assert_clean("429")


def test_a_group_is_moved_once_it_was_seen_where_to(guarded: ServerProcess, open_page: OpenPage) -> None:
    read_to(guarded, "moved", 4)
    page = open_group(guarded, open_page, "moved")
    page.get_by_role("button", name="Move …").click()
    move = page.get_by_role("button", name="Move it")
    expect(move).to_be_disabled()
    page.get_by_label("Go on with").select_option("relative")
    page.get_by_label("Messages", exact=True).fill("-x")
    expect(page.get_by_role("button", name="Show what would be")).to_be_disabled()
    page.get_by_label("Messages", exact=True).fill("-3")
    page.get_by_role("button", name="Show what would be").click()
    expect(page.get_by_text("Nothing is changed yet.")).to_be_visible()
    expect(page.locator('dialog td[data-title="Now"]')).to_have_text("4")
    expect(page.locator('dialog td[data-title="Then"]')).to_have_text("1")
    assert progress(guarded, "moved") == 4
    page.get_by_label("Messages", exact=True).fill("-2")
    expect(move).to_be_disabled()
    page.get_by_role("button", name="Show what would be").click()
    expect(page.locator('dialog td[data-title="Then"]')).to_have_text("2")
    move.click()
    expect(page.get_by_text("moved is moved in orders.")).to_be_visible()
    assert progress(guarded, "moved") == 2
    expect(page.locator('tbody td[data-title="Progress"]')).to_have_text("2 of 5")


def test_a_refusal_is_shown_with_what_is_not_seen(guarded: ServerProcess, open_page: OpenPage) -> None:
    read_to(guarded, "refused", 0)
    page = open_group(guarded, open_page, "refused")
    problem = {"title": "No", "code": "CONFLICT", "detail": "<b>not now</b>\u202e"}
    page.route("**/groups/refused/pause", lambda route: route.fulfill(status=409, json=problem))
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".toast")).to_have_text("<b>not now</b>U+202E")
    expect(page.get_by_role("button", name="Pause")).to_be_enabled()


def test_a_group_is_paused_and_goes_on(guarded: ServerProcess, open_page: OpenPage) -> None:
    read_to(guarded, "resting", 0)
    page = open_group(guarded, open_page, "resting")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert guarded.request("GET", "/groups/resting", headers=BOSS).document["paused"] != []
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert guarded.request("GET", "/groups/resting", headers=BOSS).document["paused"] == []


def test_who_only_looks_changes_nothing(guarded: ServerProcess, open_page: OpenPage) -> None:
    read_to(guarded, "looked-at", 1)
    page = open_group(guarded, open_page, "looked-at", token="watcher")
    for name in ("Pause", "Move …"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
    reason = "Your token “watcher” has no right to manage on group looked-at."
    expect(page.get_by_role("button", name="Pause")).to_have_accessible_description(reason)


@pytest.mark.parametrize(("size", "colours"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide-light", "narrow-dark"])
def test_its_screens_are_for_everybody(
    guarded: ServerProcess, open_page: OpenPage, size: tuple[int, int], colours: str
) -> None:
    read_to(guarded, "seen", 1)
    watched = open_page(guarded.base_url, "#/groups", size=size, colours=colours, token="boss-secret-of-16")
    page = watched.page
    expect(page.get_by_role("link", name="seen")).to_be_visible()
    assert serious_faults(page) == []
    page.get_by_role("link", name="seen").click()
    expect(page.get_by_role("region", name="Positions")).to_be_visible()
    page.get_by_role("button", name="Move …").click()
    page.get_by_role("button", name="Show what would be").click()
    expect(page.get_by_text("Nothing is changed yet.")).to_be_visible()
    assert serious_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    watched.assert_clean()
