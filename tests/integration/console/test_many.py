"""Very many topics, and topics of very many partitions: all stays quick, and no page is endless."""

import json
import time

import pytest
from playwright.sync_api import Page, Route, expect

from tests.integration.console.conftest import OpenPage
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

TOPICS = 10_000
PARTITIONS = 1_000
ROWS_MAX = 100
SECONDS_MAX = 10
"""On a machine that has other work; alone it is a fraction of a second."""


@pytest.fixture(scope="module")
def wide_topic(shop: ServerProcess) -> str:
    shop.request("PUT", "/topics/wide", {"partitions": PARTITIONS})
    for number in range(3):
        shop.send("wide", {"number": number}, partition=number * 400)
    return "wide"


def rows(page: Page) -> int:
    return page.locator("tbody tr").count()


def test_ten_thousand_topics(shop: ServerProcess, open_page: OpenPage) -> None:
    """The real pages of the listing, with names in the place of topics that would take minutes to make."""
    one = shop.request("GET", "/topics?limit=1").document["topics"][0]
    names = [f"team-{number % 97}.stream-{number:05}" for number in range(TOPICS)]

    def answer(route: Route) -> None:
        query = dict(each.split("=") for each in route.request.url.partition("?")[2].split("&"))
        first = int(query.get("after", "0"))
        last = first + int(query["limit"])
        topics = [{**one, "name": name, "id": name} for name in names[first:last]]
        more = {"next": str(last)} if last < TOPICS else {}
        route.fulfill(status=200, content_type="application/json", body=json.dumps({"topics": topics, **more}))

    watched = open_page(shop.base_url)
    page = watched.page
    page.route("**/topics?*", answer)
    page.goto(f"{shop.base_url}/console#/topics")
    expect(page.get_by_text("10,000 topics", exact=True)).to_be_visible()
    assert 0 < rows(page) <= ROWS_MAX
    began = time.monotonic()
    page.get_by_label("Search topics").fill("team-7. 00")
    expect(page.get_by_text(f"of {TOPICS:,} topics")).to_be_visible()
    page.get_by_label("Search topics").fill("team-7. 00395")
    expect(page.get_by_role("link", name="team-7.stream-00395")).to_be_visible()
    page.get_by_label("Search topics").fill("")
    page.get_by_role("button", name="Partitions").click()
    page.get_by_role("button", name="Next →").click()
    expect(page.get_by_text("51–100 of 10,000")).to_be_visible()
    assert time.monotonic() - began < SECONDS_MAX
    watched.assert_clean()


def test_a_thousand_partitions(shop: ServerProcess, open_page: OpenPage, wide_topic: str) -> None:
    watched = open_page(shop.base_url, f"#/topics/{wide_topic}")
    page = watched.page
    partitions = page.get_by_role("region", name="Partitions")
    expect(partitions.get_by_text("1–25 of 1,000")).to_be_visible()
    began = time.monotonic()
    partitions.get_by_role("button", name="Messages").click()
    partitions.get_by_role("button", name="Messages").click()
    expect(partitions.locator("tbody tr").first).to_contain_text("0 – 1")
    assert time.monotonic() - began < SECONDS_MAX
    page.goto(f"{shop.base_url}/console#/topics/{wide_topic}/messages")
    expect(page.get_by_text("The topic has 1,000 partitions; one at a time is looked at.")).to_be_visible()
    expect(page.get_by_text('{"number":0}')).to_be_visible()
    page.get_by_label("Partition").fill("800")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text('{"number":2}')).to_be_visible()
    page.goto(f"{shop.base_url}/console#/tail?topic={wide_topic}")
    expect(page.get_by_role("alert")).to_be_visible()  # too many for one stream, which says what to do
    watched.assert_clean("400")
