"""A coordination file that rots, or loses a part: said at the opening, never served as if nothing had been there."""

import errno
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cluster.ports.coordination import CoordinationError, KeyValue, Put
from cluster.stores.sqlite_copy import read_copy
from cluster.stores.sqlite_file import StoreUnreadableError
from cluster.stores.sqlite_spare import spare_path
from cluster.stores.sqlite_store import SqliteStore
from cluster.stores.store_settings import StoreSettings
from tests.sim.inline_executor import InlineExecutor
from tests.support.manual_clock import ManualClock, settle

NAME = "store.sqlite"


async def open_store(directory: Path, clock: ManualClock | None = None) -> SqliteStore:
    path = str(directory / NAME)
    return await SqliteStore.open(path, blocking=InlineExecutor(), clock=clock or ManualClock())


async def items_of(directory: Path) -> list[tuple[str, bytes]]:
    store = await open_store(directory)
    listing = await store.list("")
    await store.close()
    return [(item.key, item.value) for item in listing.items]


@pytest.fixture
async def stopped(tmp_path: Path) -> Path:
    directory = tmp_path / "stopped"
    directory.mkdir()
    store = await open_store(directory)
    for name in ("orders", "payments", "letters"):
        await store.transact([], [Put(f"/acklog/topics/{name}", b'{"name":"%s"}' % name.encode() * 20)])
    await store.close()
    return directory


async def killed_copy(directory: Path, target: Path) -> Path:
    """The write-ahead log has three commits."""
    store = await open_store(directory)
    for number in range(3):
        await store.transact([], [Put(f"/acklog/groups/{number}", b"%d" % number)])
    shutil.copytree(directory, target)
    await store.close()
    return target


@pytest.mark.slow
async def test_no_flipped_bit_changes_what_is_served(stopped: Path) -> None:
    path = stopped / NAME
    content = path.read_bytes()
    expected = await items_of(stopped)
    content = path.read_bytes()
    reach = (stopped / f"{NAME}.reach").read_bytes()
    said = 0
    for position in range(0, len(content), 61):
        harmed = bytearray(content)
        harmed[position] ^= 1 << (position % 8)
        path.write_bytes(harmed)
        (stopped / f"{NAME}.reach").write_bytes(reach)
        try:
            assert await items_of(stopped) == expected, position
        except CoordinationError:
            said += 1
            found = read_copy(str(path))
            assert found is not None
            assert found.faults, position
    assert said > 20


async def test_a_rotten_value_is_named(stopped: Path) -> None:
    content = (stopped / NAME).read_bytes()
    at = content.index(b'{"name":"payments"')
    (stopped / NAME).write_bytes(content[: at + 10] + b"P" + content[at + 11 :])
    with pytest.raises(StoreUnreadableError, match=r"checksum of '/acklog/topics/payments' .* acklog rebuild"):
        await open_store(stopped)
    found = read_copy(str(stopped / NAME))
    assert found is not None
    assert found.faults == ["the checksum of '/acklog/topics/payments' does not match"]
    assert [item.key for item in found.items] == ["/acklog/topics/letters", "/acklog/topics/orders"]


@pytest.mark.parametrize("share", [None, 0.0, 0.3, 0.6, 0.95])
async def test_a_write_ahead_log_that_is_gone_or_short_is_said(
    stopped: Path, tmp_path: Path, share: float | None
) -> None:
    directory = await killed_copy(stopped, tmp_path / "killed")
    log = directory / f"{NAME}-wal"
    if share is None:
        log.unlink()
    else:
        log.write_bytes(log.read_bytes()[: int(log.stat().st_size * share)])
    found = read_copy(str(directory / NAME))
    assert found is not None
    assert "was committed" in found.faults[0]
    with pytest.raises(StoreUnreadableError, match=r"it ends at revision \d+, but \d+ was committed"):
        await open_store(directory)


async def test_a_kill_and_a_copy_of_a_stopped_file_are_no_damage(stopped: Path, tmp_path: Path) -> None:
    directory = await killed_copy(stopped, tmp_path / "killed")
    found = read_copy(str(directory / NAME))
    assert found is not None
    assert found.faults == []
    assert len(await items_of(directory)) == 6
    assert len(await items_of(Path(shutil.copytree(directory, tmp_path / "again")))) == 6


async def test_a_torn_reach_says_nothing(stopped: Path) -> None:
    (stopped / f"{NAME}.reach").write_bytes(b"17 00000000".ljust(63) + b"\n")
    assert len(await items_of(stopped)) == 3


CUT_REACHES = [None, b"", b"17", b"\0" * 64, b"9 00000000".ljust(64) + b"\n"]


