"""A second look at a process's configuration: what it changes, what waits for a restart, what is refused."""

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import structlog
from structlog.testing import capture_logs

from app.auth.tokens import TokenTable, parse_token_table
from app.configuration.configured_process import PROCESSES, ConfiguredProcess, configure
from app.configuration.reloading import LIVE
from app.configuration.server_settings import Settings
from app.processes.in_force import InForce
from app.processes.reloads import Reloads

_Result = TypeVar("_Result")
FILE = "acklog.toml"


async def in_thread(function: Callable[[], _Result]) -> _Result:
    await asyncio.sleep(0)
    return function()


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A reload may set the log's level."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


class Running:
    """A process and the file that it is told by."""

    def __init__(self, table: str, content: str, *arguments: str, tokens: TokenTable | None = None) -> None:
        self.files = {FILE: content.encode()}
        self.reads = 0
        self.process: ConfiguredProcess = configure(
            table, {}, arguments, read_file=self._read, exists=self.files.__contains__
        )
        self.settings = self.process.loaded.make(Settings) if table != "node" else None
        self.tokens = tokens
        self.reloads = Reloads(InForce(self.process, settings=self.settings, tokens=tokens), in_thread=in_thread)

    def _read(self, path: str) -> bytes:
        self.reads += 1
        if path not in self.files:
            raise FileNotFoundError(2, "No such file or directory")
        return self.files[path]

    async def reload(self, content: str) -> list[Any]:
        """The lines of the log."""
        self.files[FILE] = content.encode()
        with capture_logs() as lines:
            await self.reloads.reload()
        return lines


def test_what_can_change_are_settings_of_some_process() -> None:
    assert {name for sources in PROCESSES.values() for name in sources.known()} >= LIVE


async def test_a_setting_changes_and_comes_back_to_its_default() -> None:
    server = Running("serve", "")
    assert server.settings is not None
    [line] = await server.reload("[serve]\npartitions_default = 3\n")
    assert (line["event"], line["changed"]) == ("reloaded", {"partitions_default": [8, 3]})
    assert server.settings.partitions_default == 3
    [line] = await server.reload("")
    assert line["changed"] == {"partitions_default": [3, 8]}
    assert server.settings.partitions_default == 8
    [line] = await server.reload("")
    assert line["changed"] == {}


async def test_an_option_of_the_start_still_wins() -> None:
    server = Running("gateway", "", "--partitions-default", "5")
    assert server.settings is not None
    [line] = await server.reload("[gateway]\npartitions_default = 3\n")
    assert (line["changed"], server.settings.partitions_default) == ({}, 5)


