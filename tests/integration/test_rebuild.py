"""`acklog rebuild`: a server whose file with topics and groups is lost or damaged, and the way back."""

import asyncio
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from cluster.ports.coordination import CoordinationError
from storage.log.data_directory import DataDirectoryError
from storage.node.partition.node_settings import NodeSettings
from tests.support.command_run import CommandRun, run_command
from tests.support.server_in_process import ServerInProcess, served

pytestmark = pytest.mark.integration

_Result = TypeVar("_Result")
FILE = "coordination.sqlite"
COPY = "coordination-copy.sqlite"


def on(directory: Path, work: Callable[[ServerInProcess], Awaitable[_Result]]) -> _Result:
    async def main() -> _Result:
        async with served(directory, NodeSettings()) as server:
            return await work(server)

    return asyncio.run(main())


async def send(server: ServerInProcess, queue: str, body: str) -> int:
    status, answer = await server.request("POST", "/messages", {"queue": queue, "body": body, "partition": 1})
    assert status == 201, answer
    return int(answer["offset"])


async def receive(server: ServerInProcess, queue: str) -> list[str]:
    """Everything that waits for the group, acknowledged."""
    status, answer = await server.request("GET", f"/messages?queue={queue}&group=workers&max=100")
    assert status == 200, answer
    receipts = [message["receipt"] for message in answer["messages"]]
    if receipts:
        assert (await server.request("POST", "/ack", {"receipts": receipts}))[0] == 200
    return [message["body"] for message in answer["messages"]]


async def fill(server: ServerInProcess) -> None:
    for topic in ("orders", "deleted"):
        assert (await server.request("PUT", f"/topics/{topic}", {"partitions": 3}))[0] == 201
        for number in range(4):
            assert await send(server, topic, f"{topic} {number}") == number
    assert len(await receive(server, "orders")) == 4
    assert await send(server, "orders", "left") == 4
    assert (await server.request("DELETE", "/topics/deleted"))[0] == 204


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    on(tmp_path / "data", fill)
    return tmp_path / "data"


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    async def work(server: ServerInProcess) -> None:
        await fill(server)
        await asyncio.to_thread(wait_for_copy, server.directory)
        server.killed_copy(tmp_path / "killed")

    on(tmp_path / "data", work)
    return tmp_path / "killed"


def wait_for_copy(directory: Path) -> None:
    from cluster.stores.sqlite_copy import read_copy
    from tests.support.waiting import wait_until

    def has_tombstone() -> bool:
        content = read_copy(str(directory / COPY))
        return content is not None and any("tombstones" in item.key for item in content.items)

    wait_until(has_tombstone, seconds=20, what="the copy to follow")


def rebuild(directory: Path) -> CommandRun:
    return run_command("rebuild", str(directory), "--json")


def remove(directory: Path) -> None:
    for name in (FILE, f"{FILE}-wal"):
        (directory / name).unlink(missing_ok=True)


def flip_a_topic(directory: Path) -> None:
    with closing(sqlite3.connect(directory / FILE)) as connection:
        connection.execute("UPDATE items SET value = x'7b', checksum = 1 WHERE key = '/acklog/topics/orders'")
        connection.commit()


def overwrite(directory: Path) -> None:
    (directory / FILE).write_bytes(b"\0" * 9000)


def lose_the_log(directory: Path) -> None:
    (directory / f"{FILE}-wal").unlink()


def lose_the_reach(directory: Path) -> None:
    (directory / f"{FILE}.reach").unlink()


def empty_the_reach(directory: Path) -> None:
    (directory / f"{FILE}.reach").write_bytes(b"")


def zero_the_reach(directory: Path) -> None:
    (directory / f"{FILE}.reach").write_bytes(bytes(64))


def lose_log_and_reach(directory: Path) -> None:
    """What is left has never held anything, or is of an earlier start."""
    lose_the_log(directory)
    lose_the_reach(directory)


def cut_log_and_lose_reach(directory: Path) -> None:
    log = directory / f"{FILE}-wal"
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    lose_the_reach(directory)


def check_all_is_there(directory: Path) -> None:
    async def work(server: ServerInProcess) -> None:
        assert await receive(server, "orders") == ["left"]
        assert await send(server, "orders", "later") == 5
        assert await receive(server, "orders") == ["later"]
        assert (await server.request("GET", "/topics/deleted"))[0] == 404

    on(directory, work)


@pytest.mark.parametrize("damage", [remove, flip_a_topic, overwrite])
def test_after_an_orderly_stop(stopped: Path, damage: Callable[[Path], None]) -> None:
    check_refused_and_rebuilt(stopped, damage)


@pytest.mark.parametrize(
    "damage",
    [
        remove,
        lose_the_log,
        lose_the_reach,
        empty_the_reach,
        zero_the_reach,
        lose_log_and_reach,
        cut_log_and_lose_reach,
    ],
)
def test_after_a_kill(killed: Path, damage: Callable[[Path], None]) -> None:
    check_refused_and_rebuilt(killed, damage)


def names_in(directory: Path) -> list[str]:
    """SQLite moves what its write-ahead log has into the file when that is closed."""
    return sorted(path.name for path in directory.iterdir() if path.name != f"{FILE}-wal")


