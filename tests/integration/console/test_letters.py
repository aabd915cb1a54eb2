"""Dead letters: why they died, and that they are sent back, by whom may."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.integration.console.conftest import NARROW, WIDE, OpenPage
from tests.integration.console.test_everywhere import serious_faults
from tests.integration.console.test_groups import BOSS
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

SEES_ALL = '{ allow = ["look", "receive"], topics = ["*"], groups = ["*"] }'
OWNS_GROUPS = '{ allow = ["send", "settle"], groups = ["*"] }'
TOKENS = f"""
tokens = [
  {{ name = "boss", token = "boss-secret-of-16", roles = ["admin"] }},
  {{ name = "watcher", token = "watcher-secret-of-16", roles = ["viewer"] }},
  {{ name = "clerk", token = "clerk-secret-of-16", rights = [{SEES_ALL}, {{ allow = ["send"], groups = ["*"] }}] }},
  {{ name = "head", token = "head-secret-of-16", rights = [{SEES_ALL}, {OWNS_GROUPS}] }},
]
"""
REASON = "<b>no such customer</b>\u202e"
HEAD = {"Authorization": "Bearer head-secret-of-16"}
SHOWN = "<b>no such customer</b>U+202E"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("letters")
    tokens = Path(directory, "tokens.toml")
    tokens.write_text(TOKENS)
    with ServerProcess(directory / "data", directory / "log", options=("--tokens-file", str(tokens))) as server:
        yield server


def let_die(server: ServerProcess, topic: str, count: int = 3) -> None:
    """So many messages of the group `billing-<topic>` become letters."""
    group = f"billing-{topic}"
    server.request("PUT", f"/topics/{topic}", {"partitions": 1}, headers=BOSS)
    server.request("PUT", f"/groups/{group}", {"settings": {"maxAttempts": 1}}, headers=BOSS)
    for number in range(count):
        server.request("POST", "/messages", {"queue": topic, "body": number}, headers=BOSS)
    got = server.request("GET", f"/messages?queue={topic}&group={group}&max={count}", headers=BOSS).document
    for each in got["messages"]:
        body = {"receipt": each["receipt"], "reason": REASON, "delaySeconds": 0}
        assert server.request("POST", "/nack", body, headers=BOSS).status == 200
    letters = f"/topics/{topic}.{group}.dlq/partitions/0/records?offset=0"

    def are_there() -> bool:
        return len(server.request("GET", letters, headers=BOSS).document.get("records", [])) == count

    wait_until(are_there, seconds=20, what="all are dead letters")


def test_letters_are_sent_back(guarded: ServerProcess, open_page: OpenPage) -> None:
    let_die(guarded, "orders")
    watched = open_page(guarded.base_url, "#/groups/billing-orders", token="boss-secret-of-16")
    page = watched.page
    page.get_by_role("link", name="Dead letters").click()
    reasons = page.get_by_role("region", name="By reason")
    expect(reasons.locator("tbody tr")).to_have_count(1)
    expect(reasons.locator("tbody tr")).to_contain_text(SHOWN)
    letters = page.get_by_role("region", name="Letters").locator("tbody tr")
    expect(letters).to_have_count(3)
    expect(letters.first).to_contain_text(SHOWN)
    expect(page.get_by_role("button", name="Send chosen back …")).to_be_disabled()
    page.get_by_label("Choose letter 0:1").check()
    page.get_by_role("button", name="Send chosen back …").click()
    expect(page.get_by_text("This sends 1 letter in")).to_be_visible()
    page.get_by_role("button", name="Send back", exact=True).click()
    jobs = page.get_by_role("region", name="Sent back").locator("tbody tr")
    expect(jobs).to_have_count(1)
    expect(jobs).to_contain_text("1 of 1")
    expect(letters).to_have_count(2)
    page.get_by_role("button", name="Send all back …").click()
    page.get_by_role("button", name="Send back", exact=True).click()
    expect(page.get_by_text("All dead letters are handled")).to_be_visible()
    records = guarded.request("GET", "/topics/orders/partitions/0/records?offset=3", headers=BOSS).document["records"]
    assert sorted(each["body"] for each in records) == [0, 1, 2]
    watched.assert_clean()


def test_all_letters_are_come_to(guarded: ServerProcess, open_page: OpenPage) -> None:
    """Page by page, and one that is far behind is chosen beside one of the first."""
    let_die(guarded, "many", count=120)
    page = open_page(guarded.base_url, "#/groups/billing-many/letters", token="boss-secret-of-16").page
    letters = page.get_by_role("region", name="Letters").locator("tbody tr")
    expect(letters).to_have_count(50)
    page.get_by_label("Choose letter 0:7").check()
    for count in (100, 120):
        page.get_by_role("button", name="Later ones").click()
        expect(letters).to_have_count(count)
    expect(page.get_by_text("120 letters not handled, the oldest first; these are all")).to_be_visible()
    expect(page.get_by_role("button", name="Later ones")).to_have_count(0)
    expect(page.get_by_role("region", name="By reason").get_by_role("row", name=SHOWN)).to_contain_text("120")
    page.get_by_label("Choose letter 0:110").check()
    page.get_by_role("button", name="Send chosen back …").click()
    page.get_by_role("button", name="Send back", exact=True).click()
    expect(page.get_by_role("region", name="Sent back").locator("tbody tr")).to_contain_text("2 of 2")
    expect(page.get_by_label("Choose letter 0:7")).to_have_count(0)
    [job] = guarded.request("GET", "/groups/billing-many/redrive", headers=BOSS).document["jobs"]
    assert job["moved"] == 2


def test_letters_behind_many_that_are_handled_are_come_to(guarded: ServerProcess, open_page: OpenPage) -> None:
    """One that is not handled holds the group's progress up: behind it more are handled than one page looks at."""
    let_die(guarded, "holed", count=360)
    listed = guarded.request("GET", "/topics/holed.billing-holed.dlq/partitions/0/records?offset=0", headers=BOSS)
    ids = [each["messageId"] for each in listed.document["records"]][1:350]
    job = {"topic": "holed.billing-holed.dlq", "messageIds": ids}
    job_id = guarded.request("POST", "/groups/billing-holed/redrive", job, headers=BOSS).document["jobId"]

    def is_done() -> bool:
        answer = guarded.request("GET", f"/groups/billing-holed/redrive/{job_id}", headers=BOSS)
        return bool(answer.document["state"] == "done")

    wait_until(is_done, seconds=30, what="they are sent back")
    page = open_page(guarded.base_url, "#/groups/billing-holed/letters", token="boss-secret-of-16").page
    letters = page.get_by_role("region", name="Letters").locator("tbody tr")
    expect(letters).to_have_count(1)
    for count in (1, 11):
        page.get_by_role("button", name="Later ones").click()
        expect(letters).to_have_count(count)
    expect(page.get_by_label("Choose letter 0:350")).to_be_visible()


