"""Tokens that are renewed while a client lives."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import acklog
from acklog.client.renewed_token import (
    TOKEN_FILE_BYTES_MAX,
    TOKEN_INTERVAL_MS,
    RenewedToken,
    renewed_token,
    token_in_file,
)
from acklog.errors import InvalidArgument


class World:
    """A clock, and a place where tokens come from."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.token: str | Exception = "first"
        self.looks = 0
        self.renewed = RenewedToken(self.find, now_ms=lambda: self.now_ms)

    def find(self) -> str:
        self.looks += 1
        if isinstance(self.token, Exception):
            raise self.token
        return self.token


def test_it_is_looked_for_once_a_second_at_most() -> None:
    world = World()
    assert world.renewed.bearer() == "Bearer first"
    world.token = "second"
    world.now_ms = TOKEN_INTERVAL_MS - 1
    assert (world.renewed.bearer(), world.looks) == ("Bearer first", 1)
    world.now_ms = TOKEN_INTERVAL_MS
    assert (world.renewed.bearer(), world.looks) == ("Bearer second", 2)
    for _ in range(100):
        world.renewed.bearer()
    assert world.looks == 2


@pytest.mark.parametrize("fault", [OSError("gone"), RuntimeError("the provider is away"), "", "two words", "ä"])
def test_one_that_cannot_be_renewed_stays(fault: Exception | str, caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.renewed.bearer()
    world.token = fault
    with caplog.at_level(logging.WARNING, "acklog.client"):
        for _ in range(5):
            world.now_ms += TOKEN_INTERVAL_MS
            assert world.renewed.bearer() == "Bearer first"
    assert len(caplog.records) == 1, "it is said once"
    world.token = "second"
    world.now_ms += TOKEN_INTERVAL_MS
    assert world.renewed.bearer() == "Bearer second"


@pytest.mark.parametrize("fault", [RuntimeError("the provider is away"), "", "two words"])
def test_without_a_first_one_there_is_no_call(fault: Exception | str) -> None:
    world = World()
    world.token = fault
    with pytest.raises(InvalidArgument) as refused:
        world.renewed.bearer()
    assert refused.value.field == "token"
    world.token = "first"
    assert world.renewed.bearer() == "Bearer first", "as soon as there is one"


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(" first\n")
    assert token_in_file(str(file)) == "first"
    file.write_text("x" * TOKEN_FILE_BYTES_MAX)
    assert len(token_in_file(str(file))) == TOKEN_FILE_BYTES_MAX
    for content in ("x" * (TOKEN_FILE_BYTES_MAX + 1), "", "two words"):
        file.write_text(content)
        with pytest.raises(InvalidArgument):
            renewed_token(None, str(file), now_ms=lambda: 0)
    with pytest.raises(InvalidArgument, match="cannot be read") as refused:
        renewed_token(None, str(tmp_path / "none"), now_ms=lambda: 0)
    assert refused.value.field == "token_file"


@pytest.mark.parametrize("token", ["a token", lambda: "a-token"])
def test_there_is_one_place_for_it(token: str | Callable[[], str], tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    with pytest.raises(InvalidArgument, match="two places"):
        acklog.Client("http://127.0.0.1:1", token=token, token_file=str(file))


def test_one_that_is_given_as_it_is_stays() -> None:
    assert renewed_token("fixed", None, now_ms=lambda: 0) is None
    assert renewed_token(None, None, now_ms=lambda: 0) is None
