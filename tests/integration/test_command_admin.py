"""topics, groups, lag and seek against a real server: text, JSON, errors, without a terminal, into a pipe."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from acklog import Client
from tests.support.command_run import CommandRun, run_command
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration

Acklog = Callable[..., CommandRun]
_numbers = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("admin")
    settings = {"ACKLOG_NODE_JOURNAL_FILE_BYTES": str(1 << 22)}
    with ServerProcess(directory / "data", directory / "log", environment=settings) as running:
        yield running


@pytest.fixture
def acklog(server: ServerProcess) -> Acklog:
    def run(*arguments: str, **options: object) -> CommandRun:
        environment = {"ACKLOG_URL": server.base_url}
        return run_command(*arguments, environment=environment, **options)  # type: ignore[arg-type]

    return run


@pytest.fixture
def name() -> str:
    """A topic and a group of the test's own."""
    return f"orders-{next(_numbers)}"


def fill(server: ServerProcess, topic: str, messages: int = 10) -> None:
    server.request("PUT", f"/topics/{topic}", {"partitions": 2})
    for number in range(messages):
        server.send(topic, {"n": number}, partition=number % 2)


def take(server: ServerProcess, topic: str, group: str, *, received: int, acked: int) -> None:
    messages = server.receive(topic, group, max=received)
    server.ack(*[message["receipt"] for message in messages[:acked]])


