"""Draws the pictures of docs/command-administration.md: real commands on a real server, as a terminal shows them.

`python -m docs.administration_screenshots` writes docs/images/command-*.svg.
"""

import io
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from tests.support.command_run import run_command
from tests.support.server_process import ServerProcess

IMAGES = Path(__file__).resolve().parent / "images"
WIDTH = 104
SHOWN_URL = "http://127.0.0.1:8080"
_FONT_FACE = re.compile(r"@font-face\s*\{[^}]*\}\s*")  # would be fetched from elsewhere
_UNIQUE = re.compile(r"terminal-\d+-")


def draw(name: str, shown: Sequence[tuple[str, str]]) -> None:
    """Write the picture `name`: command lines with what they wrote."""
    console = Console(record=True, file=io.StringIO(), width=WIDTH, force_terminal=True)
    for line, output in shown:
        console.print(Text.assemble(("$ ", "dim"), (line, "bold")))
        console.print(Text.from_ansi(output.rstrip("\n")))
    svg = console.export_svg(title="acklog")
    svg = _UNIQUE.sub("terminal-", _FONT_FACE.sub("", svg))
    (IMAGES / f"command-{name}.svg").write_text(svg + "\n")


def fill(server: ServerProcess) -> None:
    """A shop's evening: two topics, three groups, one of them behind, one with dead letters."""
    server.request("PUT", "/topics/orders", {"partitions": 4})
    server.request("PUT", "/topics/invoices", {"partitions": 2, "config": {"retentionMs": 30 * 86_400_000}})
    server.request("PUT", "/groups/fraud-check", {"settings": {"maxAttempts": 1}})
    server.request("PUT", "/topics/orders.fraud-check.dlq", {"partitions": 1})
    for number in range(240):
        server.send("orders", {"order": number}, key=f"customer-{number % 17}")
    for number in range(30):
        server.send("invoices", {"invoice": number})
    take(server, "orders", "mail", received=180, acked=164)
    take(server, "invoices", "ledger", received=30, acked=30)
    (message,) = server.receive("orders", "fraud-check", max=1)
    server.request("POST", "/nack", {"receipt": message["receipt"], "delaySeconds": 0})
    take(server, "orders", "fraud-check", received=200, acked=200)
    dead = server.receive("orders.fraud-check.dlq", "look", max=1, waitSeconds=10)
    server.request("POST", "/extend", {"receipts": [each["receipt"] for each in dead], "visibilitySeconds": 0})
    server.request("DELETE", "/groups/look")


def take(server: ServerProcess, topic: str, group: str, *, received: int, acked: int) -> None:
    messages = server.receive(topic, group, max=received)
    server.ack(*[message["receipt"] for message in messages[:acked]])


def flip_a_bit(directory: Path) -> None:
    """Damage a message of the largest segment."""
    segment = max(directory.glob("partitions/*/*.log"), key=lambda path: path.stat().st_size)
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0x10
    segment.write_bytes(content)


def main() -> None:
    """Draw everything."""
    IMAGES.mkdir(exist_ok=True)
    os.environ |= {"COLUMNS": str(WIDTH), "TERM": "xterm-256color", "COLORTERM": "truecolor"}  # what rich goes by
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        with ServerProcess(directory / "data", directory / "log") as server:
            fill(server)
            run = _runner(server, directory)
            draw("topics", [run("topics list"), run("topics show orders")])
            draw("lag", [run("lag"), run("lag --group mail --partitions")])
            draw("seek", [run("seek mail orders --to earliest --dry-run")])
            draw("doctor", [run("doctor --data-dir data")])
            server.stop()
            flip_a_bit(directory / "data")
            draw("fsck", [run("fsck data")])
            server.start()
            draw("bench", [_runner(server, directory)("bench --seconds 6")])


def _runner(server: ServerProcess, directory: Path) -> Callable[[str], tuple[str, str]]:
    url = server.base_url

    def run(line: str) -> tuple[str, str]:
        arguments: list[Any] = [str(directory / "data") if each == "data" else each for each in line.split()]
        environment = {"ACKLOG_URL": url, "TERM": "xterm-256color"}
        done = run_command(*arguments, environment=environment, is_terminal=True)
        said = done.stdout.replace(str(directory / "data"), "data").replace(url, SHOWN_URL)
        return f"acklog {line}", said

    return run


if __name__ == "__main__":
    main()
