"""The foundation of the command: where options may stand, what failures look like, what is imported."""

import json
import subprocess
import sys
from typing import Any

import pytest

from acklog.command.exit_codes import ExitCode
from acklog.command.session import Server
from acklog.errors import Forbidden, InvalidField, OutcomeUnknown, TopicNotFound, Unauthenticated
from acklog.messages import Sent
from tests.support.command_run import CommandRun, run_command


class RecordingClient:
    """Answers every send; remembers which server was asked. `failure` is raised instead, if there is one."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.failure = failure
        self.servers: list[Server] = []
        self.timeouts_s: list[float] = []

    def connect(self, server: Server, timeout_s: float) -> "RecordingClient":
        self.servers.append(server)
        self.timeouts_s.append(timeout_s)
        return self

    def __enter__(self) -> "RecordingClient":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def send(self, topic: str, body: object, **_: object) -> Sent:
        if self.failure is not None:
            raise self.failure
        return Sent("m-1", 0, 0)


def send(*arguments: str, client: RecordingClient | None = None, **options: Any) -> CommandRun:
    client = client or RecordingClient()
    return run_command(*arguments, surroundings={"connect": client.connect}, **options)


class TestGlobalOptions:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["--server", "http://a:1", "--token", "t", "--timeout", "5", "--json", "send", "orders", "1"],
            ["send", "--server", "http://a:1", "--token", "t", "--timeout", "5", "--json", "orders", "1"],
            ["send", "orders", "1", "--json", "--timeout", "5", "--token", "t", "--server", "http://a:1"],
            ["--server", "http://b", "--json", "send", "t", "1", "--server", "http://a:1", "--token=t", "--timeout=5"],
        ],
    )
    def test_they_stand_before_or_after_the_command_and_the_last_wins(self, arguments: list[str]) -> None:
        client = RecordingClient()
        ran = send(*arguments, client=client)
        assert ran.document == {"messageId": "m-1", "partition": 0, "offset": 0}
        assert (client.servers[0].url, client.servers[0].token) == ("http://a:1", "t")
        assert client.timeouts_s == [5.0]

    def test_the_environment(self) -> None:
        client = RecordingClient()
        send("send", "t", "1", client=client, environment={"ACKLOG_URL": "http://a:1/", "ACKLOG_TOKEN": "secret"})
        assert client.servers == [Server("http://a:1", "secret", "ACKLOG_URL")]

    def test_the_default(self) -> None:
        client = RecordingClient()
        send("send", "t", "1", client=client)
        assert client.servers == [Server("http://127.0.0.1:8080", None, "the default")]

    @pytest.mark.parametrize(
        ("url", "says"),
        [
            ("queue:8080", "Did you mean: http://queue:8080?"),
            ("ftp://a", "is not a server's address (--server)"),
            ("http://a:x", "is not a server's address"),
            ("http://a?b", "is not a server's address"),
        ],
    )
    def test_what_is_no_address(self, url: str, says: str) -> None:
        refused = send("send", "t", "1", "--server", url)
        assert refused.exit_code == ExitCode.USAGE
        assert says in refused.stderr

    @pytest.mark.parametrize("timeout", ["0", "-1", "86401", "soon", "nan"])
    def test_what_is_no_timeout(self, timeout: str) -> None:
        assert send("send", "t", "1", "--timeout", timeout).exit_code == ExitCode.USAGE

    def test_quiet_leaves_data_and_failures(self) -> None:
        refused = send("send", "t", "{", "-q")
        assert refused.stderr.startswith("acklog: BODY is not JSON")


class TestFailures:
    @pytest.mark.parametrize(
        ("failure", "exit_code", "says"),
        [
            (
                TopicNotFound("there is no topic 'ordres'; similar: orders", field="queue", extra={"near": ["orders"]}),
                ExitCode.NOT_FOUND,
                "acklog: there is no topic 'ordres' (queue)\n  Did you mean: orders?\n  See what there is: ",
            ),
            (Unauthenticated("a token is required"), ExitCode.NOT_ALLOWED, "--token, ACKLOG_TOKEN"),
            (Forbidden("may not write"), ExitCode.NOT_ALLOWED, "Use a token that may do this"),
            (InvalidField("is 7, the topic has 3", field="partition"), ExitCode.USAGE, "acklog: partition is 7"),
            (OutcomeUnknown("the disk was slow"), ExitCode.FAILED, "--dedup-id"),
            (KeyboardInterrupt(), ExitCode.INTERRUPTED, ""),
            (BrokenPipeError(), ExitCode.READER_GONE, ""),
            (OSError(28, "No space left on device"), ExitCode.FAILED, "No space left on device"),
            (ZeroDivisionError("oops"), ExitCode.FAILED, "It is a mistake in acklog"),
        ],
    )
    def test_what_they_say(self, failure: BaseException, exit_code: ExitCode, says: str) -> None:
        failed = send("send", "t", "1", client=RecordingClient(failure))
        assert (failed.exit_code, failed.stdout) == (exit_code, "")
        assert says in failed.stderr
        assert "Traceback" not in failed.stderr

    def test_in_json(self) -> None:
        failure = TopicNotFound("there is no topic", field="queue", extra={"near": ["orders"]})
        failed = send("--json", "send", "t", "1", client=RecordingClient(failure))
        assert failed.error == {
            "detail": "there is no topic",
            "exitCode": 5,
            "code": "TOPIC_NOT_FOUND",
            "field": "queue",
            "near": ["orders"],
            "hint": failed.error["hint"],
        }
        assert json.loads(send("sned", "--json").stderr)["error"]["near"] == ["send"]

    def test_debug_shows_where(self) -> None:
        with pytest.raises(ZeroDivisionError):
            send("--debug", "send", "t", "1", client=RecordingClient(ZeroDivisionError()))

    def test_what_a_server_says_cannot_move_the_cursor(self) -> None:
        failed = send("send", "t", "1", client=RecordingClient(InvalidField("\x1b[2J\nis bad", field="a\nb")))
        assert "\x1b" not in failed.stderr
        assert failed.stderr.count("\n") == 1

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["sned"], "acklog has no command 'sned'\n  Did you mean: send?"),
            (["dlq", "shw"], "acklog dlq has no command 'shw'\n  Did you mean: show?"),
            (["send", "--jsn"], "Did you mean: --json?"),
            (["send"], "missing argument 'TOPIC'"),
            (["send", "a", "b", "c"], "unexpected extra argument"),
            (["--nosuch"], "no such option: --nosuch"),
        ],
    )
    def test_a_line_that_makes_no_sense(self, arguments: list[str], says: str) -> None:
        refused = send(*arguments)
        assert refused.exit_code == ExitCode.USAGE
        assert says in refused.stderr

    def test_a_command_of_a_distribution_that_is_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("acklog.command.tree._added_commands", dict)
        refused = send("serve")
        assert (refused.exit_code, "pip install acklog-server" in refused.stderr) == (ExitCode.USAGE, True)


class TestHelp:
    def test_it_lists_every_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert send("--help").exit_code == 0
        listed = capsys.readouterr().out
        for name in ("send", "receive", "tail", "peek", "ack", "nack", "extend", "why", "dlq", "completion", "serve"):
            assert f"  {name} " in listed
        assert "\x1b" not in listed

    @pytest.mark.parametrize("arguments", [["send", "-h"], ["dlq", "--help"], ["dlq", "retry", "--help"]])
    def test_of_a_command(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert send(*arguments).exit_code == 0
        shown = capsys.readouterr().out
        assert shown.startswith(f"Usage: acklog {arguments[0]} ")
        assert "Options everywhere" in shown

    def test_without_a_command(self) -> None:
        shown = send()
        assert (shown.exit_code, shown.stdout) == (ExitCode.USAGE, "")
        assert "Usage: acklog" in shown.stderr

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert send("--version").exit_code == 0
        assert capsys.readouterr().out.startswith("acklog 0.")


HEAVY = ("pydantic", "fastapi", "sqlalchemy", "uvicorn", "pyarrow", "storage.node", "rich.markdown", "typer.rich_utils")


@pytest.mark.parametrize(
    ("arguments", "light"),
    [
        (["--help"], (*HEAVY, "aiohttp", "rich")),
        (["send", "t", "{"], (*HEAVY, "aiohttp", "rich", "app", "cluster", "storage")),
        (["profile", "list"], (*HEAVY, "aiohttp", "rich", "app", "cluster", "storage")),
        (["send", "t", "1", "--server", "http://127.0.0.1:9", "--timeout", "0.1"], (*HEAVY, "rich", "app", "storage")),
    ],
)
def test_it_starts_without_heavy_modules(arguments: list[str], light: tuple[str, ...]) -> None:
    program = (
        "import json, sys\n"
        "from acklog.command.program import run\n"
        "from acklog.command.session import Surroundings\n"
        f"run({arguments!r}, Surroundings.of_process())\n"
        f"print(json.dumps([name for name in {light!r} if name in sys.modules]))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout.splitlines()[-1]) == []