async def test_what_needs_a_restart_is_said_each_time_until_it_is_so() -> None:
    node = Running("node", "[node]\nid = 1\n")
    changed = "[node]\nid = 2\nlog_level = 'debug'\n[storage]\nread_ahead_bytes = 4096\n"
    for _ in range(2):
        lines = await node.reload(changed)
        assert lines[-1]["event"] == "reload_needs_restart"
        assert lines[-1]["settings"] == ["node.id", "storage.read_ahead_bytes"]
    assert lines[0]["changed"] == {}
    assert [line["event"] for line in await node.reload("[node]\nid = 1\nlog_level = 'debug'\n")] == ["reloaded"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[serve", "is no TOML"),
        ("[serve]\npartitions_default = 0\n", "it may be 1 to 1024"),
        ("[serve]\npartition_default = 3\n", "is partitions_default meant"),
        ("log_level = 'loud'\n", "log_level is 'loud'"),
        ("[serve]\ntokens_file = 'elsewhere'\nurl_bytes_max = 300", "cannot be read"),
        ("[serve]\nurl_bytes_max = 300", "tokens_file is gone"),
    ],
)
async def test_what_cannot_be_used_changes_nothing_at_all(content: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(token_file("one"))
    tokens = TokenTable.load(str(path))
    server = Running("serve", f"[serve]\ntokens_file = '{path}'\n", tokens=tokens)
    before = server.settings
    path.write_text(token_file("two"))
    [line] = await server.reload(content)
    assert (line["event"], line["log_level"]) == ("reload_refused", "error")
    assert says in line["reason"]
    assert (server.settings, tokens.names()) == (before, {"one"})


def token_file(*names: str) -> str:
    entries = [f'{{"name": "{name}", "token": "{name}-0123456789abcdef", "scopes": ["read"]}}' for name in names]
    return f'{{"tokens": [{", ".join(entries)}]}}'


async def test_a_server_of_stored_tokens_lets_go_of_its_file(tmp_path: Path) -> None:
    """It goes on asking for tokens: of the file's there are none any more."""
    path = tmp_path / "tokens.json"
    path.write_text(token_file("one"))
    tokens = TokenTable.load(str(path))
    content = "[serve]\nrequire_tokens = true\n"
    server = Running("serve", f"{content}tokens_file = '{path}'\n", tokens=tokens)
    [line] = await server.reload(content)
    assert (line["tokens"], line["names_removed"]) == (0, ["one"])
    assert len(tokens) == 0


async def test_tokens_are_read_again_also_from_another_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(token_file("one", "both"))
    second.write_text(token_file("two", "both"))
    tokens = TokenTable.load(str(first))
    server = Running("serve", f"[serve]\ntokens_file = '{first}'\n", tokens=tokens)
    [line] = await server.reload(f"[serve]\ntokens_file = '{first}'\n")
    assert "tokens" not in line, "nothing has changed"
    [line] = await server.reload(f"[serve]\ntokens_file = '{second}'\n")
    assert (line["tokens"], line["names_added"], line["names_removed"]) == (2, ["two"], ["one"])
    found = tokens.find("two-0123456789abcdef")
    assert found is not None
    assert found.name == "two"


async def test_access_keys_are_read_again_and_no_line_shows_a_secret(tmp_path: Path) -> None:
    def write(*ids: str) -> None:
        keys = ", ".join(f'{{"id": "{each}", "secret": "of-{each}-0123"}}' for each in ids)
        path.write_text(f'{{"tokens": [{{"name": "one", "roles": ["viewer"], "accessKeys": [{keys}]}}]}}')

    path = tmp_path / "tokens.json"
    earlier, later = "AKIDEXAMPLE00000", "AKIDEXAMPLE00001"
    write(earlier)
    path.chmod(0o600)
    tokens = TokenTable.load(str(path))
    content = f"[serve]\ntokens_file = '{path}'\n"
    server = Running("serve", content, tokens=tokens)
    write(earlier, later)
    lines = await server.reload(content)
    assert None not in (tokens.access_key(earlier), tokens.access_key(later))
    write(later)
    lines += await server.reload(content)
    assert (tokens.access_key(earlier), tokens.access_key(later) is None) == (None, False)
    path.chmod(0o644)
    write(earlier)
    [refused] = await server.reload(content)
    assert "others may read or change it" in refused["reason"]
    assert tokens.access_key(earlier) is None
    assert "0123" not in repr([*lines, refused])


async def test_a_server_that_is_open_to_everybody_is_closed_by_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(token_file("one"))
    server = Running("serve", "")
    lines = await server.reload(f"[serve]\ntokens_file = '{path}'\n")
    assert lines[-1]["settings"] == ["serve.tokens_file"]
    assert server.settings is not None
    assert server.settings.tokens_file == ""


async def test_many_signals_are_one_reload_behind_the_one_under_way() -> None:
    server = Running("serve", "")
    before = server.reads
    for _ in range(10):
        server.reloads.ask()
    await asyncio.sleep(0)
    for _ in range(10):
        server.reloads.ask()
    while (await asyncio.sleep(0)) or server.reloads.is_under_way:
        pass
    assert server.reads - before == 2


async def test_a_reload_that_waits_is_told() -> None:
    """A file on a network may be there and not answer: who sends a signal is told what has become of it."""
    server = Running("serve", "")
    with capture_logs() as lines:
        server.reloads.ask()
        await asyncio.sleep(0)
        assert lines == []
        server.reloads.ask()
        server.reloads.ask()
    assert [(line["event"], line["log_level"]) for line in lines] == [("reload_waits", "warning")]
    while (await asyncio.sleep(0)) or server.reloads.is_under_way:
        pass


@pytest.mark.timeout(20)
async def test_a_tokens_file_that_is_a_pipe_holds_up_no_reload(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(token_file("one"))
    tokens = TokenTable.load(str(path))
    content = f"[serve]\ntokens_file = '{path}'\n"
    server = Running("serve", content, tokens=tokens)
    path.unlink()
    os.mkfifo(path)
    [line] = await server.reload(content)
    assert line["event"] == "reload_refused"
    assert "it is no regular file" in line["reason"]
    assert tokens.names() == {"one"}
    path.unlink()
    path.write_text(token_file("two"))
    [line] = await server.reload(content)
    assert line["names_added"] == ["two"]


def test_a_table_adopts_another_one() -> None:
    table = parse_token_table(token_file("one").encode())
    other = parse_token_table(token_file("one").encode())
    assert table.is_same_as(other)
    table.adopt(parse_token_table(token_file("two").encode()))
    assert not table.is_same_as(other)
    assert table.names() == {"two"}
