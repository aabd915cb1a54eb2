"""A server's command line, from its arguments to its exit code."""

import sys
from collections.abc import Callable, Sequence
from types import ModuleType

import pytest

from acklog.command import server_program
from acklog.command.exit_codes import ExitCode


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the test's process stay as they are."""
    monkeypatch.setattr(server_program, "make_tolerant", lambda: None)


def install(monkeypatch: pytest.MonkeyPatch, run: Callable[[str, Sequence[str]], None]) -> None:
    module = ModuleType("acklog_server.command")
    module.run_server = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "acklog_server.command", module)


def raising(error: BaseException) -> Callable[[str, Sequence[str]], None]:
    def run(_name: str, _arguments: Sequence[str]) -> None:
        raise error

    return run


@pytest.mark.usefixtures("streams")
def test_the_server_gets_its_name_and_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[tuple[str, Sequence[str]]] = []
    install(monkeypatch, lambda name, arguments: called.append((name, arguments)))
    with pytest.raises(SystemExit) as ended:
        server_program.run_server(["node", "--id", "1"])
    assert ended.value.code == ExitCode.DONE
    assert called == [("node", ["--id", "1"])]


@pytest.mark.usefixtures("streams")
@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), ExitCode.INTERRUPTED), (RuntimeError("oops"), ExitCode.FAILED), (SystemExit(2), 2)],
    ids=["interrupted", "mistake", "refused"],
)
def test_how_it_ends(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(monkeypatch, raising(error))
    with pytest.raises(SystemExit) as ended:
        server_program.run_server(["serve"])
    assert ended.value.code == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert ("this should not happen: RuntimeError: oops" in shown.err) == isinstance(error, RuntimeError)
    assert "Traceback" not in shown.err


@pytest.mark.usefixtures("streams")
def test_where_no_server_is_installed_the_command_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "acklog_server"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(server_program, "SERVER_PACKAGE", "acklog_server_that_nobody_has")
    server_program.run_server(["serve"])


@pytest.mark.usefixtures("streams")
def test_a_server_that_lacks_something_says_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "acklog_server.own_packages", None)
    monkeypatch.delitem(sys.modules, "acklog_server.command", raising=False)
    with pytest.raises(ModuleNotFoundError, match="own_packages"):
        server_program.run_server(["serve"])