def test_a_slow_job_is_cancelled(guarded: ServerProcess, open_page: OpenPage) -> None:
    let_die(guarded, "slow", count=90)
    page = open_page(guarded.base_url, "#/groups/billing-slow/letters", token="boss-secret-of-16").page
    page.get_by_role("button", name="Send all back …").click()
    page.get_by_label("Letters a second").fill("0")
    expect(page.get_by_role("button", name="Send back", exact=True)).to_be_disabled()
    page.get_by_label("Letters a second").fill("1")
    page.get_by_role("button", name="Send back", exact=True).click()
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_role("region", name="Sent back").locator("tbody tr")).to_contain_text("cancelled")
    [job] = guarded.request("GET", "/groups/billing-slow/redrive", headers=BOSS).document["jobs"]
    assert job["state"] == "cancelled"
    assert job["moved"] < 90


def test_what_is_offered_is_what_the_server_allows(guarded: ServerProcess, open_page: OpenPage) -> None:
    """A job is begun by who may settle the letters too, and cancelled by who may send in the group's name."""
    let_die(guarded, "offered", count=60)
    job = {"topic": "offered.billing-offered.dlq", "ratePerSecond": 1}
    place = "#/groups/billing-offered/letters"
    head = open_page(guarded.base_url, place, token="head-secret-of-16").page
    send_back = head.get_by_role("button", name="Send all back …")
    expect(send_back).to_be_disabled()
    why = "Your token “head” has no right to settle on topic offered.billing-offered.dlq."
    expect(send_back).to_have_accessible_description(why)
    assert guarded.request("POST", "/groups/billing-offered/redrive", job, headers=HEAD).status == 403
    assert guarded.request("POST", "/groups/billing-offered/redrive", job, headers=BOSS).status in (200, 201, 202)
    clerk = open_page(guarded.base_url, place, token="clerk-secret-of-16").page
    clerk.get_by_role("button", name="Cancel", exact=True).click()
    expect(clerk.get_by_role("region", name="Sent back").locator("tbody tr")).to_contain_text("cancelled")


@pytest.mark.parametrize(("size", "colours"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide-light", "narrow-dark"])
def test_who_only_looks_sends_nothing_back(
    guarded: ServerProcess, open_page: OpenPage, size: tuple[int, int], colours: str
) -> None:
    topic = f"seen-{colours}"
    let_die(guarded, topic)
    place = f"#/groups/billing-{topic}/letters"
    page = open_page(guarded.base_url, place, size=size, colours=colours, token="boss-secret-of-16").page
    expect(page.get_by_role("region", name="Letters").locator("tbody tr")).to_have_count(3)
    assert serious_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    watcher = open_page(guarded.base_url, place, token="watcher-secret-of-16").page
    expect(watcher.get_by_role("alert").first).to_contain_text("receive")
    expect(watcher.get_by_role("button", name="Send all back …")).to_have_count(0)
