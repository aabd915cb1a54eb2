"""Draws the pictures of docs/command.md: real commands on a real server, as a terminal shows them.

`python -m docs.screenshots` writes docs/images/command-*.svg, those of docs/command-administration.md included. Ids and
times differ from run to run.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from docs import administration_screenshots
from docs.administration_screenshots import IMAGES, SHOWN_URL, WIDTH, draw
from tests.support.command_run import run_command
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

LETTER_WAIT_S = 20


class Screen:
    """Commands and what they wrote, until `save` makes a picture of them."""

    def __init__(self, server_url: str) -> None:
        self._url = server_url
        self._shown: list[tuple[str, str]] = []

    def type(self, line: str, *arguments: str, stdin: str = "") -> None:
        """Show `line` and what the command answers to its arguments: by default those of `line`."""
        given = arguments or tuple(line.split()[1:])
        environment = {"ACKLOG_URL": self._url, "TERM": "xterm-256color"}
        ran = run_command(*given, stdin=stdin, is_terminal=True, environment=environment)
        self._shown.append((line, (ran.stderr + ran.stdout).replace(self._url, SHOWN_URL)))

    def ask(self, *arguments: str, stdin: str = "") -> str:
        """What the command writes into a pipe. Nothing is shown."""
        return run_command(*arguments, stdin=stdin, environment={"ACKLOG_URL": self._url}).stdout

    def save(self, name: str) -> None:
        draw(name, self._shown)


def send(screen: Screen) -> None:
    """One message, a mistake and what it says, and lines."""
    screen.type(
        """acklog send orders '{"order": 1}' --key customer-7""",
        *("send", "orders", '{"order": 1}', "--key", "customer-7"),
    )
    screen.type("acklog send orders hello", "send", "orders", "hello")
    lines = "".join(json.dumps({"order": number, "customer": f"c-{number % 50}"}) + "\n" for number in range(10_000))
    screen.type(
        "cat events.ndjson | acklog send orders --key-field customer",
        *("send", "orders", "--key-field", "customer", "--quiet", "--no-color"),
        stdin=lines,
    )
    screen.save("send")


def receive(screen: Screen) -> None:
    screen.ask("send", "mails", '{"to": "ada@example.org", "template": "welcome"}', "--key", "ada")
    screen.ask("send", "mails", '{"to": "alan@example.org", "template": "welcome"}', "--key", "alan", "--tag", "test")
    screen.type("acklog receive mails --group mailer")
    screen.type("acklog receive mail --group mailer")
    screen.save("receive")


def tail(screen: Screen) -> None:
    for number, customer in enumerate(("ada", "alan", "grace", "edsger", "barbara", "ada"), 1):
        body = json.dumps({"order": number, "total": number * 12.5})
        screen.ask("send", "shop", body, "--key", customer)
    screen.type("acklog tail shop -n 6", "tail", "shop", "-n", "6", "--no-follow")
    screen.save("tail")


def why(screen: Screen) -> None:
    sent = screen.ask("send", "jobs", '{"job": "resize", "image": 81}', "--key", "image-81").strip()
    receipt = json.loads(screen.ask("receive", "jobs", "--group", "resizer", "--json"))["receipt"]
    screen.ask("nack", receipt, "--delay", "300")
    screen.ask("receive", "jobs", "--group", "audit", "--consumer", "worker-2")
    screen.type(f"acklog why {sent}")
    screen.save("why")


def dlq(screen: Screen) -> None:
    lines = "".join(json.dumps({"invoice": number}) + "\n" for number in (81, 82, 83))
    screen.ask("send", "invoices", "--key", "k", stdin=lines)
    screen.ask("groups", "create", "printer", "--max-attempts", "1")
    screen.ask("nack", "--delay", "0", stdin=screen.ask("receive", "invoices", "--group", "printer"))
    letters = "invoices.printer.dlq"
    wait_until(
        lambda: screen.ask("peek", letters, "--json", "--quiet").count('"messageId"') == 3,
        seconds=LETTER_WAIT_S,
        what="the dead letters",
    )
    screen.type("acklog dlq list")
    screen.type(f"acklog dlq show {letters}")
    screen.type(f"acklog dlq retry {letters}", "dlq", "retry", letters, "--quiet")
    screen.save("dlq")


SCENES: dict[str, Callable[[Screen], None]] = {
    "send": send,
    "receive": receive,
    "tail": tail,
    "why": why,
    "dlq": dlq,
}


def main(names: list[str]) -> None:
    """Draw these; without names everything."""
    IMAGES.mkdir(exist_ok=True)
    os.environ |= {"COLUMNS": str(WIDTH), "TERM": "xterm-256color", "COLORTERM": "truecolor"}  # what rich goes by
    with tempfile.TemporaryDirectory() as scratch, ServerProcess(Path(scratch, "data"), Path(scratch, "log")) as server:
        for name in names or SCENES:
            SCENES[name](Screen(server.base_url))
    if not names:
        administration_screenshots.main()


if __name__ == "__main__":
    main(sys.argv[1:])
