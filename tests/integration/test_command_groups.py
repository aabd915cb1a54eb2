"""The command on groups of each mode, against a real server: create, describe, receive, and why a message waits."""

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
def topic(acklog: Acklog) -> str:
    """A topic of the test's own, with two partitions, and the name of its group."""
    name = f"modes-{next(_numbers)}"
    acklog("topics", "create", name, "--partitions", "2")
    return name


def send(acklog: Acklog, topic: str, key: str, *bodies: str) -> list[str]:
    return [acklog("send", topic, body, "--key", key, "-q").stdout.strip() for body in bodies]


def reasons(acklog: Acklog, message_id: str) -> tuple[str, str]:
    """What is said of the message in its one group, and what one is told to do."""
    (group,) = acklog("why", message_id, "--json").document["groups"]
    return group["what"], group["toDo"]


class TestSettings:
    def test_an_exclusive_group_has_settings_of_its_own(self, acklog: Acklog, topic: str) -> None:
        options = ["--session-timeout", "20s", "--rebalance-timeout", "2m", "--assignor", "range"]
        created = acklog("groups", "create", topic, "--mode", "exclusive", *options, "--json")
        assert created.document["mode"] == "exclusive"
        settings = created.document["settings"]
        assert (settings["sessionTimeoutMs"], settings["rebalanceTimeoutMs"]) == (20_000, 120_000)
        shown = acklog("groups", "describe", topic).stdout
        assert "mode          exclusive" in shown
        assert "ends after 20 s of silence" in shown
        assert "assignor      range" in shown
        listed = [line.split() for line in acklog("groups", "list").stdout.splitlines()]
        assert [topic, "exclusive"] in [line[:2] for line in listed]

    def test_what_is_not_known_is_refused(self, acklog: Acklog, topic: str) -> None:
        for options in (["--mode", "ordered"], ["--assignor", "best"], ["--session-timeout", "soon"]):
            assert acklog("groups", "create", topic, *options).exit_code == ExitCode.USAGE
        refused = acklog("groups", "create", topic, "--assignor", "range")
        assert "exclusive" in refused.stderr
        nameless = acklog("receive", topic, "--mode", "exclusive")
        assert (nameless.exit_code, "--consumer NAME" in nameless.stderr) == (ExitCode.USAGE, True)


class TestMembers:
    def test_describe_shows_who_has_what(self, acklog: Acklog, shared_server: ServerProcess, topic: str) -> None:
        acklog("groups", "create", topic, "--mode", "exclusive")
        assert "It has no members" in acklog("groups", "describe", topic).stderr
        for member in ("ann", "ben"):
            shared_server.request("PUT", f"/groups/{topic}/members/{member}", {"topics": [topic]})
        shown = acklog("groups", "describe", topic).stdout
        assert "members       2, at epoch " in shown
        rows = {line.split()[0]: line.split() for line in shown.splitlines() if line.split()}
        assert {rows["ann"][2], rows["ben"][2]} == {"0", "1"}
        assert rows["ann"][1] == topic
        document = acklog("groups", "describe", topic, "--json").document["group"]
        assert [each["member"] for each in document["members"]] == ["ann", "ben"]

    def test_describe_shows_by_which_numbers_partitions_are_whose(self, acklog: Acklog, topic: str) -> None:
        acklog("groups", "create", topic, "--mode", "exclusive")
        send(acklog, topic, "k", "1")
        receive = ["receive", topic, "--group", topic, "--mode", "exclusive", "--consumer", "ann", "--wait", "10"]
        assert acklog(*receive, "--visibility", "600").stdout
        before = acklog("groups", "describe", topic, "--json").document
        acklog("seek", topic, topic, "--to", "earliest", "--yes")
        after = acklog("groups", "describe", topic, "--json").document
        generations = [
            {each["partition"]: each["generation"] for each in each["partitions"]} for each in (before, after)
        ]
        assert all(generations[1][number] > generations[0][number] for number in (0, 1))
        owned = {each["partition"]: each["ownership"] for each in after["group"]["members"][0]["assignment"]}
        lines = [line.split() for line in acklog("groups", "describe", topic).stdout.splitlines()]
        for number in (0, 1):
            assert [topic, str(number), "ann", str(owned[number]), str(generations[1][number])] in lines


