import pytest

from app.configuration.environment_variables import UnknownVariable, is_foreign, unknown_variables
from app.configuration.gateway_options import GATEWAY
from app.configuration.node_options import NODE, NodeOptions
from app.configuration.node_settings import load_node_settings, node_variables
from app.configuration.server_settings import SERVE, Settings
from app.configuration.setting_error import SettingsError
from app.processes.logging import log_configuration
from storage.compaction.compaction_settings import CompactionSettings

# What a container gets where there are Services named acklog, acklog-node and acklog-data (with named ports).
OF_KUBERNETES = {
    "ACKLOG_SERVICE_HOST": "10.96.7.1",
    "ACKLOG_SERVICE_PORT": "8080",
    "ACKLOG_SERVICE_PORT_HTTP": "8080",
    "ACKLOG_PORT": "tcp://10.96.7.1:8080",
    "ACKLOG_PORT_8080_TCP": "tcp://10.96.7.1:8080",
    "ACKLOG_PORT_8080_TCP_PROTO": "tcp",
    "ACKLOG_PORT_8080_TCP_PORT": "8080",
    "ACKLOG_PORT_8080_TCP_ADDR": "10.96.7.1",
    "ACKLOG_NODE_PORT": "tcp://10.96.7.2:7000",
    "ACKLOG_NODE_SERVICE_HOST": "10.96.7.2",
    "ACKLOG_NODE_SERVICE_PORT_RPC": "7000",
    "ACKLOG_NODE_PORT_7000_TCP_ADDR": "10.96.7.2",
    "ACKLOG_DATA_PORT": "udp://[fd00::1]:53",
}
OF_CLIENTS = {"ACKLOG_URL": "http://acklog:8080", "ACKLOG_TOKEN": "secret", "ACKLOG_PROFILE": "here"}


def test_what_others_have_set_changes_nothing_and_is_not_worth_a_word() -> None:
    environment = {**OF_KUBERNETES, **OF_CLIENTS}
    assert Settings.load(environment) == Settings()
    assert NODE.load(environment, ["--id", "1"]).make(NodeOptions) == NodeOptions(id=1)
    assert GATEWAY.load(environment).values == GATEWAY.load({}).values
    assert load_node_settings(environment) == load_node_settings({})
    for sources in (SERVE, NODE, GATEWAY):
        assert unknown_variables(environment, [*sources.variables(), *node_variables()]) == []


def test_a_setting_that_only_looks_like_a_services_is_one() -> None:
    assert Settings.load({"ACKLOG_PORT": "9000"}).port == 9000
    with pytest.raises(SettingsError, match=r"ACKLOG_PORT is '10\.0\.0\.1:80', it must be a whole number"):
        Settings.load({"ACKLOG_PORT": "10.0.0.1:80"})
    assert not is_foreign("ACKLOG_HOST", "tcp://10.0.0.1:80")


@pytest.mark.parametrize(
    ("variable", "near"),
    [
        ("ACKLOG_PROT", "ACKLOG_PORT"),
        ("ACKLOG_TOKEN_FILE", "ACKLOG_TOKENS_FILE"),
        ("ACKLOG_DATADIR", "ACKLOG_DATA_DIR"),
        ("ACKLOG_NODE_READ_AHEAD", "ACKLOG_NODE_READ_AHEAD_BYTES"),
        ("ACKLOG_ANSWER_TO_EVERYTHING", ""),
    ],
)
def test_a_variable_that_is_no_setting_is_named_with_what_was_meant(variable: str, near: str) -> None:
    environment = {variable: "1", "ACKLOG_HOST": "::1", "PATH": "/bin"}
    assert Settings.load(environment).host == "::1"
    load_node_settings(environment)
    assert unknown_variables(environment, [*SERVE.variables(), *node_variables()]) == [UnknownVariable(variable, near)]


def test_compaction_is_set_by_names_of_its_own() -> None:
    environment = {
        "ACKLOG_NODE_COMPACTION_BYTES_PER_SECOND": "1000000",
        "ACKLOG_NODE_COMPACTION_DIRTY_RATIO_MIN": "0.25",
        "ACKLOG_NODE_RETENTION_INTERVAL_MS": "7000",
    }
    found = load_node_settings(environment)
    assert found.compaction == CompactionSettings(bytes_per_second=1_000_000, dirty_ratio_min=0.25)
    assert found.retention_interval_ms == 7000
    assert set(environment) <= set(node_variables())


@pytest.mark.parametrize(
    ("variable", "value", "text"),
    [
        ("ACKLOG_NODE_COMPACTION_BYTES_PER_SECOND", "1.5", "it must be a whole number"),
        ("ACKLOG_NODE_COMPACTION_DIRTY_RATIO_MIN", "half", "it must be a number"),
        ("ACKLOG_NODE_COMPACTION_DIRTY_RATIO_MIN", "-0.1", "it must not be negative"),
        ("ACKLOG_NODE_COMPACTION_DIRTY_RATIO_MIN", "nan", "it must not be negative"),
        ("ACKLOG_NODE_COMPACTION_DIRTY_RATIO_MIN", "1.1", "dirty_ratio_min is from 0 to 1"),
        ("ACKLOG_NODE_COMPACTION_STEP_BYTES", "0", "sizes of compaction must be positive"),
    ],
)
def test_a_wrong_setting_of_compaction_is_named(variable: str, value: str, text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        load_node_settings({variable: value})


def test_its_value_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    log_configuration(None, unknown_variables({"ACKLOG_TOKN": "secret"}, SERVE.variables()))
    told = "".join(capsys.readouterr())
    assert "ACKLOG_TOKN" in told
    assert "secret" not in told
