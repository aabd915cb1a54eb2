"""`acklog send --delay` and `acklog schedule` against a real server."""

from itertools import count

import pytest

from acklog.command.exit_codes import ExitCode
from tests.support.command_run import CommandRun, run_command
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration
_numbers = count(1)


def test_messages_are_sent_for_later_listed_moved_and_cancelled(shared_server: ServerProcess) -> None:
    def acklog(*arguments: str, stdin: str = "") -> CommandRun:
        return run_command(*arguments, stdin=stdin, environment={"ACKLOG_URL": shared_server.base_url})

    name = f"later-{next(_numbers)}"
    acklog("topics", "create", name, "--partitions", "1")
    assert "Nothing is scheduled" in acklog("schedule", "list", name).stderr
    first = acklog("send", name, "1", "--delay", "3600", "-q").stdout.strip()
    second = acklog("send", name, "2", "--at", "+2h", "--key", "ann", "-q").stdout.strip()
    listed = acklog("schedule", "list", name, "--json").document
    assert [each["scheduleId"] for each in listed["scheduled"]] == [first, second]
    assert listed["pending"] == 2
    assert "ann" in acklog("schedule", "show", name, second).stdout
    shown = acklog("schedule", "show", name, second, "--json").document
    assert (shown["key"], shown["body"]) == ("ann", 2)
    assert acklog("schedule", "cancel", name, first, "--json").document["state"] == "cancelled"
    assert acklog("schedule", "move", name, second, "--delay", "0").exit_code == 0
    received = acklog("receive", name, "--group", "g", "--wait", "10", "--json")
    assert received.lines[0]["body"] == 2
    over = acklog("schedule", "cancel", name, second)
    assert (over.exit_code, "acklog why SCHEDULE_ID" in over.stderr) == (ExitCode.FAILED, True)
    assert acklog("schedule", "move", name, second, "--delay", "soon").exit_code == ExitCode.USAGE
    lines = acklog("send", name, "--delay", "1h", "--ttl", "5m", "--key", "k", stdin="3\n4\n").stdout.split()
    listed = acklog("schedule", "list", name, "--json").document
    assert [each["scheduleId"] for each in listed["scheduled"]] == lines
    own = '{"body": 5, "delaySeconds": 0, "ttlSeconds": 60}\n'
    [sent] = acklog("send", name, "--envelope", "--delay", "3600", "--json", stdin=own).lines
    assert sent["messageId"] is not None
    [sent] = acklog("send", name, "--at", "+1h", "--json", stdin="6\n").lines
    assert (sent["messageId"], sent["scheduleId"][:2]) == (None, "s-")
    for wrong in (
        ["schedule", "move", name, second],
        ["send", name, "1", "--delay", "1", "--at", "+1h"],
        ["send", name, "--delay", "1", "--at", "+1h"],
        ["send", name, "1", "--at", "2h"],
        ["send", name, "1", "--delay", "-1"],
        ["send", name, "1", "--delay", "nan"],
        ["send", name, "1", "--delay", "inf"],
        ["send", name, "1", "--delay", "2 weeks"],
    ):
        assert acklog(*wrong).exit_code == ExitCode.USAGE, wrong


def test_why_says_what_became_of_a_message_for_later(shared_server: ServerProcess) -> None:
    def acklog(*arguments: str) -> CommandRun:
        return run_command(*arguments, environment={"ACKLOG_URL": shared_server.base_url})

    name = f"later-{next(_numbers)}"
    acklog("topics", "create", name, "--partitions", "1")
    sent = acklog("send", name, '{"due": 81}', "--delay", "7200", "--key", "ann", "--ttl", "5m", "-q").stdout.strip()
    pending = acklog("why", sent, "--json").document["scheduled"]
    assert (pending["state"], pending["body"]) == ("scheduled", {"due": 81})
    assert "(in 1 h 59 min)" in pending["what"]
    assert f"acklog schedule move {name} {sent}" in pending["toDo"]
    assert f"acklog schedule cancel {name} {sent}" in pending["toDo"]
    acklog("schedule", "move", name, sent, "--delay", "600")
    shown = acklog("why", sent).stdout
    assert "(in 9 min" in shown
    assert "delivered for  5 min" in shown
    other = acklog("send", name, "2", "--delay", "7200", "-q").stdout.strip()
    acklog("schedule", "cancel", name, other)
    cancelled = acklog("why", other)
    assert "Cancelled before it was due." in cancelled.stdout
    acklog("schedule", "move", name, sent, "--delay", "0")
    acklog("receive", name, "--group", "g", "--wait", "10", "--ack")
    document = acklog("why", sent, "--json").document
    assert document["scheduled"]["state"] == "delivered"
    assert document["scheduled"]["messageId"] == document["message"]["messageId"]
    assert [(each["group"], each["state"]) for each in document["groups"]] == [("g", "done")]
    assert document["scheduled"]["toDo"].endswith(f"acklog why {document['message']['messageId']}")


