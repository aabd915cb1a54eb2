import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from app.commands.main import register
from app.configuration.environment_variables import unknown_variables
from app.configuration.etcd_options import EtcdOptions
from app.configuration.gateway_options import GATEWAY
from app.configuration.node_options import NODE, NodeOptions
from app.configuration.server_settings import Settings
from app.configuration.setting_error import SettingsError
from app.processes.etcd_connection import EtcdStartError, connect_to_etcd
from cluster.etcd.etcd_settings import EtcdTls, EtcdUser
from tests.support.counting_entropy import CountingEntropy
from tests.support.manual_clock import ManualClock

CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
KEY = b"-----BEGIN EC PRIVATE KEY-----\nMIIB\n-----END EC PRIVATE KEY-----\n"
FILES = {"ca": CERTIFICATE, "certificate": CERTIFICATE, "key": KEY, "password": b"secret\n", "empty": b"\n"}


def read_file(path: str) -> bytes:
    if path not in FILES:
        raise FileNotFoundError(2, "No such file or directory")
    return FILES[path]


class TestNodeOptions:
    def test_options_and_environment_become_the_settings_of_a_process(self) -> None:
        environment = {"ACKLOG_RACK": "b7", "ACKLOG_LISTEN": "0.0.0.0:7000", "ACKLOG_NODE_READ_AHEAD_BYTES": "1"}
        loaded = NODE.load(environment, ["--id", "3", "--advertise", "n3:7000", "--etcd", "e1:2379,e2:2379"])
        options = loaded.make(NodeOptions)
        settings = options.process_settings()
        assert (settings.node_id, settings.listen, settings.advertise, settings.rack) == (
            3,
            "0.0.0.0:7000",
            "n3:7000",
            "b7",
        )
        assert options.http_address == ("127.0.0.1", 7080)
        assert loaded.make(EtcdOptions).endpoints() == ("e1:2379", "e2:2379")

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ([], r"no id: .*\(--id, ACKLOG_ID\)"),
            (["--id", "0"], "--id is 0, it may be 1 to 1000000"),
            (["--id", "one"], "--id is 'one', it must be a whole number"),
            (["--id", "1000001"], "--id is 1000001, it may be 1 to 1000000"),
            (["--id", "1", "--listen", "here"], r"listen is 'here', it must be host:port.*\(--listen\)"),
            (["--id", "1", "--listen", "here:99999"], "listen is 'here:99999'"),
            (["--id", "1", "--http", ""], "http is ''"),
            (["--id", "1", "--listen", "0.0.0.0:7000"], r"no address that others could reach.*--advertise"),
            (["--id", "1", "--listen", "[::]:7000"], "no address that others could reach"),
            (["--id", "1", "--advertise", "0.0.0.0:7000"], "advertise is '0.0.0.0:7000', others need"),
            (["--id", "1", "--advertise", "me:0"], "advertise is 'me:0', others need"),
            (["--id", "1", "--rack", "r" * 101], "rack is .*100 printable"),
            (["--id", "1", "--rack", "r\n"], "rack is"),
            (["--id", "1", "--data-dir", " "], "data_dir is empty"),
            (["--id", "1", "--log-level", "loud"], "log_level is 'loud'"),
            (["--id", "1", "--leave-timeout-ms", "-1"], "--leave-timeout-ms is -1"),
        ],
    )
    def test_what_cannot_be_is_named(self, arguments: list[str], says: str) -> None:
        with pytest.raises(SettingsError, match=says):
            NODE.load({}, arguments).make(NodeOptions)

    def test_a_setting_of_another_command_is_noticed(self) -> None:
        assert NODE.load({"ACKLOG_PORT": "1"}).values == {}
        assert [each.name for each in unknown_variables({"ACKLOG_PORT": "1"}, NODE.variables())] == ["ACKLOG_PORT"]


