"""send, receive, tail, peek, ack, nack, extend, why, dlq, completion against a real server: text, JSON, errors, on a
terminal, without one, into a pipe whose reader is gone."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from acklog.command.exit_codes import ExitCode
from tests.support.command_run import CommandRun, run_command
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

Acklog = Callable[..., CommandRun]
_numbers = count(1)


@pytest.fixture
def acklog(shared_server: ServerProcess) -> Acklog:
    def run(*arguments: str, **options: object) -> CommandRun:
        return run_command(*arguments, environment={"ACKLOG_URL": shared_server.base_url}, **options)  # type: ignore[arg-type]

    return run


@pytest.fixture
def topic() -> str:
    """A topic of the test's own."""
    return f"events-{next(_numbers)}"


def send_each(acklog: Acklog, topic: str, *bodies: str, key: str = "k") -> list[str]:
    """The message ids, one partition's."""
    return [acklog("send", topic, body, "--key", key, "-q").stdout.strip() for body in bodies]


def receipts(acklog: Acklog, topic: str, *options: str) -> list[str]:
    return [line["receipt"] for line in acklog("receive", topic, "--json", *options).lines]


class TestSend:
    def test_text(self, acklog: Acklog, topic: str) -> None:
        sent = acklog("send", topic, '{"order": 1}')
        assert sent.exit_code == 0
        assert sent.stdout.startswith("m-")
        assert sent.stdout.count("\n") == 1
        assert sent.stderr == f"Created the topic {topic}.\n"

    def test_json(self, acklog: Acklog, topic: str) -> None:
        sent = acklog("send", topic, "1", "--partition", "3", "--json").document
        assert sent == {"messageId": sent["messageId"], "partition": 3, "offset": 0, "topicCreated": True}

    def test_on_a_terminal_it_says_where_the_message_is(self, acklog: Acklog, topic: str) -> None:
        sent = acklog("send", topic, "1", "--partition", "3", "--no-color", is_terminal=True)
        assert f"{topic} 3:0" in sent.stdout

    def test_every_field(self, acklog: Acklog, topic: str) -> None:
        options = ["--key", "k", "--header", "source=shop", "-H", "empty=", "--tag", "new", "--partition", "2"]
        acklog("send", topic, '{ "n": 1.50 }', *options)
        (seen,) = acklog("tail", topic, "--from", "earliest", "--no-follow", "--json").lines
        assert (seen["key"], seen["partition"], seen["tags"]) == ("k", 2, ["new"])
        assert seen["headers"] == {"source": "shop", "empty": ""}
        assert acklog("tail", topic, "--from", "earliest", "--no-follow").stdout == '{ "n": 1.50 }\n'

    def test_text_and_files_are_bytes(self, acklog: Acklog, topic: str, tmp_path: Path) -> None:
        path = tmp_path / "picture"
        path.write_bytes(b"\x89\x00\xff")
        acklog("send", topic, "not JSON", "--text", "-k", "k")
        acklog("send", topic, "--file", str(path), "--content-type", "image/png", "-k", "k")
        acklog("send", topic, "--file", "-", "-k", "k", stdin="piped")
        seen = acklog("tail", topic, "--from", "earliest", "--no-follow", "--json").lines
        assert [each["contentType"] for each in seen] == [
            "text/plain; charset=utf-8",
            "image/png",
            "application/octet-stream",
        ]
        assert acklog("tail", topic, "-n", "9", "--no-follow").stdout == "not JSON\nbase64:iQD/\npiped\n"

    def test_a_dedup_id_stores_it_once(self, acklog: Acklog, topic: str) -> None:
        first, again = (acklog("send", topic, "1", "--dedup-id", "payment-81").stdout for _ in range(2))
        assert first == again
        reused = acklog("send", topic, "2", "--dedup-id", "payment-81", "--json")
        assert (reused.exit_code, reused.error["code"]) == (ExitCode.FAILED, "IDEMPOTENCY_KEY_REUSED")

    def test_lines(self, acklog: Acklog, topic: str) -> None:
        sent = acklog(
            "send", topic, "--key-field", "customer.id", stdin='{"customer":{"id":7}}\n\n{"customer":{"id":"x"}}'
        )
        ids = sent.stdout.splitlines()
        assert len(ids) == len(set(ids)) == 2
        assert f"Sent 2 to {topic}" in sent.stderr
        seen = acklog("tail", topic, "--from", "earliest", "--no-follow", "--json").lines
        assert sorted(each["key"] for each in seen) == ["7", "x"]

    def test_lines_in_json_and_on_a_terminal(self, acklog: Acklog, topic: str, tmp_path: Path) -> None:
        lines = acklog("send", topic, "--json", stdin="1\n2\n").lines
        assert [line["line"] for line in lines] == [1, 2]
        assert all(line["messageId"].startswith("m-") for line in lines)
        shown = acklog("send", topic, "--no-color", stdin="1\n2\n", is_terminal=True)
        assert f"2 to {topic}" in shown.stdout

    def test_lines_that_fail_are_named_and_the_others_stored(self, acklog: Acklog, topic: str) -> None:
        lines = "1\nnot json\n" + json.dumps("x" * (1024 * 1024)) + "\n4\n"
        sent = acklog("send", topic, stdin=lines)
        assert sent.exit_code == ExitCode.FAILED
        assert len(sent.stdout.splitlines()) == 2
        assert "line 2: it is not JSON" in sent.stderr
        assert "line 3: MESSAGE_TOO_LARGE" in sent.stderr
        assert "2 of 4 lines failed" in sent.stderr
        described = acklog("send", topic, "--json", stdin=lines)
        assert [line.get("error", {}).get("exitCode") for line in described.lines] == [None, 2, 1, None]

    def test_what_tail_prints_can_be_sent_as_envelopes(self, acklog: Acklog, topic: str) -> None:
        acklog("send", topic, "1", "--partition", "5", "--header", "a=b", "--tag", "t")
        acklog("send", topic, "two", "--text", "--key", "k")
        acklog("send", topic, "--envelope", stdin='{"key": "gone", "bodyBase64": ""}')
        printed = acklog("tail", topic, "--from", "earliest", "--no-follow", "--json")
        acklog("send", f"{topic}-copy", "--envelope", stdin=printed.stdout)
        copied = acklog("tail", f"{topic}-copy", "--from", "earliest", "--no-follow", "--json")

        def content(run: CommandRun) -> list[object]:
            kept = ("body", "bodyBase64", "key", "headers", "tags", "contentType", "timestamp")
            return sorted([{name: each.get(name) for name in kept} for each in run.lines], key=str)

        assert content(copied) == content(printed)
        assert [each["bodyBase64"] for each in copied.lines if each.get("key") == "gone"] == [""], "a tombstone"

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["{"], "BODY is not JSON"),
            (["1", "--file", "x"], "BODY and --file contradict each other"),
            (["--file", "no/such/file"], "no/such/file cannot be read"),
            (["1", "--header", "novalue"], "'novalue' is not a header"),
            (["1", "--partition", "x"], "'x' is not a whole number"),
            (["1", "--partitio", "1"], "Did you mean: --partition?"),
            (["1", "--content-type", "a/b"], "only a file has a content type"),
            (['{"a": 1}', "--key-field", "b"], "the body has no field 'b'"),
            (['{"bdy": 1}', "--envelope"], "Did you mean: body?"),
        ],
    )
    def test_bad_input(self, acklog: Acklog, topic: str, arguments: list[str], says: str) -> None:
        refused = acklog("send", topic, *arguments)
        assert refused.exit_code == ExitCode.USAGE
        assert says in refused.stderr
        assert refused.stdout == ""

    def test_a_name_that_the_server_refuses(self, acklog: Acklog) -> None:
        one, lines = acklog("send", "a b", "1"), acklog("send", "a b", stdin="1\n2\n")
        assert one.exit_code == lines.exit_code == ExitCode.USAGE
        assert "queue may hold only letters" in one.stderr
        assert "stopped" in lines.stderr

    def test_a_pipe_whose_reader_is_gone(self, acklog: Acklog, topic: str) -> None:
        assert acklog("send", topic, "1", is_reader_gone=True).exit_code == ExitCode.READER_GONE
        gone = acklog("send", topic, "-q", stdin="1\n2\n", is_reader_gone=True)
        assert (gone.exit_code, gone.stderr) == (ExitCode.READER_GONE, "")