class TestTopics:
    def test_create_show_update_delete(self, acklog: Acklog, name: str) -> None:
        created = acklog("topics", "create", name, "--partitions", "3", "--retention", "3d", "--segment-size", "1MiB")
        assert (created.exit_code, created.stderr) == (0, f"Created {name} with 3 partitions.\n")
        assert f"topic         {name}\n" in created.stdout
        assert "kept for      3 d\n" in created.stdout
        shown = acklog("topics", "show", name)
        assert shown.exit_code == 0
        assert shown.stdout.splitlines()[-4].split() == ["PARTITION", "FROM", "TO", "MESSAGES", "SIZE"]
        options = ["--retention", "unlimited", "--retention-size", "2GB"]
        refused = acklog("topics", "update", name, *options)
        assert (refused.exit_code, "this has to be confirmed" in refused.stderr) == (2, True), refused.stderr
        assert acklog("topics", "show", name, "--json").document["config"]["retentionBytes"] == -1
        updated = acklog("topics", "update", name, *options, "--yes", "--json")
        config = updated.document["config"]
        assert (config["retentionMs"], config["retentionBytes"]) == (-1, 2_000_000_000)
        deleted = acklog("topics", "delete", name, "--yes", "--json")
        assert deleted.document == {"deleted": name, "messages": 0}
        assert acklog("topics", "show", name).exit_code == 5

    def test_every_setting(self, acklog: Acklog, name: str) -> None:
        options = ["--retention-mode", "untilAcked", "--dedup-window", "90s", "--segment-size", "2MiB"]
        config = acklog("topics", "create", name, *options, "--json").document["config"]
        assert (config["retention"], config["dedupWindowMs"], config["segmentBytes"]) == ("untilAcked", 90_000, 2 << 20)
        assert "retention     untilAcked" in acklog("topics", "show", name).stdout

    def test_purge_and_delete_before(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        take(server, name, name, received=4, acked=4)
        asked = acklog("topics", "delete-before", name, "3", "--partition", "0", "--dry-run")
        assert (asked.exit_code, asked.stdout.splitlines()[-1][:28]) == (0, "Would delete 3 messages of o"), (
            asked.stderr
        )
        refused = acklog("topics", "purge", name)
        assert (refused.exit_code, "this has to be confirmed" in refused.stderr) == (2, True), refused.stderr
        deleted = acklog("topics", "delete-before", name, "3", "--partition", "0", "--yes", "--json").document
        [item] = deleted["partitions"]
        assert (deleted["deleted"], item["logStart"], item["previous"]) == (3, 3, 0)
        purged = acklog("topics", "purge", name, "--yes", "--json").document
        assert (purged["deleted"], purged["failed"], purged["dryRun"]) == (7, 0, False)
        lost = sum(each["lost"] for part in (deleted, purged) for item in part["partitions"] for each in item["groups"])
        assert lost == 6
        assert acklog("topics", "show", name, "--json").document["partitionStates"][0]["logStart"] == 5
        again = acklog("topics", "purge", name, "--yes")
        assert (again.exit_code, again.stderr) == (0, "There is nothing to delete.\n")
        for wrong in (["3"], ["2h", "--partition", "0"], ["whenever"]):
            assert acklog("topics", "delete-before", name, *wrong, "--yes").exit_code == 2
        assert acklog("topics", "delete-before", name, "9", "-p", "0", "--yes").exit_code == 1
        assert acklog("topics", "delete-before", name, "2020-01-01", "--yes", "--json").document["deleted"] == 0

    def test_key(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        acklog("topics", "create", name, "--partitions", "2", "--cleanup-policy", "compact")
        for number in range(3):
            server.send(name, {"n": number}, key="a/b c")
        shown = acklog("topics", "key", name, "a/b c")
        assert (shown.exit_code, '{"n": 2}' in shown.stdout) == (0, True), shown.stderr
        document = acklog("topics", "key", name, "a/b c", "--json").document
        assert (document["key"], document["body"], document["offset"]) == ("a/b c", {"n": 2}, 2)
        missing = acklog("topics", "key", name, "none")
        assert (missing.exit_code, "no value" in missing.stderr) == (5, True), missing.stderr
        with Client(server.base_url) as client:
            for key in ("..", ".", "/x", "ä?#%", ""):
                client.send(name, 1, key=key)
                assert client.tables.get(name, key).key == key

    def test_compact(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        assert acklog("topics", "compact", name).exit_code == 5
        acklog("topics", "create", name, "--partitions", "2", "--cleanup-policy", "compact")
        for number in range(20):
            server.send(name, {"n": number}, key=f"k{number % 2}", partition=0)
        done = acklog("topics", "compact", name, "--wait", "--json").document
        assert [each["replicas"][0]["state"] for each in done["partitions"]] == ["idle", "idle"]
        assert done["partitions"][0]["replicas"][0]["dirtyBytes"] == 0
        table = acklog("topics", "compact", name, "--dry-run").stdout.splitlines()
        assert table[0].split()[:3] == ["PARTITION", "NODE", "STATE"]
        assert table[1].split()[:3] == ["0", "1", "idle"]
        page = server.request("GET", f"/topics/{name}/partitions/0/records?offset=earliest")
        assert [each["offset"] for each in page.document["records"]] == [18, 19]
        assert acklog("topics", "compact", name, "--dry-run", "--partitions", "0").exit_code == 2
        acklog("topics", "create", f"{name}-plain")
        assert "keeps all messages" in acklog("topics", "compact", f"{name}-plain").stderr

    def test_list(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        listed = acklog("topics", "list")
        assert listed.stdout.splitlines()[0].split("  ")[0] == "TOPIC"
        assert [name, "2", "7", "d", "unlimited", "now"] in [line.split() for line in listed.stdout.splitlines()]
        assert name in [topic["name"] for topic in acklog("topics", "list", "--json").document["topics"]]
        on_a_terminal = acklog("topics", "list", is_terminal=True)
        assert "\x1b[" in on_a_terminal.stdout

    def test_creating_again(self, acklog: Acklog, name: str) -> None:
        acklog("topics", "create", name, "--partitions", "2")
        assert acklog("topics", "create", name).stderr == f"{name} is there already.\n"
        other = acklog("topics", "create", name, "--partitions", "4", "--retention", "1h")
        assert other.exit_code == 1
        assert "exists with other settings: partitions, config.retentionMs" in other.stderr
        assert f"acklog topics update {name}" in other.stderr

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--retention", "soon"], "'soon' is not a duration (--retention)"),
            (["--retention-size", "3 bananas"], "is not a size (--retention-size)"),
            (["--retention-mode", "never"], "It may be time or untilAcked."),
            (["--partitions", "0"], "0 is below 1"),
            (["--partitions", "9999"], "9999 is above 1024"),
            (["--segment-size", "1"], "config.segmentBytes"),
        ],
    )
    def test_bad_settings(self, acklog: Acklog, name: str, options: list[str], said: str) -> None:
        refused = acklog("topics", "create", name, *options)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert said in refused.stderr
        assert acklog("topics", "show", name).exit_code == 5

    def test_an_update_of_nothing(self, acklog: Acklog, name: str) -> None:
        refused = acklog("topics", "update", name, "--json")
        assert refused.exit_code == 2
        assert refused.error["detail"] == "nothing is to be changed"

    def test_partitions_cannot_become_fewer(self, acklog: Acklog, name: str) -> None:
        acklog("topics", "create", name, "--partitions", "4")
        refused = acklog("topics", "update", name, "--partitions", "2")
        assert refused.exit_code == 2
        assert "4 partitions" in refused.stderr

    def test_near_names(self, acklog: Acklog, name: str) -> None:
        acklog("topics", "create", f"{name}-invoices")
        refused = acklog("topics", "show", f"{name}-invoces")
        assert refused.exit_code == 5
        assert f"Did you mean: {name}-invoices" in refused.stderr

    def test_quotas(self, acklog: Acklog, name: str) -> None:
        options = ["--quota-messages", "500", "--quota-bytes", "10MiB", "--quota-requests", "50"]
        created = acklog("topics", "create", name, *options)
        assert "quota         500 messages, 10 MiB, 50 requests per second\n" in created.stdout
        changed = acklog("topics", "update", name, "--quota-bytes", "unlimited", "--json").document["config"]
        assert (changed["sendMessagesPerSecond"], changed["sendBytesPerSecond"]) == (500, None)
        assert acklog("topics", "update", name, "--quota-messages", "0").exit_code == 2
        group = acklog("groups", "create", name, "--quota-messages", "5", "--quota-bytes", "1kB")
        assert "quota         5 messages, 1000 B per second\n" in group.stdout
        settings = acklog("groups", "update", name, "--quota-requests", "9", "--json").document["settings"]
        assert (settings["receiveMessagesPerSecond"], settings["receiveRequestsPerSecond"]) == (5, 9)

    def test_a_delete_has_to_be_confirmed(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        unasked = acklog("topics", "delete", name)
        assert unasked.exit_code == 2
        assert "Give --yes." in unasked.stderr
        declined = acklog("topics", "delete", name, is_terminal=True, stdin="n\n")
        assert declined.exit_code == 1
        assert acklog("topics", "show", name, "--json").document["partitions"] == 2


class TestGroups:
    def test_create_show_update_delete(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        created = acklog("groups", "create", name, "--visibility", "2m", "--start", "latest", "--dead-letters", "dead")
        assert (created.exit_code, created.stderr) == (0, f"Created {name}.\n")
        assert "lease         2 min\n" in created.stdout
        assert "dead letters  dead\n" in created.stdout
        options = ["--max-attempts", "5", "--backoff-min", "2s", "--backoff-max", "1m", "--max-in-flight", "7"]
        options += ["--max-in-flight-per-key", "3", "--fair-by", "key", "--max-in-flight-per-consumer", "5"]
        settings = acklog("groups", "update", name, *options, "--json").document["settings"]
        expected = {
            "startPosition": "latest",
            "visibilityMs": 120_000,
            "maxAttempts": 5,
            "retryBackoffMinMs": 2_000,
            "retryBackoffMaxMs": 60_000,
            "maxInFlight": 7,
            "maxInFlightPerConsumer": 5,
            "maxInFlightPerKey": 3,
            "fairBy": "key",
            "deadLetterTopic": "dead",
        }
        assert settings.items() >= expected.items()
        assert acklog("groups", "update", name, "--fair-by", "tenant").exit_code == 2
        assert acklog("groups", "update", name, "--fair-by", "header.").exit_code == 2
        options = ["--fair-by", "header.tenant", "--max-in-flight-per-header", "4"]
        by_header = acklog("groups", "update", name, *options)
        assert "fair by       header.tenant\n" in by_header.stdout
        assert "7 per partition at most, 4 of a value of the header tenant; 5 per consumer\n" in by_header.stdout
        both = acklog("groups", "update", name, "--fair-by", "header.tenant", "--max-in-flight-per-key", "3")
        assert (both.exit_code != 0, "maxInFlightPerKey" in both.stderr) == (True, True)
        back = acklog("groups", "update", name, "--fair-by", "key", "--json").document["settings"]
        expected = {"fairBy": "key", "fairByHeader": None, "maxInFlightPerHeader": None, "maxInFlightPerKey": None}
        assert back.items() >= expected.items()
        refusing = acklog("groups", "update", name, "--on-missing-position", "refuse")
        assert "begins at     nothing, until a seek or a commit says where" in refusing.stdout
        other = acklog("groups", "create", f"{name}-2", "--on-missing-position", "refuse", "--json").document
        assert other["settings"]["onMissingPosition"] == "refuse"
        assert acklog("groups", "update", name, "--on-missing-position", "maybe").exit_code == 2
        starting = acklog("groups", "update", name, "--on-missing-position", "start")
        assert "begins at     latest\n" in starting.stdout
        listed = acklog("groups", "update", name, "--retry-delays", "0s, 5s,1m", "--retry-jitter", "0")
        assert "back-off      0 ms, 5 s, 1 min\n" in listed.stdout
        assert acklog("groups", "update", name, "--retry-delays", "5s,soon").exit_code == 2
        assert acklog("groups", "update", name, "--retry-jitter", "1.5").exit_code == 2
        doubling = acklog("groups", "update", name, "--retry-delays", "")
        assert "back-off      2 s to 1 min\n" in doubling.stdout
        back = acklog("groups", "update", name, "--dead-letters", "", "--max-in-flight-per-key", "0")
        assert "in flight     7 per partition at most; 5 per consumer\n" in back.stdout
        assert f"dead letters  TOPIC.{name}.dlq\n" in back.stdout
        unread = acklog("groups", "show", name)
        assert "has not read from any topic yet" in unread.stderr
        deleted = acklog("groups", "delete", name, "--yes")
        assert (deleted.exit_code, deleted.stderr) == (0, f"Deleted {name} with its progress in no topic.\n")

    def test_pause_and_resume(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        take(server, name, name, received=4, acked=3)
        paused = acklog("groups", "pause", name, "--topic", name, "--partition", "0", "--partition", "1")
        assert paused.stderr == f"Paused {name} (0, 1) for {name}. What is leased may be settled.\n"
        assert f"paused        {name} (0, 1), " in acklog("groups", "show", name).stdout
        acklog("groups", "pause", name)
        assert acklog("receive", name, "--group", name).stderr.startswith("The group is paused")
        assert "paused" in acklog("lag", "--group", name).stdout
        assert f"{name}: {name} (0, 1), " in acklog("doctor").stdout
        still = acklog("groups", "resume", name, "--topic", name)
        assert still.stderr.splitlines()[1].startswith(f"{name} is still paused as a whole.")
        assert acklog("groups", "resume", name, "--json").document["group"]["paused"] == []
        assert acklog("groups", "pause", name, "--partition", "0").exit_code == 2

    def test_show_says_how_far_it_is(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        take(server, name, name, received=4, acked=3)
        shown = acklog("groups", "show", name)
        *counts, in_flight, delayed, dead, lost = shown.stdout.splitlines()[-1].split()
        assert (counts[:3], [in_flight, delayed, dead, lost]) == ([name, name, "7"], ["1", "0", "0", "0"])
        (topic,) = acklog("groups", "show", name, "--json").document["topics"]
        assert topic.pop("oldestAgeMs") >= topic.pop("lagMs") >= 0
        assert topic == {
            "group": name,
            "topic": name,
            "lag": 7,
            "inFlight": 1,
            "delayed": 0,
            "deadLettered": 0,
            "lost": 0,
        }
        assert f"in {name}." in acklog("groups", "delete", name, "--yes").stderr

    def test_list(self, acklog: Acklog, name: str) -> None:
        acklog("groups", "create", name)
        assert name in [line.split()[0] for line in acklog("groups", "list").stdout.splitlines()]
        assert name in [group["name"] for group in acklog("groups", "list", "--json").document["groups"]]

    def test_creating_again(self, acklog: Acklog, name: str) -> None:
        acklog("groups", "create", name)
        assert acklog("groups", "create", name).stderr == f"{name} is there already.\n"
        other = acklog("groups", "create", name, "--max-attempts", "2")
        assert other.exit_code == 1
        assert "exists with other settings: settings.maxAttempts" in other.stderr

    @pytest.mark.parametrize(
        ("arguments", "exit_code", "said"),
        [
            (["create", "x", "--start", "middle"], 2, "It may be earliest or latest."),
            (["create", "x", "--visibility", "long"], 2, "--visibility"),
            (["create", "no spaces"], 2, "letters, digits"),
            (["update", "nobody-knows-it", "--visibility", "1m"], 5, "acklog groups list"),
            (["update", "x"], 2, "nothing is to be changed"),
            (["show", "nobody-knows-it"], 5, "acklog groups list"),
            (["delete", "nobody-knows-it", "--yes"], 5, "acklog groups list"),
            (["frobnicate"], 2, "acklog groups --help"),
        ],
    )
    def test_bad_input(self, acklog: Acklog, arguments: list[str], exit_code: int, said: str) -> None:
        refused = acklog("groups", *arguments)
        assert (refused.exit_code, refused.stdout) == (exit_code, "")
        assert said in refused.stderr


class TestLag:
    def test_by_topic_and_by_partition(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        take(server, name, name, received=4, acked=2)
        table = acklog("lag", "--group", name).stdout.splitlines()
        assert table[0].split() == [
            "GROUP",
            "TOPIC",
            "LAG",
            "BEHIND",
            "OLDEST",
            "IN",
            "FLIGHT",
            "DELAYED",
            "DEAD",
            "LOST",
        ]
        assert (table[1].split()[:3], table[1].split()[-4:]) == ([name, name, "8"], ["2", "0", "0", "0"])
        detailed = acklog("lag", "-g", name, "-t", name, "--partitions")
        assert len(detailed.stdout.splitlines()) == 4
        document = acklog("lag", "-g", name, "--partitions", "--json").document
        assert document["lag"] == 8
        (topic,) = document["groups"]
        assert sum(partition["lag"] for partition in topic["partitions"]) == 8

    def test_of_all_groups(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        take(server, name, name, received=1, acked=1)
        groups = {each["group"] for each in acklog("lag", "--json").document["groups"]}
        assert name in groups

    def test_watching(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        """Without a terminal a table below the other, with --json a line per look; the clock is the test's."""
        fill(server, name)
        take(server, name, name, received=4, acked=2)
        pauses: list[float] = []
        times = iter(range(0, 100_000, 1_000))

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            take(server, name, name, received=5, acked=5)

        around = {"pause": pause, "now_ms": lambda: next(times)}
        watched = acklog("lag", "-g", name, "--watch", "--max", "2", "--interval", "3", "--json", surroundings=around)
        assert watched.exit_code == 0
        assert [line["lag"] for line in watched.lines] == [8, 3]
        assert pauses == [3.0]
        text = acklog("lag", "-g", name, "--watch", "--max", "2", surroundings={"pause": lambda _s: None})
        assert text.stdout.count("GROUP") == 2
        assert "DONE/S" in text.stdout
        live = acklog("lag", "-g", name, "-w", "--max", "2", is_terminal=True, surroundings={"pause": lambda _s: None})
        assert "\x1b[" in live.stdout

    def test_watching_over_a_restart(self, tmp_path: Path) -> None:
        """The server is away for a look: that is said, and the next one works."""
        with ServerProcess(tmp_path / "data", tmp_path / "log") as server:
            fill(server, "orders")
            take(server, "orders", "mail", received=1, acked=1)
            environment = {"ACKLOG_URL": server.base_url}

            def pause(_seconds: float) -> None:
                server.kill()

            watched = run_command(
                *["lag", "--watch", "--max", "2", "--timeout", "0.3", "--json"],
                environment=environment,
                surroundings={"pause": pause},
            )
        assert watched.exit_code == 0
        assert len(watched.lines) == 1
        assert "looking again" in watched.stderr

    @pytest.mark.parametrize(
        ("options", "exit_code", "said"),
        [
            (["--group", "nobody-knows-it"], 5, "there is no group"),
            (["--interval", "0"], 2, "0.0 is below 0.2"),
            (["--watch", "--max", "0"], 2, "0 is below 1"),
        ],
    )
    def test_bad_input(self, acklog: Acklog, options: list[str], exit_code: int, said: str) -> None:
        refused = acklog("lag", *options)
        assert (refused.exit_code, refused.stdout) == (exit_code, "")
        assert said in refused.stderr

    def test_a_topic_that_there_is_not(self, acklog: Acklog, name: str) -> None:
        acklog("groups", "create", name)
        assert acklog("lag", "-g", name, "-t", "nothing-like-that", "--json").exit_code == 5


class TestSeek:
    def test_a_dry_run_changes_nothing(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        take(server, name, name, received=10, acked=10)
        planned = acklog("seek", name, name, "--to", "earliest", "--dry-run")
        assert planned.exit_code == 0
        rows = [line.split() for line in planned.stdout.splitlines()]
        assert rows[0] == ["PARTITION", "FROM", "TO", "AGAIN", "SKIPPED", "LEASED"]
        assert rows[1:3] == [["0", "5", "0", "5", "0", "0"], ["1", "5", "0", "5", "0", "0"]]
        assert planned.stdout.splitlines()[-1] == "Would be: 10 messages come again."
        assert server.receive(name, name) == []

    def test_back_and_forth(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        take(server, name, name, received=10, acked=10)
        back = acklog("seek", name, name, "--to", "2", "--partition", "1", "--yes", "--json").document
        assert (back["deliveredAgain"], back["skipped"], back["dryRun"]) == (3, 0, False)
        assert back["partitions"] == [
            {"partition": 1, "from": 5, "to": 2, "deliveredAgain": 3, "skipped": 0, "leased": 0}
        ]
        assert len(server.receive(name, name, max=10)) == 3
        forth = acklog("seek", name, name, "--to", "latest", "--yes")
        assert forth.stdout.splitlines()[-1] == "Done: 3 messages are skipped, 3 receipts become stale."
        assert server.receive(name, name) == []

    def test_to_a_time(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        take(server, name, name, received=10, acked=10)
        assert acklog("seek", name, name, "--to", "1h", "--yes", "--json").document["deliveredAgain"] == 10

    def test_it_asks(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        take(server, name, name, received=10, acked=10)
        unasked = acklog("seek", name, name, "--to", "earliest")
        assert (unasked.exit_code, unasked.stdout) == (2, "")
        assert "Give --yes." in unasked.stderr
        assert server.receive(name, name) == []

    def test_messages_back_and_to_a_message(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        take(server, name, name, received=10, acked=10)
        back = acklog("groups", "seek", name, name, "--to", "-2", "--yes", "--json").document
        assert (back["deliveredAgain"], [each["to"] for each in back["partitions"]]) == (4, [3, 3])
        message_id = server.receive(name, name)[0]["messageId"]
        one = acklog("seek", name, name, "--to", message_id, "--dry-run", "--json").document
        assert [each["to"] for each in one["partitions"]] == [3]

    def test_commit_and_copy(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        for group in (name, f"{name}-green"):
            acklog("groups", "create", group)
        commit = ("groups", "commit", name, name, "--partition", "1")
        done = acklog(*commit, "--offset", "3", "--metadata", "row 7")
        assert done.stdout == f"{name} is at 3 of {name} 1; it was at 3.\n"
        refused = acklog(*commit, "--offset", "1")
        assert (refused.exit_code, "say that in `expected`" in refused.stderr) == (1, True)
        planned = acklog("groups", "copy", name, f"{name}-green", "--dry-run", "--json").document
        assert [(each["partition"], each["offset"], each["previous"]) for each in planned["offsets"]] == [(1, 3, 0)]
        assert acklog("groups", "copy", name, f"{name}-green", "--yes").exit_code == 0
        assert acklog("groups", "lag", f"{name}-green", "--json").document["lag"] == 2

    def test_copying_a_group_with_its_settings(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        acklog("groups", "create", name, "--mode", "exclusive", "--max-attempts", "7", "--session-timeout", "20s")
        unasked = acklog("groups", "copy", name, f"{name}-blue", "--with-settings")
        assert (unasked.exit_code, "Give --yes." in unasked.stderr) == (2, True)
        assert f"{name}-blue" not in acklog("groups", "list").stdout, "what was not confirmed makes no group"
        copied = acklog("groups", "copy", name, f"{name}-blue", "--with-settings", "--yes")
        assert (copied.exit_code, f"{name}-blue is exclusive, and set as {name} is." in copied.stderr) == (0, True)
        source, target = (acklog("groups", "show", each, "--json").document["group"] for each in (name, f"{name}-blue"))
        assert (target["mode"], target["settings"]) == (source["mode"], source["settings"])
        assert acklog("groups", "copy", name, f"{name}-blue", "--with-settings", "--yes").exit_code == 0
        acklog("groups", "update", f"{name}-blue", "--max-attempts", "8")
        refused = acklog("groups", "copy", name, f"{name}-blue", "--with-settings", "--yes")
        assert (refused.exit_code, "settings.maxAttempts" in refused.stderr) == (1, True)
        dry = acklog("groups", "copy", name, f"{name}-new", "--with-settings", "--dry-run")
        assert (dry.exit_code, "--with-settings" in dry.stderr) == (2, True)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--to", "yesterday-ish"], "no place to seek to"),
            (["--to", "17"], "Name the partition"),
            (["--to", "earliest", "--partition", "-1"], "-1 is below 0"),
            ([], "--to"),
        ],
    )
    def test_bad_targets(self, acklog: Acklog, options: list[str], said: str) -> None:
        refused = acklog("seek", "mail", "orders", *options)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert said in refused.stderr

    def test_what_there_is_not(self, acklog: Acklog, server: ServerProcess, name: str) -> None:
        fill(server, name)
        assert acklog("seek", "nobody-knows-it", name, "--to", "latest", "--yes").exit_code == 5
        acklog("groups", "create", name)
        assert acklog("seek", name, f"{name}-x", "--to", "latest", "--yes").exit_code == 5
        beyond = acklog("seek", name, name, "--to", "99", "--partition", "0", "--yes")
        assert beyond.exit_code != 0
        assert "99" in beyond.stderr


class TestPipes:
    @pytest.mark.parametrize(
        "arguments", [["topics", "list"], ["groups", "list"], ["lag"], ["lag", "--watch"], ["topics", "list", "--json"]]
    )
    def test_a_reader_that_is_gone(
        self, acklog: Acklog, server: ServerProcess, name: str, arguments: list[str]
    ) -> None:
        fill(server, name)
        take(server, name, name, received=1, acked=1)
        ended = acklog(*arguments, is_reader_gone=True)
        assert (ended.exit_code, ended.stderr) == (141, "")

    def test_a_server_that_is_away(self) -> None:
        environment = {"ACKLOG_URL": "http://127.0.0.1:9"}
        for arguments in (["topics", "list"], ["groups", "list"], ["lag"], ["seek", "a", "b", "--to", "latest"]):
            away = run_command(*arguments, "--timeout", "1", environment=environment)
            assert (away.exit_code, away.stdout) == (3, "")
            assert "Is the server running?" in away.stderr