class TestGatewayOptions:
    def test_in_a_cluster_nothing_is_created_by_a_typing_error(self) -> None:
        settings = GATEWAY.load({}, []).make(Settings)
        assert (settings.auto_create_topics, settings.auto_create_groups) == (False, False)
        asked = GATEWAY.load({"ACKLOG_AUTO_CREATE_TOPICS": "true"}, ["--auto-create-groups"]).make(Settings)
        assert (asked.auto_create_topics, asked.auto_create_groups) == (True, True)

    def test_it_has_no_data_directory(self) -> None:
        [unknown] = unknown_variables({"ACKLOG_DATA_DIR": "x"}, GATEWAY.variables())
        assert unknown.name == "ACKLOG_DATA_DIR"
        assert "--data-dir" not in GATEWAY.parser().format_help()

    def test_the_help_tells_its_own_defaults(self) -> None:
        text = " ".join(GATEWAY.parser().format_help().split())
        assert "a send to an unknown topic creates it (default: false)" in text


class TestEtcdOptions:
    def test_endpoints_with_and_without_a_scheme(self) -> None:
        options = EtcdOptions(etcd=" http://10.0.0.1:2379/, 10.0.0.2:2379 ,")
        assert options.endpoints() == ("10.0.0.1:2379", "10.0.0.2:2379")
        assert options.settings(read_file).tls is None

    def test_user_and_certificates_are_read_from_files(self) -> None:
        options = EtcdOptions(
            etcd="https://e:2379",
            etcd_ca_file="ca",
            etcd_certificate_file="certificate",
            etcd_key_file="key",
            etcd_server_name="etcd",
            etcd_user="acklog",
            etcd_password_file="password",
        )
        settings = options.settings(read_file)
        assert settings.endpoints == ("e:2379",)
        assert settings.user == EtcdUser("acklog", "secret")
        assert settings.tls == EtcdTls(CERTIFICATE, CERTIFICATE, KEY, "etcd")
        assert "secret" not in repr(settings)

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"etcd": ""}, r"etcd is '': endpoints: give at least one.*\(--etcd, ACKLOG_ETCD\)"),
            ({"etcd": "e"}, "must be host:port"),
            ({"etcd": "ftp://e:1"}, "must be host:port"),
            ({"etcd": "e:1,e:1"}, "given twice"),
            ({"etcd": "https://e:1,http://f:1", "etcd_ca_file": "ca"}, "all endpoints have to be http, or all https"),
            ({"etcd": "https://e:1"}, r"etcd_ca_file is needed \(--etcd-ca-file, ACKLOG_ETCD_CA_FILE\)"),
            ({"etcd_ca_file": "ca"}, "need endpoints with https"),
            ({"etcd_user": "u"}, "etcd_user and etcd_password_file go together"),
            ({"etcd_password_file": "password"}, "etcd_user and etcd_password_file go together"),
            ({"etcd_certificate_file": "certificate"}, "etcd_certificate_file and etcd_key_file go together"),
            ({"etcd_wait_ms": -1}, "etcd_wait_ms is -1"),
        ],
    )
    def test_what_does_not_fit_together_is_named(self, given: dict[str, object], says: str) -> None:
        with pytest.raises(SettingsError, match=says):
            EtcdOptions(**given)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"etcd_user": "u", "etcd_password_file": "none"}, "etcd_password_file: none cannot be read: No such file"),
            ({"etcd_user": "u", "etcd_password_file": "empty"}, "etcd_password_file: empty is empty"),
            ({"etcd": "https://e:1", "etcd_ca_file": "none"}, "etcd_ca_file: none cannot be read"),
            ({"etcd": "https://e:1", "etcd_ca_file": "key"}, "etcd_ca_file: key holds no certificate in PEM"),
            (
                {
                    "etcd": "https://e:1",
                    "etcd_ca_file": "ca",
                    "etcd_certificate_file": "certificate",
                    "etcd_key_file": "ca",
                },
                "etcd_key_file: ca holds no private key in PEM",
            ),
        ],
    )
    def test_files_that_cannot_be_right(self, given: dict[str, str], says: str) -> None:
        with pytest.raises(SettingsError, match=says):
            EtcdOptions(**given).settings(read_file)  # type: ignore[arg-type]

    async def test_an_etcd_that_is_not_there_is_named(self) -> None:
        options = EtcdOptions(etcd="http://127.0.0.1:1", etcd_wait_ms=0)
        calls: list[str] = []
        with pytest.raises(EtcdStartError, match=r"cannot be reached at http://127\.0\.0\.1:1.*is --etcd right"):
            await connect_to_etcd(
                options,
                None,
                clock=_RunningClock(),
                entropy=CountingEntropy(),
                on_call=lambda method, _seconds: calls.append(method),
            )
        assert calls == ["Range"]