class TestWhyAMessageWaits:
    def test_a_pause(self, acklog: Acklog, topic: str) -> None:
        (sent,) = send(acklog, topic, "k", "1")
        received = acklog("receive", topic, "--group", topic)
        acklog("nack", received.stdout.split("\t")[0], "--delay", "0")
        acklog("groups", "pause", topic, "--topic", topic)
        what, to_do = reasons(acklog, sent)
        assert "the group is paused there" in what
        assert to_do.startswith(f"Let it go on: acklog groups resume {topic}")

    def test_an_earlier_message_of_its_key(self, acklog: Acklog, topic: str) -> None:
        first, second = send(acklog, topic, "k", "1", "2")
        acklog("groups", "create", topic, "--mode", "keyOrdered")
        took = acklog("receive", topic, "--group", topic, "--mode", "keyOrdered", "--max", "1", "--visibility", "600")
        assert took.stdout.count("\n") == 1
        what, to_do = reasons(acklog, second)
        assert what == f"Waiting behind {first}, an earlier one of its key 'k', which is leased."
        assert to_do == f"See what that one waits for: acklog why {first}"

    def test_a_limit_of_what_is_in_flight(self, acklog: Acklog, topic: str) -> None:
        acklog("groups", "create", topic, "--max-in-flight-per-key", "1")
        _, second = send(acklog, topic, "k", "1", "2")
        acklog("receive", topic, "--group", topic, "--visibility", "600")
        what, to_do = reasons(acklog, second)
        assert what == "Waiting: its key 'k' has as many messages in flight there as maxInFlightPerKey allows: 1."
        assert to_do.endswith(f"acklog groups update {topic} --max-in-flight-per-key COUNT")

    def test_the_owner_of_its_partition(self, acklog: Acklog, shared_server: ServerProcess, topic: str) -> None:
        acklog("groups", "create", topic, "--mode", "exclusive")
        (sent,) = send(acklog, topic, "k", "1")
        receive = ["receive", topic, "--group", topic, "--mode", "exclusive", "--consumer", "ann", "--wait", "10"]
        assert acklog(*receive, "--max", "1", "--visibility", "600").stdout
        (second,) = send(acklog, topic, "k", "2")
        what, _ = reasons(acklog, second)
        assert what.startswith("Waiting for ann, who has partition")
        shared_server.request("DELETE", f"/groups/{topic}/members/ann")
        what, to_do = reasons(acklog, second)
        assert "as the group has no members" in what
        assert "--mode exclusive --consumer NAME" in to_do
        wrong = acklog("receive", topic, "--group", topic, "--mode", "shared")
        assert "a group's mode never changes" in wrong.stderr
        assert sent


def test_what_a_group_has_to_do(acklog: Acklog, topic: str) -> None:
    acklog("groups", "create", topic, "--mode", "keyOrdered")
    send(acklog, topic, "a", "1", "2", "3")
    options = ["--topic", topic, "--target-lag", "2", "--target-seconds", "0.5"]
    found = acklog("groups", "demand", topic, *options, "--json").document
    assert (found["lag"], found["waiting"], found["suggestedConsumers"]) == (3, 3, 2)
    acklog("receive", topic, "--group", topic, "--consumer", "worker")
    shown = acklog("groups", "demand", topic, "-t", topic)
    assert "consumers    1\n" in shown.stdout
    assert "are settled  not known yet" in shown.stdout
    assert "suggested" not in shown.stdout
    assert acklog("groups", "demand", f"{topic}-none").exit_code == ExitCode.NOT_FOUND
    assert acklog("groups", "demand", topic, "--target-seconds", "0").exit_code == ExitCode.USAGE
