"""`acklog config`: what a process would be told here, by whom, and whether it could start with that."""

from pathlib import Path

import pytest

from acklog.command.exit_codes import ExitCode
from tests.support.command_run import CommandRun, run_command

FILE = """
log_level = "warning"
[serve]
port = 9000
tokens_file = "{tokens}"
[gateway]
etcd = "https://etcd:2379"
etcd_ca_file = "{authority}"
"""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a configuration file whose own files are not there yet."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acklog.toml").write_text(FILE.format(tokens=tmp_path / "tokens", authority=tmp_path / "ca.pem"))
    return tmp_path


def config(*arguments: str, **environment: str) -> CommandRun:
    return run_command("config", *arguments, environment=environment)


@pytest.mark.usefixtures("directory")
def test_each_value_is_shown_with_who_has_set_it() -> None:
    shown = config("show", "serve", "--json", "--", "--rack", "r1", ACKLOG_PORT="9001", ACKLOG_PROT="1").document
    assert (shown["process"], shown["file"], shown["unknownVariables"]) == ("serve", "acklog.toml", ["ACKLOG_PROT"])
    found = {each["name"]: (each["value"], each["source"]) for each in shown["settings"]}
    assert found.pop("tokens_file")[1] == "acklog.toml: serve.tokens_file"
    assert found == {
        "port": (9001, "ACKLOG_PORT"),
        "rack": ("r1", "--rack"),
        "log_level": ("warning", "acklog.toml: log_level"),
    }
    everything = config("show", "serve", "--all", "--json").document["settings"]
    assert {"table": "storage", "name": "open_files_max", "value": 512, "source": "default"} in everything
    assert {"table": "serve", "name": "auto_create_topics", "value": True, "source": "default"} in everything
    rows = [line.split() for line in config("show", ACKLOG_PORT="9001").stdout.splitlines()]
    assert ["serve.port", "9001", "ACKLOG_PORT"] in rows


def test_who_is_told_nothing_has_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = config("show")
    assert shown.exit_code == ExitCode.DONE
    assert "acklog serve has its defaults" in shown.stderr


def test_files_that_settings_name_are_looked_into(directory: Path) -> None:
    checked = config("check", "--json")
    assert checked.exit_code == ExitCode.FAILED
    [[tokens], [authority]] = [each["problems"] for each in checked.document["processes"]]
    assert f"the tokens file {directory / 'tokens'} cannot be read" in tokens
    assert f"etcd_ca_file: {directory / 'ca.pem'} cannot be read" in authority
    (directory / "tokens").write_text('[[tokens]]\nname = "a"\ntoken = "0123456789abcdef"\nscopes = ["admin"]\n')
    (directory / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\n")
    assert [each["problems"] for each in config("check", "--json").document["processes"]][1] == []


def test_a_process_that_lacks_something_says_what(directory: Path) -> None:
    checked = config("check", "node", "--config", "", "--json")
    assert checked.exit_code == ExitCode.FAILED
    [[problem]] = [each["problems"] for each in checked.document["processes"]]
    assert problem.startswith("the node has no id: give it a number of its own")
    assert config("check", "node", "--config", "", "--", "--id", "1").exit_code == ExitCode.DONE


@pytest.mark.parametrize("command", ["show", "check"])
def test_what_cannot_be_asked_for_is_told(command: str, directory: Path) -> None:
    refused = config(command, "server")
    assert (refused.exit_code, "there is no process 'server': it is one of" in refused.stderr) == (ExitCode.USAGE, True)
    (directory / "acklog.toml").write_text("[serve]\nprot = 1\n")
    refused = config(command)
    assert refused.exit_code == ExitCode.USAGE
    assert "acklog.toml: serve.prot is no setting; is port meant?" in refused.stderr
