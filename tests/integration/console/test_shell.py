"""The frame of the console: it opens, leads everywhere, and looks right to people and programs."""

import pytest
from playwright.sync_api import expect

from tests.integration.console.conftest import NARROW, WIDE, OpenPage
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_topic_is_found(shop: ServerProcess, open_page: OpenPage, colours: str, size: tuple[int, int]) -> None:
    watched = open_page(shop.base_url, colours=colours, size=size)
    page = watched.page
    page.get_by_role("link", name="Topics").click()
    expect(page.get_by_role("heading", name="Topics")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("ord")
    expect(page.get_by_role("link", name="orders")).to_be_visible()
    page.keyboard.type("x")
    expect(page.get_by_text("No topic has this in its name")).to_be_visible()
    assert "search=ordx" in page.url
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    watched.assert_clean()
