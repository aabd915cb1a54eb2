"""What anybody may have sent is shown, and does nothing."""

import base64
import json

import pytest
from playwright.sync_api import expect

from tests.integration.console.conftest import NARROW, OpenPage
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

MARKUP = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script><h1>hi</h1>"
BIDI = "user\u202etxt.exe\u2066\u200b\u0007"


@pytest.fixture(scope="module")
def hostile(shop: ServerProcess) -> list[str]:
    """Ids of messages of the topic `hostile`, in their order."""
    shop.request("PUT", "/topics/hostile", {"partitions": 1})
    ids = [
        shop.send("hostile", {"text": MARKUP, "__proto__": {"a": 1}, "type": "h1", "props": {}}, key=MARKUP[:200])[
            "messageId"
        ],
        shop.send("hostile", BIDI, key=BIDI, headers={"x-" + BIDI[4:]: BIDI}, tags=[BIDI])["messageId"],
        shop.send("hostile", "x" * 1_000_000, key="k" * 1_000)["messageId"],
    ]
    raw = base64.b64encode(bytes(range(256)) * 20).decode()
    content = {"queue": "hostile", "bodyBase64": raw, "contentType": "text/html"}
    ids.append(shop.request("POST", "/messages", content).document["messageId"])
    nested = "[" * 60 + "]" * 60
    ids.append(shop.send("hostile", json.loads(nested))["messageId"])
    return ids


def test_markup_is_text(shop: ServerProcess, open_page: OpenPage, hostile: list[str]) -> None:
    watched = open_page(shop.base_url, f"#/messages/{hostile[0]}")
    page = watched.page
    expect(page.locator("pre")).to_contain_text("<script>document.title='taken'</script>")
    page.goto(f"{shop.base_url}/console#/topics/hostile/messages")
    expect(page.locator("tbody tr")).to_have_count(5)
    assert page.locator("main img, main script").count() == 0
    assert page.locator("h1").count() == 1
    assert "taken" not in page.title()
    watched.assert_clean()


def test_what_is_not_seen_is_shown_as_a_mark(shop: ServerProcess, open_page: OpenPage, hostile: list[str]) -> None:
    watched = open_page(shop.base_url, f"#/messages/{hostile[1]}")
    page = watched.page
    marks = page.locator("pre .unseen")
    expect(marks).to_have_text(["U+202E", "U+2066", "U+200B"])  # JSON writes the bell as an escape by itself
    for of in ("dd .unseen", "dt .unseen", ".badge .unseen"):
        assert page.locator(of).count() > 0
    shown = page.locator("main").inner_text()
    assert not set("\u202e\u2066\u200b\u0007") & set(shown)
    watched.assert_clean()


def test_a_large_body_is_cut_and_can_be_shown(shop: ServerProcess, open_page: OpenPage, hostile: list[str]) -> None:
    watched = open_page(shop.base_url, f"#/messages/{hostile[2]}", size=NARROW)
    page = watched.page
    expect(page.locator("pre")).to_be_visible()
    assert len(page.locator("pre").inner_text()) == 10_000
    page.get_by_role("button", name="show all").first.click()
    page.wait_for_function("document.querySelector('pre').textContent.length === 1000002")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    watched.assert_clean()


def test_bytes_are_shown_as_such(shop: ServerProcess, open_page: OpenPage, hostile: list[str]) -> None:
    watched = open_page(shop.base_url, f"#/messages/{hostile[3]}")
    page = watched.page
    expect(page.locator("pre")).to_contain_text("00000030  30 31 32 33 34 35 36 37")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == f"{hostile[3]}.bin"
    assert download.value.path().read_bytes() == bytes(range(256)) * 20
    watched.assert_clean()


def test_an_address_that_somebody_made_up_does_nothing(shop: ServerProcess, open_page: OpenPage) -> None:
    for place in (
        "#/topics/%3Cimg src=x onerror=alert(1)%3E",
        "#/messages/%ff%00",
        "#/topics/..%2f..%2fmetrics",
        "#/nothing/here",
        "#/send?topic=%22%3E%3Cscript%3E",
    ):
        watched = open_page(shop.base_url, place)
        expect(watched.page.locator("h1")).to_be_visible()
        assert watched.page.locator("main img, main script").count() == 0
        watched.assert_clean("Failed to load resource")