class _RunningClock(ManualClock):
    """A clock that a wait moves, so that no test has to."""

    async def sleep(self, duration_ms: float) -> None:
        await self.advance_ms(int(duration_ms) + 1)


class _WithoutGrpc:
    """As on a machine without the extra."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "grpc":
            raise ModuleNotFoundError("No module named 'grpc'", name="grpc")


class TestCommands:
    @pytest.fixture
    def command(self) -> typer.Typer:
        command = typer.Typer()
        register(command)
        return command

    @pytest.mark.parametrize(
        ("arguments", "code", "says"),
        [
            (["node"], 2, "acklog: the node has no id"),
            (["node", "--id", "1", "--etcd", "https://e:1"], 2, "acklog: etcd is reached by https"),
            (["node", "--id", "1", "--http", "192.0.2.1:1"], 2, "acklog: Cannot listen on 192.0.2.1:1"),
            (["gateway", "--host", "0.0.0.0"], 2, "acklog: --host 0.0.0.0 is reachable from other machines"),
            (["gateway", "--etcd", "x"], 2, "acklog: etcd is 'x'"),
        ],
    )
    def test_mistakes_are_one_line_each(
        self, command: typer.Typer, arguments: list[str], code: int, says: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("ACKLOG_ETCD", raising=False)
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == code
        assert result.stderr.startswith(says)
        assert result.stderr.count("\n") == 1

    @pytest.mark.parametrize(("name", "option"), [("node", "--advertise"), ("gateway", "--tokens-file")])
    def test_help_tells_every_option(self, command: typer.Typer, name: str, option: str) -> None:
        result = CliRunner().invoke(command, [name, "--help"])
        assert result.exit_code == 0
        assert option in result.stdout
        assert "--etcd-ca-file" in result.stdout

    @pytest.mark.parametrize("arguments", [["node", "--id", "1"], ["gateway"]])
    def test_what_is_not_installed_is_named(
        self, command: typer.Typer, arguments: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in [name for name in sys.modules if name == "grpc" or name.startswith(("grpc.", "cluster.etcd."))]:
            monkeypatch.delitem(sys.modules, name)
        for name in ("app.processes.etcd_connection", "app.processes.node_process", "app.processes.gateway_process"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setattr(sys, "meta_path", [_WithoutGrpc(), *sys.meta_path])
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 1
        assert result.stderr == (
            'acklog: grpc is not installed, which a cluster needs: pip install "acklog-server[cluster]"\n'
        )

    def test_a_data_directory_in_use_is_told(self, command: typer.Typer, tmp_path: Path) -> None:
        from storage.disk.real_disk import RealDisk

        disk = RealDisk(str(tmp_path))
        disk.lock("lock")
        arguments = ["node", "--id", "1", "--http", "127.0.0.1:0", "--data-dir", str(tmp_path)]
        result = CliRunner().invoke(command, arguments)
        assert result.exit_code == 1
        assert result.stderr == (
            f"acklog: Another process uses the data directory {tmp_path}. Stop it, or give another --data-dir.\n"
        )
