"""What people come to the console for, each from its first click to its end: messages found, followed and sent."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.integration.console.conftest import NARROW, WIDE, OpenPage
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

LOOKS = [(WIDE, "light"), (NARROW, "dark")]
LOOK_NAMES = ["wide-light", "narrow-dark"]


@pytest.mark.parametrize(("size", "colours"), LOOKS, ids=LOOK_NAMES)
def test_a_messages_life_is_read(shop: ServerProcess, open_page: OpenPage, size: tuple[int, int], colours: str) -> None:
    topic = f"lives-{colours}"
    shop.request("PUT", f"/topics/{topic}", {"partitions": 1})
    shop.request("PUT", "/groups/patient", {"settings": {"retryBackoffMinMs": 600_000}})
    sent = shop.send(topic, {"order": 7, "large": 12345678901234567890}, key="ada")["messageId"]
    [leased] = shop.receive(topic, "patient", max=1)
    shop.request("POST", "/nack", {"receipt": leased["receipt"], "reason": "no stock", "delaySeconds": 600})
    [done] = shop.receive(topic, "quick", max=1)
    shop.ack(done["receipt"])
    watched = open_page(shop.base_url, f"#/topics/{topic}", size=size, colours=colours)
    page = watched.page
    page.get_by_role("link", name="Messages", exact=True).click()
    page.locator("tbody a").first.click()
    expect(page.get_by_role("heading", name="Message 0 of partition 0")).to_be_visible()
    lives = page.get_by_role("region", name="Its life in every group")
    expect(lives.get_by_text("delayed")).to_be_visible()
    expect(lives.get_by_text("no stock")).to_be_visible()
    expect(lives.get_by_text("done", exact=True)).to_be_visible()
    expect(page.get_by_text('"large": 12345678901234567890')).to_be_visible()
    assert page.url.endswith(f"#/messages/{sent}")
    watched.assert_clean()


@pytest.mark.parametrize(("size", "colours"), LOOKS, ids=LOOK_NAMES)
def test_a_message_is_found_by_key_and_time(
    shop: ServerProcess, open_page: OpenPage, size: tuple[int, int], colours: str
) -> None:
    topic = f"found-{colours}"
    shop.request("PUT", f"/topics/{topic}", {"partitions": 4})
    for number in range(300):
        shop.send(topic, {"number": number}, key=f'customer "{number}"')
    watched = open_page(shop.base_url, f"#/topics/{topic}/messages", size=size, colours=colours)
    page = watched.page
    expect(page.locator("tbody tr")).to_have_count(52)  # the newest 13 of each partition
    page.get_by_role("button", name="Older ones").click()
    expect(page.locator("tbody tr")).to_have_count(104)
    page.get_by_label("Key", exact=True).fill('customer "17"')
    page.get_by_label("Begin with").select_option("time")
    expect(page.get_by_label("Time", exact=True)).not_to_have_value("")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("1 message, the oldest first; these are all")).to_be_visible()
    expect(page.get_by_text('{"number":17}')).to_be_visible()
    page.reload()
    expect(page.get_by_text('{"number":17}')).to_be_visible()
    page.get_by_label("Begin with").select_option("offset")
    page.get_by_label("Key", exact=True).fill("")
    page.get_by_label("Partition").fill("9")
    expect(page.get_by_text("From 0 to 3")).to_be_visible()
    page.get_by_label("Partition").fill("2")
    page.get_by_label("Offset").fill("3")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("tbody tr").first).to_contain_text("3")
    assert "partition=2" in page.url
    watched.assert_clean()


@pytest.mark.parametrize(("size", "colours"), LOOKS, ids=LOOK_NAMES)
def test_what_is_sent_shows_in_a_tail(
    shop: ServerProcess, open_page: OpenPage, size: tuple[int, int], colours: str
) -> None:
    topic = f"tailed-{colours}"
    shop.request("PUT", f"/topics/{topic}", {"partitions": 2})
    watching = open_page(shop.base_url, f"#/tail?topic={topic}", size=size, colours=colours)
    expect(watching.page.get_by_text("Live. 0 messages so far.")).to_be_visible()
    sending = open_page(shop.base_url, f"#/send?topic={topic}", size=size, colours=colours)
    page = sending.page
    page.get_by_label("Body", exact=True).fill("{no json")
    expect(page.get_by_role("alert")).to_contain_text("This is no JSON")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    page.get_by_label("Body", exact=True).fill('{"price": 1.10, "n": 12345678901234567890}')
    page.get_by_label("Key", exact=True).fill("ada")
    page.get_by_label("Tags").fill("eu, new")
    page.get_by_label("Headers").fill("trace: 7\nnote: a: b")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Stored at offset 0 of partition")).to_be_visible()
    expect(watching.page.get_by_text("12345678901234567890")).to_be_visible()
    [message] = shop.receive(topic, "check", max=10)
    assert (message["key"], message["tags"]) == ("ada", ["eu", "new"])
    assert message["headers"] == {"trace": "7", "note": "a: b"}
    assert message["body"] == json.loads('{"price": 1.10, "n": 12345678901234567890}')
    watching.page.get_by_role("button", name="Pause").click()
    shop.send(topic, {"while": "paused"})
    watching.page.get_by_role("button", name="Go on").click()
    expect(watching.page.get_by_text("paused").first).to_be_visible()
    expect(watching.page.get_by_text("Live. 2 messages so far.")).to_be_visible()
    watching.assert_clean()
    sending.assert_clean()


def test_the_overview_tells_what_goes_on(shop: ServerProcess, open_page: OpenPage) -> None:
    shop.request("PUT", "/topics/busy", {"partitions": 1})
    watched = open_page(shop.base_url)
    page = watched.page
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    busy = page.get_by_role("region", name="Busiest topics")
    shop.send("busy", 1)  # the shop has more topics than are shown, and all others rest
    # One in a second, or in what is a little more of a busy machine's.
    expect(busy.get_by_role("row", name=re.compile(r"busy (0\.[1-9]|1\.\d)\W"))).to_be_visible()
    shop.receive("busy", "slow", max=1)
    behind = page.get_by_role("region", name="Groups furthest behind")
    expect(behind.get_by_role("row", name="slow in busy 1")).to_be_visible()
    assert page.locator("canvas").count() == 1
    watched.assert_clean()


def test_keys_lead_everywhere(shop: ServerProcess, open_page: OpenPage) -> None:
    watched = open_page(shop.base_url)
    page = watched.page
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("?")
    help_dialog = page.get_by_role("dialog", name="Keys")
    expect(help_dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(help_dialog).to_have_count(0)
    for keys, heading in (("gt", "Topics"), ("gl", "Live tail"), ("gs", "Send a message"), ("go", "Overview")):
        for key in keys:
            page.keyboard.press(key)
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    watched.assert_clean()


def test_colours_are_as_chosen_also_after_a_reload(shop: ServerProcess, open_page: OpenPage) -> None:
    watched = open_page(shop.base_url, colours="light")
    page = watched.page
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    for _ in range(2):
        page.get_by_role("button", name="Colours").click()
    dark = page.evaluate(background)
    assert dark != light
    page.reload()
    expect(page.get_by_role("button", name="Colours: dark")).to_be_visible()
    assert page.evaluate(background) == dark
    watched.assert_clean()
