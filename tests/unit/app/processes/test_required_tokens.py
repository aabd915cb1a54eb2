"""Who asks for tokens: the settings say, and nobody else."""

from pathlib import Path

import pytest

from app.configuration.server_settings import Settings
from app.configuration.setting_error import SettingsError
from app.processes.exposure import check_exposure
from app.processes.required_tokens import asks_for_tokens, tokens_of


def test_without_file_and_wish_nobody_is_asked() -> None:
    assert tokens_of(Settings()) is None
    assert not asks_for_tokens(Settings())
    with pytest.raises(SettingsError, match="--require-tokens"):
        check_exposure(Settings(host="0.0.0.0"))


def test_a_wish_alone_is_a_table_without_tokens() -> None:
    settings = Settings(require_tokens=True, host="0.0.0.0")
    table = tokens_of(settings)
    assert table is not None
    assert len(table) == 0
    check_exposure(settings)


def test_a_file_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text('{"tokens": []}')
    table = tokens_of(Settings(tokens_file=str(path)))
    assert table is not None
    assert len(table) == 0
