"""Master keys are named by settings, which hold none."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.configuration.configured_process import configure
from app.configuration.master_key_options import MasterKeyOptions
from app.configuration.setting_error import SettingsError
from app.processes.master_keys import load_master_keys, master_keys_of, tell_of_readable_keys
from tests.sim.environment import SimEntropy

KEY, OTHER = "ab" * 32, "cd" * 32


def load(options: MasterKeyOptions, **environment: str) -> tuple[str, ...]:
    return load_master_keys(options, environment, SimEntropy(1)).ids


def test_a_key_comes_from_a_file_a_variable_or_a_program(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(0o600)
    assert load(MasterKeyOptions()) == ()
    by_file = load(MasterKeyOptions(master_key_file=str(file)))
    assert by_file == load(MasterKeyOptions(master_key_variable="K"), K=KEY)
    assert load(MasterKeyOptions(master_key_command="kms --key 1")) == ("command:command",)
    both = MasterKeyOptions(master_key_variable="K", previous_master_key_file=str(file))
    assert load(both, K=OTHER)[1:] == by_file


@pytest.mark.parametrize(("mode", "is_refused"), [(0o600, False), (0o644, False), (0o620, True), (0o602, True)])
def test_a_file_that_others_may_write_is_refused(tmp_path: Path, mode: int, is_refused: bool) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(mode)
    options = MasterKeyOptions(master_key_file=str(file))
    if not is_refused:
        assert load(options)
        return
    with pytest.raises(SettingsError, match="may be written by others") as refused:
        load(options)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(("mode", "told"), [(0o600, 0), (0o640, 0), (0o644, 1)])
def test_a_file_that_all_may_read_is_told(tmp_path: Path, mode: int, told: int) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(mode)
    with capture_logs() as lines:
        arguments = ["--master-key-file", str(file)]
        tell_of_readable_keys(configure("serve", {}, arguments, read_file=lambda _: b"", exists=lambda _: False))
    assert [line["event"] for line in lines] == ["master_key_readable_by_all"] * told


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"master_key_file": "a", "master_key_variable": "B"},
            "master_key_file and master_key_variable are both given",
        ),
        ({"previous_master_key_file": "a"}, "no master key that takes its place"),
        (
            {
                "master_key_command": "a",
                "previous_master_key_command": "b",
                "master_key_name": "x",
                "previous_master_key_name": "x",
            },
            "are both 'x'",
        ),
    ],
)
def test_what_does_not_go_together_is_named(given: dict[str, str], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        MasterKeyOptions(**given)


def test_what_is_no_key_is_named_and_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("my secret phrase")
    for options, environment, says in (
        (MasterKeyOptions(master_key_file=str(file)), {}, "holds no master key"),
        (MasterKeyOptions(master_key_file=str(tmp_path / "none")), {}, "cannot be read: No such file"),
        (MasterKeyOptions(master_key_variable="K"), {}, "no environment variable K"),
        (MasterKeyOptions(master_key_variable="K"), {"K": "my secret phrase"}, "K holds no master key"),
        (MasterKeyOptions(master_key_command="'"), {}, "master_key_command: No closing quotation"),
        (
            MasterKeyOptions(master_key_variable="K", previous_master_key_variable="L"),
            {"K": KEY, "L": KEY.upper()},
            "are the same key",
        ),
    ):
        with pytest.raises(SettingsError, match=says) as refused:
            load_master_keys(options, environment, SimEntropy(1))
        assert "secret phrase" not in str(refused.value)
        assert KEY not in str(refused.value)


def test_topics_are_not_encrypted_by_default_without_a_key() -> None:
    process = configure("serve", {}, ["--encrypt-topics"], read_file=lambda _: b"", exists=lambda _: False)
    with pytest.raises(SettingsError, match="encrypt_topics is on, and there is no master key"):
        master_keys_of(process, SimEntropy(1))