@pytest.mark.parametrize("content", CUT_REACHES)
async def test_a_reach_that_is_gone_or_cut_is_said(stopped: Path, content: bytes | None) -> None:
    """No crash leaves it like that (rule R34)."""
    put_reach(stopped, content)
    for _ in range(2):
        found = read_copy(str(stopped / NAME))
        assert found is not None
        assert "reach is" in found.faults[0]
        with pytest.raises(StoreUnreadableError, match=r"reach is (missing|cut or overwritten).* acklog rebuild"):
            await open_store(stopped)


@pytest.mark.parametrize("content", CUT_REACHES)
async def test_an_earlier_version_did_not_sync_its_reach(stopped: Path, content: bytes | None) -> None:
    with closing(sqlite3.connect(stopped / NAME)) as connection:
        connection.execute("PRAGMA user_version = 0")
    put_reach(stopped, content)
    assert len(await items_of(stopped)) == 3
    put_reach(stopped, None)
    with pytest.raises(StoreUnreadableError, match="reach is missing"):
        await open_store(stopped)


def put_reach(directory: Path, content: bytes | None) -> None:
    path = directory / f"{NAME}.reach"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


async def test_a_reach_that_cannot_be_made_is_not_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a help; a disk without space for it is no reason to refuse."""

    def refuse(_path: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("cluster.stores.sqlite_reach._sync", refuse)
        store = await open_store(tmp_path)
        await store.transact([], [Put("/acklog/topics/orders", b"1")])
        await store.close()
    put_reach(tmp_path, None)
    assert await items_of(tmp_path) == [("/acklog/topics/orders", b"1")]


async def test_a_file_of_an_earlier_version_gets_its_checksums(stopped: Path) -> None:
    path = stopped / NAME
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER forget_checksum")
        connection.execute("ALTER TABLE items DROP COLUMN checksum")
        connection.execute("PRAGMA user_version = 0")
    (stopped / f"{NAME}.reach").unlink()
    found = read_copy(str(path))
    assert found is not None
    assert (len(found.items), found.faults) == (3, [])
    assert len(await items_of(stopped)) == 3
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM items WHERE checksum IS NULL").fetchone() == (0,)


async def test_what_an_earlier_version_wrote_in_between_is_no_damage(stopped: Path) -> None:
    """It knows nothing of the checksums."""
    with closing(sqlite3.connect(stopped / NAME, isolation_level=None)) as connection:
        connection.execute(
            "INSERT INTO items (key, value, create_revision, mod_revision, version, lease_id) "
            "VALUES ('/acklog/topics/orders', x'31', 9, 9, 2, 0) ON CONFLICT (key) DO UPDATE SET "
            "value = excluded.value, mod_revision = excluded.mod_revision, version = excluded.version"
        )
        connection.execute("UPDATE store SET revision = 9")
    assert ("/acklog/topics/orders", b"1") in await items_of(stopped)


class TestSpare:
    async def test_it_follows_within_the_interval_and_holds_the_same(self, tmp_path: Path) -> None:
        clock = ManualClock()
        store = await open_store(tmp_path, clock)
        spare = spare_path(str(tmp_path / NAME))
        assert Path(spare).name == "store-copy.sqlite"
        lease = await store.grant_lease(1000)
        await store.transact([], [Put("/acklog/topics/orders", b"1"), Put("/acklog/nodes/1", b"", lease.lease_id)])
        await settle()
        assert not Path(spare).exists()
        await clock.advance_ms(StoreSettings().spare_interval_ms)
        await settle()
        await store.transact([], [Put("/acklog/offsets/g/t", b"1")])
        await clock.advance_ms(10 * StoreSettings().spare_interval_ms)
        await settle()
        assert self.keys(spare) == ["/acklog/topics/orders"], "progress alone is no reason to write"
        await store.transact([], [Put("/acklog/topics/payments", b"2")])
        await store.close()
        assert self.keys(spare) == ["/acklog/offsets/g/t", "/acklog/topics/orders", "/acklog/topics/payments"]

    async def test_one_that_cannot_be_written_is_tried_again(self, tmp_path: Path) -> None:
        clock = ManualClock()
        store = await open_store(tmp_path, clock)
        spare = Path(spare_path(str(tmp_path / NAME)))
        spare.mkdir()
        await store.transact([], [Put("/acklog/topics/orders", b"1")])
        await settle()
        for _ in range(3):
            await clock.advance_ms(StoreSettings().spare_interval_ms)
            await settle()
        spare.rmdir()
        await clock.advance_ms(StoreSettings().spare_interval_ms)
        await settle()
        assert self.keys(str(spare)) == ["/acklog/topics/orders"]
        await store.close()

    def keys(self, path: str) -> list[str]:
        found = read_copy(path)
        assert found is not None
        assert found.faults == []
        items: list[KeyValue] = found.items
        return [item.key for item in items]
