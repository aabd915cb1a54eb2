"""Signals in the first moments of a server's command, and in its last."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import ServerMaker
from tests.integration.test_signals import first_of_its_namespace
from tests.support.server_process import REPOSITORY, ServerProcess

pytestmark = pytest.mark.integration

SECONDS = 60
ENTRIES = {
    "installed": "from acklog.start import main; main()",
    "module": "import runpy; runpy.run_module('acklog.command', run_name='__main__', alter_sys=True)",
}
"""How the command begins: by what pip installs, and by `python -m acklog.command`."""
AT_FIRST_IMPORT = """
import os, sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in {"acklog.command.program", "acklog.command.server_program"}:
            early = {"typing", "asyncio", "msgspec", "typer"} & set(sys.modules)
            assert not early, early
            for number in %(signals)s:
                os.kill(os.getpid(), number)
            print("it went on", flush=True)
            sys.exit(7)

sys.meta_path.insert(0, Watch())
sys.argv = ["acklog", *%(arguments)s]
%(entry)s
"""
"""The command, with signals to itself in front of everything that it imports."""


def run_early(*numbers: int, arguments: list[str], entry: str = "installed", prefix: list[str]) -> tuple[int, str, str]:
    program = AT_FIRST_IMPORT % {
        "signals": [int(number) for number in numbers],
        "arguments": arguments,
        "entry": ENTRIES[entry],
    }
    done = subprocess.run(
        [*prefix, sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{program}"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("name", ["serve", "node", "gateway"])
def test_a_signal_in_front_of_all_imports_ends_it_with_a_line(name: str, entry: str) -> None:
    ended = run_early(signal.SIGHUP, signal.SIGTERM, arguments=[name], entry=entry, prefix=[])
    assert ended == (0, "", "acklog: SIGTERM came before it served: it has ended.\n")


def test_ctrl_c_does_as_well() -> None:
    ended = run_early(signal.SIGINT, arguments=["serve", "--port", "0"], prefix=[])
    assert ended == (0, "", "acklog: SIGINT came before it served: it has ended.\n")


def test_the_first_process_of_a_container_heeds_it_too() -> None:
    """The kernel spares it what it does not handle."""
    prefix = first_of_its_namespace()
    if not prefix:
        pytest.skip("needs the right to make a PID namespace")
    ended = run_early(signal.SIGTERM, arguments=["serve"], prefix=prefix)
    assert ended == (0, "", "acklog: SIGTERM came before it served: it has ended.\n")


@pytest.fixture
def hang_ups_count() -> Iterator[None]:
    """What `nohup` runs ignores them, and so would every command that a test starts."""
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hang_ups_count")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_commands_die_of_signals_as_programs_do(number: int) -> None:
    assert run_early(number, arguments=["send", "serve"], prefix=[]) == (-number, "", "")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_signals_up_to_the_last_moment_of_a_stop_change_nothing(make_server: ServerMaker, number: int) -> None:
    server = make_server().start()
    server.send("orders", 1)
    server.signal(signal.SIGTERM)
    assert signalled_to_its_end(server, number) == 0, server.output()
    assert "came before it served" not in server.output()
    assert "Traceback" not in server.output()


def test_a_failure_stays_one_whatever_signals_come_behind_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    program = (
        "import atexit, os, signal, sys\n"
        "numbers = signal.SIGHUP, signal.SIGINT, signal.SIGTERM\n"
        "atexit.register(lambda: [os.kill(os.getpid(), number) for number in numbers])\n"
        f"sys.argv = ['acklog', 'serve', '--port', '0', '--data-dir', {str(tmp_path / 'file' / 'data')!r}]\n"
        + ENTRIES["installed"]
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1].startswith("acklog: The data directory ")


def signalled_to_its_end(server: ServerProcess, number: int) -> int:
    """Its exit code. A signal every other millisecond."""
    while True:
        server.signal(number)
        try:
            return server.wait(seconds=0.002)
        except subprocess.TimeoutExpired:
            continue
