import pytest

from app.configuration.server_settings import Settings, option_parser
from app.configuration.setting_error import SettingsError


def test_defaults_environment_and_options_in_this_order() -> None:
    environment = {"ACKLOG_PORT": "9000", "ACKLOG_HOST": "::1", "PATH": "/bin", "ACKLOG_NODE_ANYTHING": "5"}
    settings = Settings.load(environment, ["--port", "9001", "--auto-create-topics", "false", "--insecure"])
    assert (settings.port, settings.host, settings.auto_create_topics) == (9001, "::1", False)
    assert settings.insecure is True
    assert settings.auto_create_groups is True


@pytest.mark.parametrize(
    ("environment", "arguments", "says"),
    [
        ({"ACKLOG_PORT": "many"}, [], "ACKLOG_PORT"),
        ({"ACKLOG_PORT": "65536"}, [], "0 to 65535"),
        ({}, ["--port", "-1"], "--port"),
        ({}, ["--auto-create-topics", "perhaps"], "true or false"),
        ({}, ["--log-level", "loud"], "log_level"),
        ({}, ["--audit", "sometimes"], "audit"),
        ({"ACKLOG_AUDIT_TIMEOUT_MS": "9"}, [], "10 to 600000"),
        ({}, ["--data-dir", ""], "--data-dir"),
        ({"ACKLOG_DATA_DIR": " "}, [], "ACKLOG_DATA_DIR"),
        ({"ACKLOG_HOST": "::1\n"}, [], "ACKLOG_HOST is '::1.n', it may have no line ends"),
        ({}, ["--rack", "a\x1bb"], "--rack is 'a.x1bb', it may have"),
    ],
)
def test_a_wrong_setting_is_named(environment: dict[str, str], arguments: list[str], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        Settings.load(environment, arguments)


def test_wrong_types_in_code_are_found_as_well() -> None:
    with pytest.raises(SettingsError, match="port"):
        Settings(port="80")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="port"):
        Settings(port=True)
    with pytest.raises(SettingsError, match="data_dir"):
        Settings(data_dir="a\0b")


def test_everything_can_be_printed_and_has_an_option() -> None:
    described = Settings().describe()
    text = option_parser().format_help()
    for name in described:
        assert "--" + name.replace("_", "-") in text