def check_refused_and_rebuilt(directory: Path, damage: Callable[[Path], None]) -> None:
    damage(directory)
    before = names_in(directory)
    with pytest.raises((DataDirectoryError, CoordinationError), match="acklog rebuild"):
        check_all_is_there(directory)
    assert names_in(directory) == before, "a refusal changes nothing"
    fsck = run_command("fsck", str(directory))
    assert fsck.exit_code == 1
    assert "acklog rebuild" in fsck.stdout
    result = rebuild(directory)
    assert result.exit_code == 0, result.stderr
    document = result.document
    assert [topic["topic"] for topic in document["topics"]] == ["orders"]
    assert [group["group"] for group in document["groups"]] == ["workers"]
    assert document["recovered"] == []
    for kept in document["damagedFilesKeptAs"]:
        assert (directory / kept).exists()
    assert run_command("fsck", str(directory)).exit_code == 0
    check_all_is_there(directory)
    check_is_sound(directory)


def check_is_sound(directory: Path) -> None:
    result = rebuild(directory)
    assert result.exit_code == 2
    assert "is sound" in result.stderr


def test_without_the_copy_the_messages_are_there_under_another_name(killed: Path) -> None:
    remove(killed)
    (killed / COPY).unlink()
    result = rebuild(killed)
    assert result.exit_code == 0, result.stderr
    names = [topic["topic"] for topic in result.document["topics"]]
    assert len(names) == len(result.document["recovered"]) >= 1

    async def work(server: ServerInProcess) -> None:
        bodies = {name: await receive(server, name) for name in names}
        assert ["orders 0", "orders 1", "orders 2", "orders 3", "left"] in bodies.values()
        for name, found in bodies.items():
            assert await send(server, name, "later") == len(found)

    on(killed, work)


def test_it_does_not_touch_what_is_not_its_own(stopped: Path, tmp_path: Path) -> None:
    async def while_it_runs(server: ServerInProcess) -> CommandRun:
        return await asyncio.to_thread(rebuild, server.directory)

    result = on(stopped, while_it_runs)
    assert (result.exit_code, "Stop the server first" in result.stderr) == (2, True)
    (stopped / "role.json").write_text('{"nodeId":1}')
    assert "in etcd" in rebuild(stopped).stderr
    (tmp_path / "other").mkdir()
    assert "not a data directory" in rebuild(tmp_path / "other").stderr
    shutil.rmtree(tmp_path / "other")


class TestAnEarlierFile:
    """Sound in itself, and put in the place of the newest one."""

    @pytest.fixture
    def lives(self, tmp_path: Path) -> tuple[Path, Path]:
        """(the directory after its first life, stopped in order; after its second one, which was killed)"""

        async def first(server: ServerInProcess) -> None:
            assert (await server.request("PUT", "/topics/letters", {"partitions": 3}))[0] == 201
            assert await send(server, "letters", "first") == 0

        async def second(server: ServerInProcess) -> None:
            assert await send(server, "letters", "second") == 1
            await fill(server)
            await asyncio.to_thread(wait_for_copy, server.directory)
            server.killed_copy(tmp_path / "killed")

        on(tmp_path / "data", first)
        shutil.copytree(tmp_path / "data", tmp_path / "first")
        on(tmp_path / "data", second)
        return tmp_path / "first", tmp_path / "killed"

    def put_back(self, first: Path, killed: Path, *names: str) -> None:
        for path in killed.glob("coordination*"):
            if path.name != COPY or COPY in names:
                path.unlink()
        for name in names:
            if (first / name).exists():
                shutil.copy(first / name, killed / name)

    @pytest.mark.parametrize(
        "names",
        [(FILE,), (FILE, f"{FILE}.reach"), (FILE, f"{FILE}.reach", COPY)],
        ids=["alone", "with its reach", "with its copy"],
    )
    def test_it_is_refused_and_rebuilt(self, lives: tuple[Path, Path], names: tuple[str, ...]) -> None:
        first, killed = lives
        self.put_back(first, killed, *names)
        for _ in range(2):
            with pytest.raises(CoordinationError, match="acklog rebuild"):
                check_all_is_there(killed)
        document = run_command("fsck", str(killed), "--json").document
        kinds = {finding["kind"] for finding in document["findings"] if finding["severity"] == "error"}
        assert kinds & {"COORDINATION_BEHIND", "COORDINATION_DAMAGED"}
        result = rebuild(killed)
        assert result.exit_code == 0, result.stderr
        assert run_command("fsck", str(killed)).exit_code == 0
        if COPY not in names:
            check_all_is_there(killed)
        else:
            assert result.document["recovered"], "of what was made later the names are lost"

        async def letters(server: ServerInProcess) -> None:
            assert await receive(server, "letters") == ["first", "second"]
            assert await send(server, "letters", "later") == 2

        on(killed, letters)

    def test_one_that_knows_less_epochs_than_the_log_is_refused(self, lives: tuple[Path, Path], tmp_path: Path) -> None:
        """Nothing but messages came since."""
        first, _ = lives

        async def second(server: ServerInProcess) -> None:
            assert await send(server, "letters", "second") == 1
            server.killed_copy(tmp_path / "later")

        on(Path(shutil.copytree(first, tmp_path / "second")), second)
        self.put_back(first, tmp_path / "later", FILE, f"{FILE}.reach", COPY)
        with pytest.raises(CoordinationError, match=r"has data of leader epoch \d+, it knows \d+"):
            check_all_is_there(tmp_path / "later")

    def test_what_belongs_together_is_served(self, lives: tuple[Path, Path]) -> None:
        for directory in lives:
            for _ in range(2):
                on(directory, lambda server: receive(server, "letters"))
            assert run_command("fsck", str(directory)).exit_code == 0
            check_is_sound(directory)