class TestServerAway:
    @pytest.mark.parametrize("arguments", [("send", "t", "1"), ("receive", "t"), ("tail", "t"), ("why", "m-1")])
    def test_a_command_says_so(self, arguments: tuple[str, ...]) -> None:
        away = run_command(*arguments, "--server", "http://127.0.0.1:9", "--timeout", "1")
        assert away.exit_code == ExitCode.SERVER_AWAY
        assert "http://127.0.0.1:9" in away.stderr
        assert away.stderr.count("\n") == 2

    def test_lines_stop_at_the_deadline(self) -> None:
        away = run_command("send", "t", "--server", "http://127.0.0.1:9", "--timeout", "0.3", stdin="1\n2\n")
        assert away.exit_code == ExitCode.SERVER_AWAY
        assert "stopped: 2 lines, line 1 the first, were not stored" in away.stderr


class TestReceive:
    def test_without_a_terminal_each_message_is_a_line(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1", '{"a": 2}')
        received = acklog("receive", topic, "--group", f"{topic}-group")
        assert received.stderr == f"Created the group {topic}-group.\n"
        lines = [line.split("\t") for line in received.stdout.splitlines()]
        assert [body for _, body in lines] == ["1", '{"a": 2}']
        assert all(receipt.startswith("r-") for receipt, _ in lines)

    def test_json(self, acklog: Acklog, topic: str) -> None:
        (sent,) = send_each(acklog, topic, "1")
        (message,) = acklog("receive", topic, "--json").lines
        assert message["messageId"] == sent
        assert (message["attempt"], message["body"], message["key"]) == (1, 1, "k")

    def test_on_a_terminal_it_shows_what_is_needed_to_settle(self, acklog: Acklog, topic: str) -> None:
        (sent,) = send_each(acklog, topic, '"\\u001b[2J"')
        shown = acklog("receive", topic, "--no-color", is_terminal=True).stdout
        assert sent in shown
        assert "receipt  r-" in shown
        assert "attempt  1" in shown

    def test_acknowledging(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1", "2", "3")
        assert acklog("receive", topic, "--ack", "--max", "2").stdout == "1\n2\n"
        assert acklog("receive", topic, "--ack").stdout == "3\n"
        empty = acklog("receive", topic)
        assert (empty.exit_code, empty.stdout) == (0, "")
        assert "nothing for the group" in empty.stderr

    def test_waiting_for_a_message(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1")
        acklog("receive", topic, "--visibility", "0.2")
        assert acklog("receive", topic, "--wait", "10", "--ack").stdout == "1\n"

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--max", "0"], "0 is below 1"),
            (["--wait", "soon"], "'soon' is not a number"),
            (["--visibility", "1e9"], "is above 43200"),
            (["--group", "a b"], "group may hold only letters"),
        ],
    )
    def test_bad_input(self, acklog: Acklog, topic: str, arguments: list[str], says: str) -> None:
        send_each(acklog, topic, "1")
        refused = acklog("receive", topic, *arguments)
        assert refused.exit_code == ExitCode.USAGE
        assert says in refused.stderr

    def test_a_topic_that_is_not_there(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1")
        missing = acklog("receive", f"{topic}x", "--json")
        assert missing.exit_code == ExitCode.NOT_FOUND
        assert missing.error["code"] == "TOPIC_NOT_FOUND"
        assert topic in missing.error["near"]

    def test_what_a_gone_reader_did_not_get_is_not_acknowledged(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1")
        gone = acklog("receive", topic, "--ack", "--visibility", "0.2", is_reader_gone=True)
        assert gone.exit_code == ExitCode.READER_GONE
        assert acklog("receive", topic, "--wait", "10").stdout.endswith("\t1\n")


class TestTail:
    def test_bodies_of_all_partitions(self, acklog: Acklog, topic: str) -> None:
        acklog("send", topic, stdin="".join(f'{{"n":{n}}}\n' for n in range(50)))
        acklog("send", topic, "--partition", "7", stdin="50\n51\n")
        seen = acklog("tail", topic, "--from", "earliest", "--no-follow").stdout.splitlines()
        numbers = [json.loads(line) for line in seen]
        assert sorted(each["n"] if isinstance(each, dict) else each for each in numbers) == [*range(52)]

    def test_json(self, acklog: Acklog, topic: str) -> None:
        sent = send_each(acklog, topic, "1", "2")
        seen = acklog("tail", topic, "--from", "earliest", "--no-follow", "--json").lines
        assert [each["messageId"] for each in seen] == sent

    def test_on_a_terminal(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, '{"a":1}')
        acklog("send", topic, "\x1b[2Jx", "--text", "-k", "k")
        shown = acklog("tail", topic, "-n", "5", "--no-follow", "--no-color", is_terminal=True).stdout
        assert '  k  {"a":1}' in shown
        assert "\x1b[2J" not in shown

    def test_the_last_ones(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1", "2", "3")
        send_each(acklog, topic, "4", key="other")
        assert acklog("tail", topic, "-n", "2", "--no-follow").stdout == "3\n4\n"
        assert acklog("tail", topic, "-n", "0", "--no-follow").stdout == ""

    def test_from_a_time(self, acklog: Acklog, topic: str) -> None:
        first, second = send_each(acklog, topic, "1"), send_each(acklog, topic, "2", key="other")
        (looked,) = [
            each for each in acklog("tail", topic, "-n", "2", "--no-follow", "--json").lines if each["body"] == 2
        ]
        since = acklog("tail", topic, "--from", str(looked["appendTime"]), "--no-follow", "--json").lines
        assert second[0] in [each["messageId"] for each in since]
        assert first[0] not in [each["messageId"] for each in since]
        assert len(acklog("tail", topic, "--from", "1h", "--no-follow").stdout.splitlines()) == 2
        assert acklog("tail", topic, "--no-follow").stdout == ""

    def test_stopping_after_so_many(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1", "2", "3")
        assert acklog("tail", topic, "--from", "earliest", "--max", "2").stdout == "1\n2\n"

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--from", "ltest"], "Did you mean: latest"),
            (["--from", "yesterday?"], "is not a time"),
            (["--from", "1h", "-n", "2"], "contradict each other"),
            (["-n", "-1"], "is below 0"),
        ],
    )
    def test_bad_input(self, acklog: Acklog, topic: str, arguments: list[str], says: str) -> None:
        refused = acklog("tail", topic, *arguments)
        assert refused.exit_code == ExitCode.USAGE
        assert says in refused.stderr

    def test_a_topic_that_is_not_there(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1")
        missing = acklog("tail", f"{topic}x")
        assert missing.exit_code == ExitCode.NOT_FOUND
        assert "Did you mean" in missing.stderr

    def test_a_pipe_whose_reader_is_gone(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1")
        gone = acklog("tail", topic, "--from", "earliest", is_reader_gone=True)
        assert (gone.exit_code, gone.stderr) == (ExitCode.READER_GONE, "")


class TestPeek:
    def test_the_last_of_the_log(self, acklog: Acklog, topic: str) -> None:
        sent = send_each(acklog, topic, "1", "2", "3")
        peeked = acklog("peek", topic, "--max", "2")
        header, *rows = peeked.stdout.splitlines()
        assert header.split() == ["PLACE", "STORED", "KEY", "BODY", "MESSAGE", "ID"]
        assert [row.split()[-1] for row in rows] == sent[1:]
        assert [each["body"] for each in acklog("peek", topic, "--json").document["messages"]] == [1, 2, 3]

    def test_the_next_of_a_group_leases_nothing(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1", "2", "3", "4")
        leased = receipts(acklog, topic, "--max", "3")
        acklog("ack", leased[1])
        for _ in range(2):
            seen = acklog("peek", topic, "--group", "default", "--json").document["messages"]
            assert [(each["body"], each["state"]["state"]) for each in seen] == [
                (1, "leased"),
                (3, "leased"),
                (4, "waiting"),
            ]
        assert "leased" in acklog("peek", topic, "-g", "default", "--no-color", is_terminal=True).stdout

    def test_a_group_that_has_done_everything(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1")
        acklog("receive", topic, "--ack")
        done = acklog("peek", topic, "-g", "default")
        assert (done.exit_code, done.stdout) == (0, "")
        assert "has done everything" in done.stderr

    def test_bad_input(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1")
        assert acklog("peek", topic, "--max", "1001").exit_code == ExitCode.USAGE
        assert acklog("peek", topic, "--group", "no-such-group").exit_code == ExitCode.NOT_FOUND
        assert acklog("peek", f"{topic}x").exit_code == ExitCode.NOT_FOUND

    def test_a_pipe_whose_reader_is_gone(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1")
        assert acklog("peek", topic, is_reader_gone=True).exit_code == ExitCode.READER_GONE


class TestSettling:
    def test_what_receive_prints_goes_to_ack(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1", "2")
        received = acklog("receive", topic, "--max", "1")
        acked = acklog("ack", stdin=received.stdout)
        assert acked.stdout.splitlines()[1].split()[1] == "acknowledged"
        received = acklog("receive", topic, "--json")
        assert acklog("ack", "--json", stdin=received.stdout).lines == [
            {"receipt": received.lines[0]["receipt"], "status": "acknowledged"}
        ]
        assert acklog("receive", topic).stdout == ""

    def test_by_message_id(self, acklog: Acklog, topic: str) -> None:
        sent, other = send_each(acklog, topic, "1", "2")
        acklog("receive", topic, "--max", "1", "--group", f"{topic}-group")
        (acked,) = acklog("ack", "-m", sent, "-g", f"{topic}-group", "--json").lines
        assert acked == {"messageId": sent, "status": "acknowledged"}
        refused = acklog("ack", "-m", other, "-g", f"{topic}-group")
        assert refused.exit_code == ExitCode.FAILED
        assert "NOT_DELIVERED" in refused.stderr

    def test_nack_gives_back(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1")
        (receipt,) = receipts(acklog, topic)
        assert "returned" in acklog("nack", receipt, "--delay", "0").stdout
        (again,) = acklog("receive", topic, "--wait", "10", "--json").lines
        assert again["attempt"] == 2

    def test_extend_keeps(self, acklog: Acklog, topic: str) -> None:
        (sent,) = send_each(acklog, topic, "1")
        (receipt,) = receipts(acklog, topic, "--visibility", "5")
        assert acklog("extend", receipt, "--visibility", "600", "--json").lines == [
            {"receipt": receipt, "status": "extended"}
        ]
        (group,) = acklog("why", sent, "--json").document["groups"]
        assert "9 min" in group["what"]

    @pytest.mark.parametrize("command", ["ack", "nack", "extend"])
    def test_bad_receipts_do_not_hurt_good_ones(self, acklog: Acklog, topic: str, command: str) -> None:
        send_each(acklog, topic, "1")
        (receipt,) = receipts(acklog, topic)
        mixed = acklog(command, "r-1", receipt)
        assert mixed.exit_code == ExitCode.FAILED
        assert receipt in mixed.stdout
        assert "r-1: INVALID_RECEIPT" in mixed.stderr
        assert "1 of 2 failed" in mixed.stderr
        described = acklog(command, "r-1", "--json").lines
        assert described[0]["error"]["code"] == "INVALID_RECEIPT"

    @pytest.mark.parametrize("command", ["ack", "nack", "extend"])
    def test_no_receipts(self, acklog: Acklog, command: str) -> None:
        assert acklog(command).exit_code == ExitCode.USAGE
        assert acklog(command, stdin='{"messageId": "m-1"}\n').stderr.startswith("acklog: line 1 has no receipt")
        at_terminal = acklog(command, is_terminal=True)
        assert "a receipt is missing" in at_terminal.stderr

    @pytest.mark.parametrize("command", ["ack", "nack", "extend"])
    def test_a_pipe_whose_reader_is_gone(self, acklog: Acklog, topic: str, command: str) -> None:
        send_each(acklog, topic, "1")
        assert acklog(command, *receipts(acklog, topic), is_reader_gone=True).exit_code == ExitCode.READER_GONE

    def test_a_stale_receipt_says_what_to_do(self, acklog: Acklog, topic: str) -> None:
        send_each(acklog, topic, "1")
        (receipt,) = receipts(acklog, topic, "--visibility", "0.1")
        acklog("receive", topic, "--wait", "10")
        stale = acklog("nack", receipt)
        assert "RECEIPT_STALE" in stale.stderr
        assert "acklog why" in stale.stderr


class TestWhy:
    def test_each_state(self, acklog: Acklog, topic: str) -> None:
        sent = send_each(acklog, topic, "1", "2", "3", "4")
        leased = receipts(acklog, topic, "--max", "3", "--consumer", "worker-1", "--visibility", "600")
        acklog("ack", leased[0])
        acklog("nack", leased[1], "--delay", "600", "--reason", "no such\ncustomer")
        explained = [acklog("why", each).stdout for each in sent]
        assert "state  done" in explained[0]
        assert "1 of 16 attempts failed" in explained[1]
        assert "last had by  worker-1" in explained[1]
        assert "attempt 1    no such" in explained[1]
        assert "Leased to worker-1 until" in explained[2]
        assert "attempt 1 of 16" in explained[2]
        assert "nobody has received it yet, and 2 of its partition are before it" in explained[3]

    def test_json(self, acklog: Acklog, topic: str) -> None:
        (sent,) = send_each(acklog, topic, '{"a": 1}')
        acklog("receive", topic, "--ack")
        document = acklog("why", sent, "--json").document
        assert document["message"]["body"] == {"a": 1}
        (group,) = document["groups"]
        assert (group["group"], group["state"]) == ("default", "done")
        assert "acklog seek default" in group["toDo"]

    def test_on_a_terminal(self, acklog: Acklog, topic: str) -> None:
        (sent,) = send_each(acklog, topic, "1")
        shown = acklog("why", sent, "--no-color", is_terminal=True).stdout
        assert f"╭─ {sent} ─" in shown
        assert "No group has read its partition yet" in shown

    def test_bad_input(self, acklog: Acklog, topic: str) -> None:
        (sent,) = send_each(acklog, topic, "1")
        bad = acklog("why", "m-1")
        assert (bad.exit_code, "A message id begins with m-" in bad.stderr) == (ExitCode.USAGE, True)
        assert acklog("why").exit_code == ExitCode.USAGE
        missing = acklog("why", sent[:-1] + "9", "--json")
        assert (missing.exit_code, missing.error["code"]) == (ExitCode.NOT_FOUND, "MESSAGE_NOT_FOUND")

    def test_a_pipe_whose_reader_is_gone(self, acklog: Acklog, topic: str) -> None:
        (sent,) = send_each(acklog, topic, "1")
        assert acklog("why", sent, is_reader_gone=True).exit_code == ExitCode.READER_GONE


class TestDeadLetters:
    @pytest.fixture
    def letters(self, acklog: Acklog, shared_server: ServerProcess, topic: str) -> str:
        """A dead-letter topic with three letters."""
        shared_server.request("PUT", f"/groups/{topic}-group", {"settings": {"maxAttempts": 1}})
        acklog("send", topic, "--key", "k", "--header", "a=b", "-q", stdin='{"n":1}\n{"n":2}\n{"n":3}\n')
        received = acklog("receive", topic, "-g", f"{topic}-group").stdout
        acklog("nack", "--delay", "0", "--reason", "no customer", stdin=received)
        name = f"{topic}.{topic}-group.dlq"
        wait_until(
            lambda: len(acklog("tail", name, "--from", "earliest", "--no-follow").stdout.splitlines()) == 3,
            seconds=30,
            what="the letters",
        )
        return name

    def test_list(self, acklog: Acklog, topic: str, letters: str) -> None:
        (row,) = [line for line in acklog("dlq", "list").stdout.splitlines() if line.startswith(letters)]
        assert row.split()[1:3] == ["3", "3"]
        assert row.endswith(f"1 attempt of group {topic}-group failed: no customer")
        (found,) = [each for each in acklog("dlq", "list", "--json").document["topics"] if each["name"] == letters]
        assert (found["unhandled"], found["letters"], found["newest"]["body"]) == (3, 3, {"n": 3})

    def test_show(self, acklog: Acklog, topic: str, letters: str) -> None:
        rows = acklog("dlq", "show", letters).stdout.splitlines()
        assert rows[0].split() == ["LETTER", "FROM", "GROUP", "ATTEMPTS", "DIED", "KEY", "BODY"]
        assert [row.split()[-1] for row in rows[1:]] == ['{"n":1}', '{"n":2}', '{"n":3}']
        assert len(acklog("dlq", "show", letters, "--json", "--max", "2").document["letters"]) == 2
        assert '{"n":1}' in acklog("dlq", "show", letters, "--no-color", is_terminal=True).stdout

    def test_why_leads_to_the_letters(self, acklog: Acklog, topic: str, letters: str) -> None:
        first = acklog("tail", topic, "--from", "earliest", "--no-follow", "--json").lines[0]
        assert f"acklog dlq retry {letters}" in acklog("why", first["messageId"]).stdout

    def test_retry_sends_back_and_acknowledges(self, acklog: Acklog, topic: str, letters: str) -> None:
        planned = acklog("dlq", "retry", letters, "--dry-run", "--json").document["letters"]
        assert len(planned) == 3
        assert "Nothing was sent: 3 would be." in acklog("dlq", "retry", letters, "--dry-run").stderr
        one = acklog("dlq", "retry", letters, "--max", "1")
        assert f"Sent 1 letter of {letters} back." in one.stderr
        assert "moved  1 letter" in one.stdout
        left = acklog("dlq", "show", letters, "--json").document["letters"]
        assert [each["messageId"] for each in left] == [each["messageId"] for each in planned[1:]], "the oldest first"
        rest = acklog("dlq", "retry", letters, "--json").document
        assert (rest["state"], rest["moved"], rest["failed"], rest["topic"]) == ("done", 2, 0, letters)
        back = acklog("tail", topic, "--from", "earliest", "--no-follow", "--json").lines[3:]
        assert [(each["body"], each["key"], each["headers"]["a"]) for each in back] == [
            ({"n": n}, "k", "b") for n in (1, 2, 3)
        ]
        assert "nothing to retry" in acklog("dlq", "retry", letters).stderr
        assert len(acklog("dlq", "show", letters, "--all", "--json").document["letters"]) == 3

    def test_a_retry_that_nobody_watches_any_more_goes_on(self, acklog: Acklog, topic: str, letters: str) -> None:
        begun = acklog("dlq", "redrive", letters, "--rate", "1", "--no-wait", "--json").document
        busy = acklog("dlq", "retry", letters, "--json")
        assert (busy.exit_code, busy.error["code"]) == (ExitCode.FAILED, "REDRIVE_UNDER_WAY")
        wait_until(
            lambda: acklog("dlq", "jobs", "--json").document["jobs"][0].get("finishedAt") is not None,
            seconds=30,
            what="the job",
        )
        assert acklog("dlq", "jobs", "--json").document["jobs"][0]["jobId"] == begun["jobId"]
        assert "nothing to retry" in acklog("dlq", "retry", letters).stderr
        assert len(acklog("tail", topic, "--from", "earliest", "--no-follow").stdout.splitlines()) == 6

    def test_letters_that_were_sought_back_to_are_sent_again(
        self, acklog: Acklog, shared_server: ServerProcess, topic: str, letters: str
    ) -> None:
        acklog("dlq", "retry", letters)
        shared_server.request("PUT", "/groups/acklog-dlq/offsets", {"topic": letters, "to": "earliest"})
        assert acklog("dlq", "retry", letters, "--json").document["moved"] == 3
        assert len(acklog("tail", topic, "--from", "earliest", "--no-follow").stdout.splitlines()) == 9

    def test_a_letter_that_cannot_be_sent_stays(
        self, acklog: Acklog, shared_server: ServerProcess, letters: str
    ) -> None:
        assert acklog("dlq", "retry", letters, "--to", f"{letters}-kept").exit_code == ExitCode.NOT_FOUND
        acklog("send", letters, "4")  # it does not say where it came from
        refused = acklog("dlq", "retry", letters)
        assert refused.exit_code == ExitCode.FAILED
        assert "1 of 4 letters stayed" in refused.stderr
        shared_server.request("PUT", f"/topics/{letters}-kept")
        assert acklog("dlq", "retry", letters, "--to", f"{letters}-kept", "--json").document["moved"] == 1

    def test_redrive_has_the_server_send_them(self, acklog: Acklog, topic: str, letters: str) -> None:
        one = acklog("dlq", "show", letters, "--json").document["letters"][1]
        first = acklog("dlq", "redrive", letters, "--letter", one["messageId"], "--json").document
        assert (first["state"], first["moved"], first["topic"]) == ("done", 1, letters)
        begun = acklog("dlq", "redrive", letters, "--rate", "1", "--no-wait")
        assert f"acklog dlq cancel {begun.stdout.split()[1]}" in begun.stderr
        cancelled = acklog("dlq", "cancel", begun.stdout.split()[1], "--json").document
        assert cancelled["state"] in {"cancelled", "done"}
        [newest, oldest] = [
            each for each in acklog("dlq", "jobs", "--json").document["jobs"] if each["topic"] == letters
        ]
        assert (newest["jobId"], oldest["jobId"]) == (cancelled["jobId"], first["jobId"])
        assert first["jobId"] in acklog("dlq", "jobs").stdout
        back = acklog("tail", topic, "--from", "earliest", "--no-follow", "--json").lines[3:]
        assert {"n": 2} in [each["body"] for each in back]

    def test_purge(self, acklog: Acklog, topic: str, letters: str) -> None:
        unasked = acklog("dlq", "purge", letters)
        assert (unasked.exit_code, "Give --yes" in unasked.stderr) == (ExitCode.USAGE, True)
        purged = acklog("dlq", "purge", letters, "--yes", "--json")
        assert purged.document == {"topic": letters, "purged": 3}
        assert acklog("dlq", "show", letters).stdout == ""
        assert acklog("dlq", "purge", letters).stderr == f"Purged 0 letters of {letters}.\n"

    @pytest.mark.parametrize("command", ["show", "retry", "redrive", "purge"])
    def test_only_dead_letters_are_touched(self, acklog: Acklog, topic: str, letters: str, command: str) -> None:
        refused = acklog("dlq", command, topic)
        assert refused.exit_code == ExitCode.USAGE
        assert f"Did you mean: {letters}?" in refused.stderr
        assert acklog("dlq", command, "no-such.dlq").exit_code == ExitCode.NOT_FOUND

    def test_a_pipe_whose_reader_is_gone(self, acklog: Acklog, letters: str) -> None:
        for arguments in (["list"], ["show", letters], ["retry", letters], ["purge", letters, "--yes", "--json"]):
            assert acklog("dlq", *arguments, is_reader_gone=True).exit_code == ExitCode.READER_GONE
