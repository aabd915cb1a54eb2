"""Every screen for everybody: accessible, in both colours and at both widths, small, and by itself."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.integration.console.conftest import NARROW, WIDE, OpenPage
from tests.support.lasting_ports import lasting_ports
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

PAGE_BYTES_MAX = 200_000
SERIOUS = {"serious", "critical"}
PLACES = {
    "": "Overview",
    "topics": "Topics",
    "topics/orders": "orders",
    "topics/orders/messages": "Messages",
    "groups": "Groups",
    "groups/mail": "mail",
    "groups/mail/letters": "Dead letters",
    "cluster": "Cluster",
    "tail?topic=orders": "Live tail",
    "send?topic=orders": "Send a message",
    "nothing/here": "Nothing here",
}


@pytest.fixture(scope="module")
def furnished(shop: ServerProcess) -> ServerProcess:
    """Something is on every screen: a group with a message that is blocked, and with a dead letter."""
    shop.request("PUT", "/topics/bills", {"partitions": 1})
    shop.request("PUT", "/groups/mail", {"mode": "keyOrdered", "settings": {"maxAttempts": 1}})
    for exhausted in ("deadLetter", "block"):
        shop.request("PATCH", "/groups/mail", {"settings": {"onExhausted": exhausted}})
        shop.send("bills", {"of": exhausted}, key=exhausted)
        [received] = shop.receive("bills", "mail", max=1)
        shop.request("POST", "/nack", {"receipt": received["receipt"], "reason": "no such street"})
    return shop


def serious_faults(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{each['id']} {each['nodes'][0]['target']}" for each in found if each["impact"] in SERIOUS]


def test_what_is_not_for_everybody_is_found(shop: ServerProcess, open_page: OpenPage) -> None:
    page = open_page(shop.base_url, "#/send").page
    expect(page.get_by_role("heading", name="Send a message")).to_be_visible()
    page.evaluate("document.querySelector('main label').remove()")
    assert [fault.split()[0] for fault in serious_faults(page)] == ["label"]


def test_there_is_something_on_every_screen(furnished: ServerProcess, open_page: OpenPage) -> None:
    page = open_page(furnished.base_url, "#/groups/mail").page
    expect(page.get_by_role("button", name="Skip bills 0 offset 1 …")).to_be_visible()
    page.get_by_role("link", name="Dead letters").click()
    expect(page.get_by_label("Choose letter 0:0")).to_be_visible()


@pytest.mark.parametrize("place", ["topics/orders", "groups/mail"])
@pytest.mark.parametrize(("size", "colours"), [(WIDE, "dark"), (NARROW, "light")], ids=["wide-dark", "narrow-light"])
def test_the_way_on_from_long_settings_is_seen(
    furnished: ServerProcess, open_page: OpenPage, place: str, size: tuple[int, int], colours: str
) -> None:
    """Without scrolling; and a field that is come to by the keyboard is not under it."""
    watched = open_page(furnished.base_url, f"#/{place}", size=size, colours=colours)
    page = watched.page
    page.get_by_role("button", name="Change …").click()
    way_on = page.get_by_role("button", name="Show what would change")
    expect(way_on).to_be_in_viewport(ratio=1)
    fields = page.locator("dialog :is(input, select)")
    bottom = way_on.bounding_box()["y"]
    for _ in range(fields.count() - 1):
        page.keyboard.press("Tab")
        box = page.locator("dialog :focus").bounding_box()
        assert box["y"] + box["height"] <= bottom
    heights = {round(label.bounding_box()["height"]) for label in page.locator("dialog label").all()}
    assert len(heights) == 1, "no name is broken"
    assert serious_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    watched.assert_clean()


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_screens_are_for_everybody(
    furnished: ServerProcess, open_page: OpenPage, colours: str, size: tuple[int, int]
) -> None:
    """By axe; and nothing is wider than the screen."""
    watched = open_page(furnished.base_url, colours=colours, size=size)
    page = watched.page
    sent = furnished.send("orders", {"a": 1}, key="k", tags=["t"], headers={"h": "v"})["messageId"]
    places = PLACES | {f"messages/{sent}": "Message"}
    faults = []
    for place, heading in places.items():
        page.goto(f"{furnished.base_url}/console#/{place}")
        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
        expect(page.get_by_text("Loading …")).to_have_count(0)
        faults += [f"{place}: {each}" for each in serious_faults(page)]
        if page.evaluate("document.documentElement.scrollWidth") > size[0]:
            faults.append(f"{place} is wider than the screen")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    faults += [f"help: {each}" for each in serious_faults(page)]
    assert faults == []
    watched.assert_clean()


def test_it_is_small(shop: ServerProcess, open_page: OpenPage) -> None:
    """As it is sent, and hardly anything at a second visit."""
    page = open_page(shop.base_url, "#/topics").page
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    own = "performance.getEntries().filter(e => /console/.test(e.name) && 'transferSize' in e)"
    sent = f"{own}.reduce((sum, e) => sum + e.transferSize, 0)"
    assert 10_000 < page.evaluate(sent) < PAGE_BYTES_MAX
    page.reload()
    expect(page.get_by_role("heading", name="Topics")).to_be_visible()
    assert page.evaluate(sent) < 5_000


def test_where_streams_are_refused_it_asks(open_page: OpenPage, no_streams: ServerProcess) -> None:
    watched = open_page(no_streams.base_url)
    page = watched.page
    expect(page.get_by_text("asked every 2 s")).to_be_visible()
    expect(page.get_by_role("term").filter(has_text="Partitions")).to_be_visible()
    no_streams.send("polled", 1)
    expect(page.get_by_text("Stored 0.", exact=False).or_(page.get_by_text("Stored 1.0/s"))).to_be_visible()
    page.goto(f"{no_streams.base_url}/console#/tail?topic=polled")
    expect(page.get_by_text("Asked every 2 s, as there are too many streams. 0 messages so far.")).to_be_visible()
    no_streams.send("polled", {"found": "by asking"})
    expect(page.get_by_text('{"found":"by asking"}')).to_be_visible()
    watched.assert_clean("429")


def test_a_server_that_is_killed_and_comes_back(open_page: OpenPage, tmp_path: Path) -> None:
    [port] = lasting_ports(1)
    with ServerProcess(tmp_path / "data", tmp_path / "log", options=("--port", str(port))) as server:
        server.send("orders", {"before": 1})
        overview = open_page(server.base_url)
        tail = open_page(server.base_url, "#/tail?topic=orders")
        expect(overview.page.get_by_text("live", exact=True)).to_be_visible()
        expect(tail.page.get_by_text("Live. 0 messages so far.")).to_be_visible()
        server.kill()
        expect(overview.page.get_by_text("The server cannot be reached")).to_be_visible()
        server.start()
        server.send("orders", {"after": 1})
        expect(tail.page.get_by_text('{"after":1}')).to_be_visible()
        expect(overview.page.get_by_text("live", exact=True)).to_be_visible()
        expect(overview.page.get_by_role("alert")).to_have_count(0)
        for each in (overview, tail):
            each.assert_clean("net::ERR")