def test_why_of_a_recurring_schedules_message_names_the_schedule(shared_server: ServerProcess) -> None:
    def acklog(*arguments: str) -> CommandRun:
        return run_command(*arguments, environment={"ACKLOG_URL": shared_server.base_url})

    name = f"recurring-{next(_numbers)}"
    acklog("topics", "create", name, "--partitions", "1")
    acklog("schedule", "create", name, "tick", "1", "--every", "1")
    [received] = acklog("receive", name, "--group", "g", "--wait", "10", "--json", "--max", "1").lines
    said = acklog("why", received["messageId"]).stdout
    assert f"of the schedule tick, for {received['headers']['acklog-schedule-time']}" in said
    assert f"acklog schedule show {name} tick" in said


def test_why_of_a_message_that_cannot_be_found(shared_server: ServerProcess) -> None:
    def acklog(*arguments: str) -> CommandRun:
        return run_command(*arguments, environment={"ACKLOG_URL": shared_server.base_url})

    name = f"later-{next(_numbers)}"
    acklog("topics", "create", name, "--partitions", "1")
    wrong = acklog("why", "s-1")
    assert (wrong.exit_code, "A schedule id begins with s-" in wrong.stderr) == (ExitCode.USAGE, True)
    sent = acklog("send", name, "1", "--delay", "0.001", "-q").stdout.strip()
    acklog("receive", name, "--group", "g", "--wait", "10", "--ack")
    unknown = acklog("why", sent[:-1] + "9", "--json")
    assert (unknown.exit_code, unknown.error["code"]) == (ExitCode.NOT_FOUND, "MESSAGE_NOT_FOUND")
    acklog("topics", "purge", name, "--yes")
    gone = acklog("why", sent)
    assert gone.exit_code == ExitCode.DONE
    assert "not in the log any more" in gone.stdout
    assert acklog("why", sent, "--json").document["scheduled"]["state"] == "delivered"
    acklog("topics", "delete", name, "--yes")
    away = acklog("why", sent)
    assert (away.exit_code, "topic is gone" in away.stderr) == (ExitCode.NOT_FOUND, True)


def test_recurring_ones_are_made_listed_paused_and_removed(shared_server: ServerProcess) -> None:
    def acklog(*arguments: str) -> CommandRun:
        return run_command(*arguments, environment={"ACKLOG_URL": shared_server.base_url})

    name = f"recurring-{next(_numbers)}"
    acklog("topics", "create", name, "--partitions", "1")
    assert "no recurring schedules" in acklog("schedule", "list", name, "--recurring").stderr
    made = acklog(
        "schedule",
        "create",
        name,
        "tick",
        '{"n": 1}',
        "--every",
        "1",
        "--key",
        "k",
        "--header",
        "a=b",
        "--tag",
        "t",
        "--json",
    )
    assert made.document["everySeconds"] == 1
    received = acklog("receive", name, "--group", "g", "--wait", "10", "--json")
    assert received.lines[0]["body"] == {"n": 1}
    assert acklog("schedule", "pause", name, "tick", "--json").document["paused"] is True
    changed = acklog("schedule", "update", name, "tick", "--cron", "0 8 * * mon-fri", "--time-zone", "Europe/Berlin")
    assert "0 8 * * mon-fri (Europe/Berlin)" in changed.stdout
    assert "nextAt" in acklog("schedule", "resume", name, "tick", "--json").document
    assert "'n': 1" in acklog("schedule", "show", name, "tick").stdout
    shown = acklog("schedule", "show", name, "tick", "--json").document
    assert shown["message"] == {"key": "k", "body": {"n": 1}, "headers": {"a": "b"}, "tags": ["t"]}
    listed = acklog("schedule", "list", name, "--recurring", "--json").document
    assert [each["schedule"] for each in listed["schedules"]] == ["tick"]
    skips = acklog("schedule", "update", name, "tick", "--missed", "skip", "--grace", "5", "--json").document
    assert (skips["missed"], skips["graceSeconds"], skips["paused"]) == ("skip", 5, False)
    assert acklog("schedule", "delete", name, "tick").exit_code == 0
    assert acklog("schedule", "show", name, "tick").exit_code == ExitCode.NOT_FOUND
    assert acklog("schedule", "update", name, "tick", "--every", "5").exit_code == ExitCode.NOT_FOUND
    wrong = acklog("schedule", "create", name, "bad", "1", "--cron", "0 25 * * *")
    assert wrong.exit_code == ExitCode.USAGE
    assert "position 2" in wrong.stderr
    for usage in (
        ["schedule", "create", name, "bad", "1"],
        ["schedule", "create", name, "bad", "1", "--every", "5", "--cron", "* * * * *"],
        ["schedule", "create", name, "bad", "{", "--every", "5"],
        ["schedule", "update", name, "tick"],
    ):
        assert acklog(*usage).exit_code == ExitCode.USAGE, usage
