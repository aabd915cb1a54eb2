"""Takes the pictures of docs/console.md: the console of a real server with a shop's evening in it, and `/docs` there.

`python -m docs.console_screenshots` writes docs/images/console-*.png and docs-call.png. It needs Chromium on the path.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from docs.administration_screenshots import IMAGES, fill
from tests.support.server_process import ServerProcess

SIZE = {"width": 1280, "height": 800}
WATCHED_MS = 12_000
ROUND_MS = 200


def main() -> None:
    program = shutil.which("chromium")
    if program is None:
        sys.exit("there is no chromium on the path")
    with (
        tempfile.TemporaryDirectory() as scratch,
        ServerProcess(Path(scratch, "data"), Path(scratch, "log")) as server,
        sync_playwright() as playwright,
    ):
        fill(server)
        life = told_life(server)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        overview(browser, server)
        message(browser, server, life)
        call(browser, server)
        browser.close()


def told_life(server: ServerProcess) -> str:
    """The id of a message that one group has done, and another could not."""
    server.request("PUT", "/topics/payments", {"partitions": 1})
    body = {"payment": 81, "total": "129.00", "currency": "EUR", "items": [{"article": "lamp", "count": 2}]}
    sent = server.send("payments", body, key="customer-7", tags=["card"], headers={"trace": "4bf92f35", "region": "eu"})
    [received] = server.receive("payments", "ledger", max=1)
    server.ack(received["receipt"])
    [refused] = server.receive("payments", "fraud-watch", max=1, consumer="worker-2")
    server.request(
        "POST", "/nack", {"receipt": refused["receipt"], "delaySeconds": 300, "reason": "score not there yet"}
    )
    return str(sent["messageId"])


def overview(browser: Browser, server: ServerProcess) -> None:
    page = opened(browser, server, "")
    for number in range(WATCHED_MS // ROUND_MS):
        for _ in range(1 + number % 7):
            server.send("orders", {"order": number}, key=f"customer-{number % 17}")
        messages = server.receive("orders", "mail", max=1 + number % 5)
        server.ack(*[each["receipt"] for each in messages])
        page.wait_for_timeout(ROUND_MS)
    save(page, "overview")


def message(browser: Browser, server: ServerProcess, message_id: str) -> None:
    page = opened(browser, server, f"messages/{message_id}", colours="dark")
    page.get_by_role("region", name="Its life in every group").wait_for()
    save(page, "message")


def call(browser: Browser, server: ServerProcess) -> None:
    page = browser.new_page(viewport=SIZE)
    page.goto(f"{server.base_url}/docs#/receiveMessages")
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("region", name="Answer").wait_for()
    page.screenshot(path=IMAGES / "docs-call.png")


def opened(browser: Browser, server: ServerProcess, place: str, *, colours: str = "light") -> Page:
    page = browser.new_page(viewport=SIZE, color_scheme="dark" if colours == "dark" else "light")
    page.goto(f"{server.base_url}/console#/{place}")
    page.get_by_role("heading", level=1).wait_for()
    return page


def save(page: Page, name: str) -> None:
    page.screenshot(path=IMAGES / f"console-{name}.png")


if __name__ == "__main__":
    main()
