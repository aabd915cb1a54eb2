"""`acklog config`: what a process would be told here, by whom, and whether it could start with that."""

import sys
from pathlib import Path

import pytest

from acklog.command.exit_codes import ExitCode
from tests.support.authority import OwnAuthority
from tests.support.command_run import CommandRun, run_command
from tests.support.own_authority import TlsFilesOf, made_authority, signed

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


HOST = "0.0.0.0 is reachable from other machines"
PKI = '[{0}]\npki = "pki"\n'
CLEAR_BESIDE_REQUIRED = 'tls_client_certificates = "required"\ntls_accept_clear = true\n'


@pytest.mark.parametrize(
    ("process", "text", "says"),
    [
        ("serve", '[serve]\nhost = "0.0.0.0"\n', HOST),
        ("gateway", '[gateway]\nhost = "0.0.0.0"\n', HOST),
        ("node", '[node]\nid = 1\nlisten = "0.0.0.0:7000"\nadvertise = "10.0.0.1:7000"\n', "0.0.0.0:7000 is reachable"),
        ("serve", PKI.format("serve"), "pki/server.pem"),
        ("gateway", PKI.format("gateway"), "pki/gateway.pem"),
        ("node", PKI.format("node") + "id = 7\n", "pki/node-7.pem"),
        ("serve", '[serve]\ntls_certificate_file = "c.pem"\ntls_key_file = "k.pem"\n', "c.pem"),
        ("serve", PKI.format("serve") + CLEAR_BESIDE_REQUIRED, "tls_accept_clear lets everybody in by http"),
        ("gateway", '[gateway]\npeer_tls = "require"\n', "peer_tls is require, so a certificate is needed"),
    ],
)
def test_what_a_start_refuses_is_found_without_one(process: str, text: str, says: str, directory: Path) -> None:
    (directory / "acklog.toml").write_text(text)
    checked = config("check", "--json")
    assert checked.exit_code == ExitCode.FAILED
    assert [each["process"] for each in checked.document["processes"]] == [process]
    [[problem]] = [each["problems"] for each in checked.document["processes"]]
    assert says in problem


def test_everything_that_is_wrong_is_told_at_once(directory: Path) -> None:
    (directory / "acklog.toml").write_text(
        '[gateway]\nhost = "::"\npki = "pki"\netcd = "https://e:1"\netcd_ca_file = "ca"\n'
    )
    [[exposed, certificate, etcd]] = [each["problems"] for each in config("check", "--json").document["processes"]]
    assert ("--insecure" in exposed, "gateway.pem" in certificate, "etcd_ca_file: ca" in etcd) == (True, True, True)


def test_certificates_that_can_be_used_are(directory: Path) -> None:
    authority = made_authority()
    TlsFilesOf(directory / "tls").trust(authority).hold(signed(authority))
    (directory / "acklog.toml").write_text(
        '[serve]\ntls_certificate_file = "tls/own.pem"\ntls_key_file = "tls/own-key.pem"\n'
    )
    assert config("check").exit_code == ExitCode.DONE
    TlsFilesOf(directory / "other").trust(authority).hold(signed(authority))
    (directory / "tls" / "own-key.pem").write_bytes((directory / "other" / "own-key.pem").read_bytes())
    assert "own.pem" in config("check").stdout


def test_a_receiver_of_traces_needs_its_exporter(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (directory / "acklog.toml").write_text('[serve]\notlp_endpoint = "http://127.0.0.1:4318"\n')
    assert config("check").exit_code == ExitCode.DONE
    monkeypatch.delitem(sys.modules, "app.tracing.exporters", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace.export", None)
    assert "is not installed, which --otlp-endpoint needs" in " ".join(config("check").stdout.split())


@pytest.mark.parametrize(
    ("stem", "age_days", "says"),
    [("node-4", 0, ""), ("node-1", 0, "is that of node 1, and this is node 4"), ("node-4", 91, "expired")],
)
def test_a_certificate_that_nobody_would_believe_is_found(directory: Path, stem: str, age_days: int, says: str) -> None:
    files = OwnAuthority(directory / "pki").issue(stem, age_days=age_days)
    (directory / "acklog.toml").write_text(
        f'[node]\nid = 4\npeer_ca_file = "pki/ca.pem"\npeer_certificate_file = "{files.certificate}"\n'
        f'peer_key_file = "{files.key}"\n'
    )
    [found] = [each["problems"] for each in config("check", "--json").document["processes"]]
    assert [says in each for each in found] == ([True] if says else [])
