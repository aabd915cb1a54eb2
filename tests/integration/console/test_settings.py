"""Settings of a topic and a group: changed once it was seen what would change, by whom may."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.integration.console.conftest import NARROW, WIDE, OpenPage
from tests.integration.console.test_everywhere import serious_faults
from tests.integration.console.test_groups import BOSS, TOKENS
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("settings")
    tokens = Path(directory, "tokens.toml")
    tokens.write_text(TOKENS)
    with ServerProcess(directory / "data", directory / "log", options=("--tokens-file", str(tokens))) as server:
        server.request("PUT", "/topics/orders", {"partitions": 1}, headers=BOSS)
        server.request("PUT", "/groups/billing", {}, headers=BOSS)
        yield server


def setting(server: ServerProcess, path: str, member: str, name: str) -> object:
    return server.request("GET", path, headers=BOSS).document[member][name]


def apply(page: Page) -> None:
    page.get_by_role("button", name="Show what would change").click()
    page.get_by_role("button", name="Change it").click()


def test_a_topics_setting_is_changed_once_it_was_seen(guarded: ServerProcess, open_page: OpenPage) -> None:
    watched = open_page(guarded.base_url, "#/topics/orders", token="boss-secret-of-16")
    page = watched.page
    page.get_by_role("button", name="Change …").click()
    expect(page.get_by_role("button", name="Show what would change")).to_be_disabled()
    page.get_by_label("delayMs").fill("soon")
    expect(page.get_by_role("button", name="Show what would change")).to_be_disabled()
    page.get_by_label("delayMs").fill("5000")
    page.get_by_role("button", name="Show what would change").click()
    expect(page.locator('dialog td[data-title="Now"]')).to_have_text("0")
    expect(page.locator('dialog td[data-title="Then"]')).to_have_text("5000")
    assert setting(guarded, "/topics/orders", "config", "delayMs") == 0
    page.get_by_role("button", name="Change it").click()
    expect(page.get_by_text("1 setting changed.")).to_be_visible()
    assert setting(guarded, "/topics/orders", "config", "delayMs") == 5000
    watched.assert_clean()


def test_what_is_refused_is_said_at_its_field(guarded: ServerProcess, open_page: OpenPage) -> None:
    page = open_page(guarded.base_url, "#/groups/billing", token="boss-secret-of-16").page
    page.get_by_role("button", name="Change …").click()
    page.get_by_label("maxAttempts").fill("100000")
    apply(page)
    expect(page.get_by_label("maxAttempts")).to_have_attribute("aria-invalid", "true")
    assert setting(guarded, "/groups/billing", "settings", "maxAttempts") == 16
    page.get_by_label("maxAttempts").fill("7")
    page.get_by_label("onExpired").select_option("deadLetter")
    apply(page)
    expect(page.get_by_text("2 settings changed.")).to_be_visible()
    assert setting(guarded, "/groups/billing", "settings", "maxAttempts") == 7
    assert setting(guarded, "/groups/billing", "settings", "onExpired") == "deadLetter"


def test_who_only_looks_changes_no_setting(guarded: ServerProcess, open_page: OpenPage) -> None:
    page = open_page(guarded.base_url, "#/groups/billing", token="watcher-secret-of-16").page
    expect(page.get_by_role("button", name="Change …")).to_be_disabled()


@pytest.mark.parametrize(("size", "colours"), [(WIDE, "light"), (NARROW, "dark")], ids=["wide-light", "narrow-dark"])
def test_its_form_is_for_everybody(
    guarded: ServerProcess, open_page: OpenPage, size: tuple[int, int], colours: str
) -> None:
    page = open_page(guarded.base_url, "#/topics/orders", size=size, colours=colours, token="boss-secret-of-16").page
    page.get_by_role("button", name="Change …").click()
    page.get_by_label("ttlMs").fill("60000")
    assert serious_faults(page) == []
    page.get_by_role("button", name="Show what would change").click()
    expect(page.locator('dialog td[data-title="Then"]')).to_have_text("60000")
    assert serious_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
