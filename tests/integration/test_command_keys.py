"""`acklog keys` against a real server."""

from collections.abc import Callable
from itertools import count

import pytest

from acklog.command.exit_codes import ExitCode
from tests.support.command_run import CommandRun, run_command
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration

Acklog = Callable[..., CommandRun]
_numbers = count(1)


@pytest.fixture
def acklog(shared_server: ServerProcess) -> Acklog:
    def run(*arguments: str, **options: object) -> CommandRun:
        return run_command(*arguments, environment={"ACKLOG_URL": shared_server.base_url}, **options)  # type: ignore[arg-type]

    return run


@pytest.fixture
def blocked(acklog: Acklog) -> str:
    """A topic, and its group, with one blocked message."""
    name = f"keys-{next(_numbers)}"
    acklog("topics", "create", name, "--partitions", "1")
    options = ["--mode", "keyOrdered", "--max-attempts", "1", "--on-exhausted", "block"]
    assert acklog("groups", "create", name, *options).exit_code == 0
    sent = acklog("send", name, "1", "--key", "ann", "-q")
    assert sent.exit_code == 0, sent
    received = acklog("receive", name, "--group", name, "--mode", "keyOrdered", "--json")
    receipt = received.lines[0]["receipt"]
    assert acklog("nack", receipt).exit_code == 0
    return name


def keys(acklog: Acklog, name: str) -> list[tuple[str, int]]:
    return [(each["key"], each["attempts"]) for each in acklog("keys", "list", name, "--json").document["keys"]]


def test_what_is_blocked_is_listed_and_released(acklog: Acklog, blocked: str) -> None:
    assert "none: it blocks" in acklog("groups", "show", blocked).stdout
    assert "acklog keys list" in acklog("receive", blocked, "--group", blocked, "--mode", "keyOrdered").stderr
    listed = acklog("keys", "list", blocked, "--topic", blocked)
    assert listed.stdout.splitlines()[-1].split()[:5] == [blocked, "0", "0", "ann", "1"]
    assert keys(acklog, blocked) == [("ann", 1)]
    released = acklog("keys", "release", blocked, "--topic", blocked, "--key", "ann")
    assert released.stderr.startswith(f"Released 1 message of {blocked}.")
    assert acklog("receive", blocked, "--group", blocked, "--mode", "keyOrdered", "--json").lines[0]["attempt"] == 1
    assert acklog("keys", "list", blocked).stderr == f"Nothing waits for a decision in {blocked}.\n"


def test_it_is_skipped_by_its_id_or_its_place(acklog: Acklog, blocked: str) -> None:
    place = ["--topic", blocked, "--partition", "0"]
    assert acklog("keys", "skip", blocked, *place, "--offset", "1", "--yes").exit_code != 0
    (message,) = acklog("keys", "list", blocked, "--json").document["keys"]
    skipped = acklog("keys", "skip", blocked, "--message", message["messageId"], "--yes", "--json")
    assert [each["offset"] for each in skipped.document["keys"]] == [0]
    again = acklog("keys", "skip", blocked, *place, "--offset", "0", "--yes", "--json")
    assert "NOT_BLOCKED" in again.stderr + again.stdout
    assert keys(acklog, blocked) == []


def test_a_group_and_what_waits_say_what_is_blocked(acklog: Acklog, blocked: str) -> None:
    sent = acklog("send", blocked, "2", "--key", "ann", "--json").lines[0]["messageId"]
    other = acklog("send", blocked, "3", "--key", "ben", "--json").lines[0]["messageId"]
    described = acklog("groups", "describe", blocked, "--json").document
    assert [(each["key"], each["offset"]) for each in described["blocked"]] == [("ann", 0)]
    first = described["blocked"][0]["messageId"]
    assert described["topics"][0]["blocked"] == 1
    shown = acklog("groups", "describe", blocked).stdout
    assert "1 blocked" in shown
    assert first in shown
    assert "1 blocked: acklog keys list" in acklog("groups", "lag", blocked, "--partitions").stdout
    assert f"acklog keys release {blocked} --message {first}" in acklog("why", first, "--json").stdout
    [behind] = acklog("why", sent, "--json").document["groups"]
    assert behind["what"] == f"Waiting behind {first}, which is blocked: 1 attempt failed."
    assert f"acklog keys skip {blocked} --message {first}" in behind["toDo"]
    assert "blocked" not in acklog("why", other, "--json").document["groups"][0]["what"]
    assert acklog("keys", "skip", blocked, "--message", first, "--yes").exit_code == 0
    assert acklog("groups", "describe", blocked, "--json").document["blocked"] == []
    assert "blocked" not in acklog("why", sent, "--json").document["groups"][0]["what"]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--key", "ann"],
        ["--topic", "orders"],
        ["--topic", "orders", "--partition", "0"],
        ["--topic", "orders", "--key", "ann", "--offset", "0"],
        ["--topic", "orders", "--message", "m"],
    ],
)
def test_it_takes_one_message_or_one_key(acklog: Acklog, options: list[str]) -> None:
    for decision in ("release", "skip"):
        assert acklog("keys", decision, "billing", *options).exit_code == ExitCode.USAGE


def test_what_is_to_be_done_is_one_of_two(acklog: Acklog) -> None:
    refused = acklog("groups", "create", "billing", "--on-exhausted", "stop")
    assert (refused.exit_code, "deadLetter, retry or block" in refused.stderr) == (ExitCode.USAGE, True)
