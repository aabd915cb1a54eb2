"""How soon the console shows something: `python -m loadtests.console_paint` starts a server with a few topics, and a
browser without a cache visits it by turns. Needs Chromium, and what `make test` installs."""

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console

from tests.support.server_process import ServerProcess

TOPICS = 20
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_SHOWN = "main h1"


def main() -> None:
    parser = argparse.ArgumentParser(description="How soon the console shows something.")
    parser.add_argument("--visits", type=int, default=10)
    arguments = parser.parse_args()
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("there is no chromium on the path: on Debian, apt-get install chromium")
    with tempfile.TemporaryDirectory(prefix="acklog-console-") as directory:
        folder = Path(directory)
        with ServerProcess(folder / "data", folder / "log") as server:
            for number in range(TOPICS):
                server.send(f"topic-{number}", {"number": number})
            paints_ms = _visits(program, f"{server.base_url}/console#/topics", arguments.visits)
    Console().print(
        f"first paint: {min(paints_ms):.0f} ms at best, {statistics.median(paints_ms):.0f} ms in the median, "
        f"{max(paints_ms):.0f} ms at worst of {len(paints_ms)} visits"
    )


def _visits(program: str, address: str, count: int) -> list[float]:
    """Milliseconds of each."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        paints_ms = []
        for _ in range(count):
            context = browser.new_context()
            page = context.new_page()
            page.goto(address)
            page.wait_for_selector(_SHOWN)
            paints_ms.append(float(page.evaluate(PAINT)))
            context.close()
        browser.close()
    return paints_ms


if __name__ == "__main__":
    main()
