"""What waits in a group for a person: what is paused in part, what is blocked, and a move that may differ."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.integration.console.conftest import NARROW, WIDE, OpenPage
from tests.integration.console.test_everywhere import serious_faults
from tests.integration.console.test_groups import BOSS, TOKENS, open_group, progress, read_to
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

HOSTILE_KEY = "<img src=x onerror=alert(1)>\u202e"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("decisions")
    tokens = Path(directory, "tokens.toml")
    tokens.write_text(TOKENS)
    with ServerProcess(directory / "data", directory / "log", options=("--tokens-file", str(tokens))) as server:
        server.request("PUT", "/topics/orders", {"partitions": 1}, headers=BOSS)
        for number in range(5):
            body = {"queue": "orders", "body": number, "key": HOSTILE_KEY if number == 0 else f"key-{number}"}
            server.request("POST", "/messages", body, headers=BOSS)
        yield server


def block(server: ServerProcess, group: str) -> None:
    """All five messages of the topic."""
    body = {"mode": "keyOrdered", "settings": {"onExhausted": "block", "maxAttempts": 1}}
    assert server.request("PUT", f"/groups/{group}", body, headers=BOSS).status == 201
    received = server.request("GET", f"/messages?queue=orders&group={group}&max=5", headers=BOSS).document
    for each in received["messages"]:
        assert server.request("POST", "/nack", {"receipt": each["receipt"]}, headers=BOSS).status == 200


def blocked(server: ServerProcess, group: str) -> list[int]:
    listing = server.request("GET", f"/groups/{group}/keys", headers=BOSS).document
    return sorted(each["offset"] for each in listing["keys"])


def paused(server: ServerProcess, group: str) -> list[object]:
    document = server.request("GET", f"/groups/{group}", headers=BOSS).document
    return [each["topic"] for each in document["paused"]]


def test_what_is_paused_in_part_is_named_before_it_goes_on(guarded: ServerProcess, open_page: OpenPage) -> None:
    read_to(guarded, "partly", 0)
    guarded.request("POST", "/groups/partly/pause", {"topic": "orders", "partitions": [0]}, headers=BOSS)
    page = open_group(guarded, open_page, "partly")
    page.get_by_role("button", name="Resume …").click()
    expect(page.locator("dialog tbody td").first).to_have_text("orders, partition 0")
    page.get_by_role("button", name="Cancel").click()
    assert paused(guarded, "partly") == ["orders"]
    page.get_by_role("button", name="Pause all of it").click()
    expect(page.get_by_role("button", name="Pause all of it")).to_have_count(0)
    assert None in paused(guarded, "partly")
    page.get_by_role("button", name="Resume …").click()
    expect(page.get_by_text("the whole group", exact=True)).to_be_visible()
    page.get_by_role("button", name="Resume all of it").click()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    assert paused(guarded, "partly") == []


def test_what_is_blocked_is_released_and_skipped(guarded: ServerProcess, open_page: OpenPage) -> None:
    block(guarded, "stuck")
    watched = open_page(guarded.base_url, "#/groups/stuck", token="boss-secret-of-16")
    page = watched.page
    rows = page.get_by_role("region", name="Blocked").locator("tbody tr")
    expect(rows).to_have_count(5)
    expect(rows.first).to_contain_text("<img src=x onerror=alert(1)>U+202E")
    page.get_by_role("button", name="Release orders 0 offset 1 …").click()
    expect(page.get_by_text("its attempts begin anew")).to_be_visible()
    assert blocked(guarded, "stuck") == [0, 1, 2, 3, 4]
    page.get_by_role("button", name="Release", exact=True).click()
    expect(rows).to_have_count(4)
    assert blocked(guarded, "stuck") == [0, 2, 3, 4]
    page.get_by_role("button", name="Skip orders 0 offset 0 …").click()
    page.get_by_label("All that is blocked of this key in this topic").check()
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.get_by_text("1 message is skipped.")).to_be_visible()
    expect(rows).to_have_count(3)
    assert blocked(guarded, "stuck") == [2, 3, 4]
    watched.assert_clean()


def test_who_only_looks_decides_nothing(guarded: ServerProcess, open_page: OpenPage) -> None:
    block(guarded, "seen-stuck")
    page: Page = open_group(guarded, open_page, "seen-stuck", token="watcher")
    for name in ("Release", "Skip"):
        button = page.get_by_role("button", name=f"{name} orders 0 offset 0 …")
        expect(button).to_be_disabled()
        expect(button).to_have_accessible_description("Your token “watcher” has no right to seek on group seen-stuck.")


def test_who_owns_the_group_and_not_the_topic_decides_nothing(guarded: ServerProcess, open_page: OpenPage) -> None:
    """What a group does with a topic's messages is the topic's matter too."""
    block(guarded, "owned")
    page = open_group(guarded, open_page, "owned", token="mover")
    why = "Your token “mover” has no right to seek on topic orders."
    for opens, does in (("Skip orders 0 offset 0 …", "Skip"), ("Move …", "Show what would be")):
        page.get_by_role("button", name=opens).click()
        button = page.get_by_role("dialog").get_by_role("button", name=does, exact=True)
        expect(button).to_have_accessible_description(why)
        expect(button).to_be_disabled()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_move_that_lands_elsewhere_says_so(guarded: ServerProcess, open_page: OpenPage) -> None:
    read_to(guarded, "busy", 4)
    page = open_group(guarded, open_page, "busy")
    page.get_by_role("button", name="Move …").click()
    page.get_by_label("Go on with").select_option("relative")
    page.get_by_label("Messages", exact=True).fill("-2")
    page.get_by_role("button", name="Show what would be").click()
    expect(page.locator('dialog td[data-title="Then"]')).to_have_text("2")
    expect(page.get_by_text("Where it lands may differ.")).to_be_visible()
    read_to(guarded, "busy", 3)
    page.get_by_role("button", name="Move it").click()
    expect(page.get_by_text("In 1 partition it landed elsewhere than it was shown")).to_be_visible()
    expect(page.locator('dialog td[data-title="Then"]')).to_have_text("1")
    assert progress(guarded, "busy") == 1
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_an_offset_lands_where_it_was_shown(guarded: ServerProcess, open_page: OpenPage) -> None:
    read_to(guarded, "exact", 4)
    page = open_group(guarded, open_page, "exact")
    page.get_by_role("button", name="Move …").click()
    page.get_by_label("Go on with").select_option("offset")
    page.get_by_label("Partition").fill("0")
    page.get_by_label("Offset").fill("1")
    page.get_by_role("button", name="Show what would be").click()
    expect(page.get_by_text("Nothing is changed yet.")).to_be_visible()
    expect(page.get_by_text("Where it lands may differ.")).to_have_count(0)


@pytest.mark.parametrize(("size", "colours"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide-light", "narrow-dark"])
def test_decisions_are_for_everybody(
    guarded: ServerProcess, open_page: OpenPage, size: tuple[int, int], colours: str
) -> None:
    group = f"for-all-{colours}"
    block(guarded, group)
    guarded.request("POST", f"/groups/{group}/pause", {"topic": "orders"}, headers=BOSS)
    watched = open_page(guarded.base_url, f"#/groups/{group}", size=size, colours=colours, token="boss-secret-of-16")
    page = watched.page
    for button in ("Resume …", "Skip orders 0 offset 0 …"):
        page.get_by_role("button", name=button).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert serious_faults(page) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    assert serious_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    watched.assert_clean()
