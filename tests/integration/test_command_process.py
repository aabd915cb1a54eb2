"""The command as a process of its own: pipes that close, signals, a server that comes and goes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acklog.command.exit_codes import ExitCode
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

SECONDS = 30
LINES = 20_000


@pytest.fixture
def environment(shared_server: ServerProcess, tmp_path: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ACKLOG_")}
    bin_directory = str(Path(sys.executable).parent)
    path = f"{bin_directory}:{os.environ['PATH']}"
    inherited.pop("PYTHONUNBUFFERED", None)
    return {**inherited, "PATH": path, "HOME": str(tmp_path), "ACKLOG_URL": shared_server.base_url}


def shell(script: str, environment: dict[str, str], *, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """`script` in bash; its last line of output tells the exit codes of the pipe."""
    script = f"{script}; echo ${{PIPESTATUS[@]}}"
    return subprocess.run(
        ["bash", "-c", script], env=environment, input=stdin, capture_output=True, text=True, timeout=SECONDS
    )


def started(*arguments: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["acklog", *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_file_into_a_topic_and_out_of_it_again(environment: dict[str, str]) -> None:
    lines = "".join(f'{{"n":{number}}}\n' for number in range(LINES))
    sent = shell("acklog send big | wc -l", environment, stdin=lines)
    assert sent.stdout.split() == [str(LINES), "0", "0"]
    read = shell("acklog tail big --from earliest --no-follow | sort | uniq | wc -l", environment)
    assert read.stdout.split()[0] == str(LINES)


@pytest.fixture(scope="module")
def heads(shared_server: ServerProcess) -> str:
    """A topic with more than a pipe holds."""
    messages = [{"body": "x" * 500} for _ in range(1000)]
    assert shared_server.request("POST", "/messages", {"queue": "heads", "messages": messages}).status == 201
    return "heads"


@pytest.mark.parametrize("is_unbuffered", [False, True])
@pytest.mark.parametrize(
    "command",
    [
        "acklog tail heads --from earliest",
        "acklog receive heads --max 1000 --json",
        "acklog peek heads --max 1000",
        "yes 1 | acklog send other",
    ],
)
def test_head_ends_it_without_a_word(
    environment: dict[str, str], heads: str, command: str, is_unbuffered: bool
) -> None:
    if is_unbuffered:
        environment = {**environment, "PYTHONUNBUFFERED": "1"}
        command = command.replace("receive heads", "receive heads --group other")
    ran = shell(f"{command} -q | head -n 1", environment)
    shown, codes = ran.stdout.splitlines()
    assert shown
    assert codes.split()[-2:] == [str(int(ExitCode.READER_GONE)), "0"]
    assert ran.stderr == ""


def test_tail_shows_what_comes_until_it_is_interrupted(environment: dict[str, str]) -> None:
    shell("acklog send live 0", environment)
    tail = started("tail", "live", "--from", "earliest", "--json", environment=environment)
    assert tail.stdout is not None
    assert json.loads(tail.stdout.readline())["body"] == 0
    shell("acklog send live 1", environment)
    assert json.loads(tail.stdout.readline())["body"] == 1
    tail.send_signal(signal.SIGINT)
    assert tail.communicate(timeout=SECONDS) == ("", "")
    assert tail.returncode == ExitCode.INTERRUPTED


def test_lines_are_sent_as_they_come(environment: dict[str, str]) -> None:
    sending = started("send", "typed", environment=environment)
    assert sending.stdin is not None
    assert sending.stdout is not None
    for number in range(2):
        sending.stdin.write(f"{number}\n")
        sending.stdin.flush()
        assert sending.stdout.readline().startswith("m-")
    sending.send_signal(signal.SIGINT)
    sending.communicate(timeout=SECONDS)
    assert sending.returncode == ExitCode.INTERRUPTED


@pytest.mark.parametrize("arguments", [["receive", "quiet", "--follow"], ["receive", "quiet", "--wait", "20"]])
def test_waiting_is_interrupted(environment: dict[str, str], arguments: list[str]) -> None:
    shell("acklog send quiet 1; acklog receive quiet --ack", environment)
    waiting = started(*arguments, environment=environment)
    thread_file = Path(f"/proc/{waiting.pid}/task")
    wait_until(lambda: len([*thread_file.iterdir()]) > 1, seconds=SECONDS, what="the client's thread")
    waiting.send_signal(signal.SIGINT)
    assert waiting.communicate(timeout=SECONDS) == ("", "")
    assert waiting.returncode == ExitCode.INTERRUPTED


def test_topics_are_completed(environment: dict[str, str]) -> None:
    shell("acklog send completed-topic 1", environment)
    script = """
        source <(acklog completion bash)
        COMP_WORDS=(acklog tail completed-); COMP_CWORD=2; _acklog_completion; echo "${COMPREPLY[@]}"
    """
    assert shell(script, environment).stdout.splitlines()[0] == "completed-topic"


def test_a_server_that_comes_back_is_waited_for(tmp_path: Path, environment: dict[str, str]) -> None:
    lines = 100
    with ServerProcess(tmp_path / "data", tmp_path / "log") as server:
        first_port = server.port
        environment = {**environment, "ACKLOG_URL": server.base_url}
        sending = started("send", "kept", environment=environment)
        assert sending.stdin is not None
        assert sending.stdout is not None
        sending.stdin.write("0\n")
        sending.stdin.flush()
        assert sending.stdout.readline().startswith("m-")
        server.kill()
        sending.stdin.write("".join(f"{number}\n" for number in range(1, lines)))
        sending.stdin.close()
        with ServerProcess(tmp_path / "data", tmp_path / "log2", options=("--port", str(first_port))):
            assert len(sending.stdout.readlines()) == lines - 1
            assert sending.wait(timeout=SECONDS) == 0
            read = shell("acklog tail kept --from earliest --no-follow | sort -n", environment)
            assert read.stdout.splitlines()[:-1] == [str(number) for number in range(lines)]
