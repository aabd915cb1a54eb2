"""What only the store in a file can show: reopening, kills, full and failing disks, one commit for many."""

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.ports.coordination import (
    CompactedError,
    CoordinationUnavailableError,
    Delete,
    KeyValue,
    LeaseLostError,
    OutcomeUnknownError,
    Put,
    absent,
    unchanged,
)
from cluster.stores.sqlite_file import CommitFailedError, SqliteFile, StoreLockedError, StoreUnreadableError
from cluster.stores.sqlite_store import SqliteStore
from cluster.stores.sqlite_tables import FORMAT
from cluster.stores.store_settings import StoreSettings
from storage.disk.thread_executor import ThreadExecutor
from tests.sim.inline_executor import InlineExecutor
from tests.support.manual_clock import ManualClock, settle

_Result = TypeVar("_Result")


class Gate:
    """Blocking calls that wait until the test lets them."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.calls = 0

    async def run(self, function: Callable[[], _Result]) -> _Result:
        self.calls += 1
        await self.open.wait()
        return function()


async def open_store(path: Path, clock: ManualClock | None = None, **limits: int) -> SqliteStore:
    return await SqliteStore.open(
        str(path), blocking=InlineExecutor(), clock=clock or ManualClock(), settings=StoreSettings(**limits)
    )


async def test_reopening_keeps_keys_and_revisions(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store.db")
    await store.transact([], [Put("/a", b"1"), Put("/b", b"2")])
    revision = (await store.transact([], [Put("/a", b"3")])).revision
    before = await store.list("")
    await store.close()
    store = await open_store(tmp_path / "store.db")
    assert await store.list("") == before
    assert (await store.transact([], [Put("/c", b"")])).revision == revision + 1
    with pytest.raises(CompactedError):
        await store.watch("", revision).__anext__()
    await store.close()


async def test_opening_ends_every_lease_in_one_revision(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store.db")
    first, second = await store.grant_lease(1000), await store.grant_lease(1000)
    await store.transact([], [Put("/1", b"", first.lease_id), Put("/2", b"", second.lease_id), Put("/stays", b"")])
    revision = (await store.list("")).revision
    await store.close()
    store = await open_store(tmp_path / "store.db")
    listing = await store.list("")
    assert [item.key for item in listing.items] == ["/stays"]
    assert listing.revision == revision + 1
    with pytest.raises(LeaseLostError):
        await store.keep_alive(first.lease_id)
    assert (await store.grant_lease(1000)).lease_id > second.lease_id, "lease ids never come again"
    await store.close()
    store = await open_store(tmp_path / "store.db")
    assert (await store.list("")).revision == revision + 1, "without leases there is nothing to end"
    await store.close()


async def test_a_killed_process_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """The files as they are at any moment are what a kill leaves."""
    (tmp_path / "live").mkdir()
    store = await open_store(tmp_path / "live" / "store.db")
    for number in range(20):
        await store.transact([absent(f"/{number}")], [Put(f"/{number}", b"%d" % number), Put("/last", b"%d" % number)])
        acknowledged = await store.list("")
        copy = tmp_path / f"copy{number}"
        shutil.copytree(tmp_path / "live", copy)
        survivor = await open_store(copy / "store.db")
        assert await survivor.list("") == acknowledged
        await survivor.close()
    await store.close()


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("abcde"), st.one_of(st.none(), st.binary(max_size=8))), max_size=5),
        max_size=8,
    ),
)
def test_the_file_holds_exactly_what_readers_see(steps: list[list[tuple[str, bytes | None]]]) -> None:
    async def main(path: Path) -> None:
        store = await open_store(path)
        for step in steps:
            await asyncio.gather(
                *(store.transact([], [Delete(key) if value is None else Put(key, value)]) for key, value in step)
            )
        seen = await store.list("")
        await store.close()
        store = await open_store(path)
        assert await store.list("") == seen
        await store.close()

    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(main(Path(directory) / "store.db"))


async def test_the_file_is_held_exclusively(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store.db")
    with pytest.raises(StoreLockedError):
        await open_store(tmp_path / "store.db")
    with pytest.raises(sqlite3.OperationalError):
        sqlite3.connect(tmp_path / "store.db", timeout=0).execute("SELECT * FROM items")
    await store.transact([], [Put("/a", b"")])
    await store.close()
    await (await open_store(tmp_path / "store.db")).close()


async def test_commits_are_synced(tmp_path: Path) -> None:
    file = SqliteFile(str(tmp_path / "store.db"))
    file.open()
    connection = file._connection
    assert connection is not None
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA locking_mode").fetchone() == ("exclusive",)
    file.close()


async def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database" * 100)
    with pytest.raises(StoreUnreadableError, match="not a database"):
        await open_store(tmp_path / "text.db")
    await (await open_store(tmp_path / "newer.db")).close()
    with sqlite3.connect(tmp_path / "newer.db") as connection:
        connection.execute("UPDATE store SET format = ?", (FORMAT + 1,))
    connection.close()
    with pytest.raises(StoreUnreadableError, match="format"):
        await open_store(tmp_path / "newer.db")
    with pytest.raises(StoreUnreadableError):
        await open_store(tmp_path / "no-such-directory" / "store.db")


async def test_transactions_that_wait_share_a_commit(tmp_path: Path) -> None:
    gate = Gate()
    store = await SqliteStore.open(
        str(tmp_path / "store.db"),
        blocking=gate,
        clock=ManualClock(),
        settings=StoreSettings(transactions_per_commit_max=10),
    )
    calls_before = gate.calls
    results = await asyncio.gather(*(store.transact([], [Put(f"/{each}", b"")]) for each in range(25)))
    assert gate.calls - calls_before == 3
    assert [result.revision for result in results] == list(range(2, 27))
    await store.close()


async def test_nothing_shows_before_it_is_durable(tmp_path: Path) -> None:
    gate = Gate()
    store = await SqliteStore.open(str(tmp_path / "store.db"), blocking=gate, clock=ManualClock())
    watch = store.watch("", 2)
    seen = asyncio.ensure_future(watch.__anext__())
    gate.open.clear()
    write = asyncio.ensure_future(store.transact([], [Put("/a", b"")]))
    dependent = asyncio.ensure_future(store.transact([absent("/a")], [Put("/a", b"2")]))
    await settle()
    assert await store.get("/a") is None
    assert not write.done()
    assert not seen.done()
    gate.open.set()
    assert (await write).succeeded
    assert not (await dependent).succeeded
    assert (await seen).revision == 2
    await watch.aclose()
    await store.close()


async def test_too_many_waiting_transactions_are_refused(tmp_path: Path) -> None:
    gate = Gate()
    store = await SqliteStore.open(
        str(tmp_path / "store.db"),
        blocking=gate,
        clock=ManualClock(),
        settings=StoreSettings(waiting_transactions_max=3, transactions_per_commit_max=1),
    )
    gate.open.clear()
    writes = [asyncio.ensure_future(store.transact([], [Put("/0", b"")]))]
    await settle()  # this one is being committed
    writes += [asyncio.ensure_future(store.transact([], [Put(f"/{each}", b"")])) for each in range(1, 5)]
    await settle()
    with pytest.raises(CoordinationUnavailableError):
        await writes[4]
    gate.open.set()
    assert all(result.succeeded for result in await asyncio.gather(*writes[:4]))
    await store.close()


async def test_a_full_disk_refuses_and_the_store_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    store = await open_store(tmp_path / "store.db", clock)
    lease = await store.grant_lease(1000)
    await store.transact([], [Put("/a", b"1"), Put("/leased", b"", lease.lease_id)])
    before = await store.list("")

    def full(_file: SqliteFile, _mutations: object) -> None:
        raise CommitFailedError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteFile, "commit", full)
        outcomes = await asyncio.gather(
            *(store.transact([], [Put(f"/{each}", b"")]) for each in range(3)),
            store.revoke_lease(lease.lease_id),
            return_exceptions=True,
        )
        assert all(isinstance(outcome, CoordinationUnavailableError) for outcome in outcomes)
        assert await store.list("") == before
        await clock.advance_ms(1000)
        assert await store.list("") == before, "the expired lease's keys wait for space"
    await clock.advance_ms(1000)
    assert [item.key for item in (await store.list("")).items] == ["/a"]
    read = await store.get("/a")
    assert read is not None
    assert (await store.transact([unchanged(read)], [Put("/a", b"2")])).succeeded
    after = await store.list("")
    await store.close()
    store = await open_store(tmp_path / "store.db")
    assert await store.list("") == after
    await store.close()


async def test_sqlite_itself_says_that_it_is_full(tmp_path: Path) -> None:
    file = SqliteFile(str(tmp_path / "store.db"))
    store = SqliteStore(file, file.open(), InlineExecutor(), ManualClock(), StoreSettings())
    await store.transact([], [Put("/a", b"1")])
    assert file._connection is not None
    ((pages,),) = file._connection.execute("PRAGMA page_count")
    file._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(CoordinationUnavailableError, match="full"):
        await store.transact([], [Put("/b", bytes(100_000))])
    assert (await store.transact([], [Put("/a", b"2")])).succeeded
    before = await store.list("")
    await store.close()
    store = await open_store(tmp_path / "store.db")
    assert await store.list("") == before
    await store.close()


async def test_any_other_failure_leaves_it_unknown_and_stops_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(tmp_path / "store.db")
    watch = store.watch("", 2)
    watching = asyncio.ensure_future(watch.__anext__())
    await settle()

    def fail(_file: SqliteFile, _mutations: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(SqliteFile, "commit", fail)
    writes = [asyncio.ensure_future(store.transact([], [Put("/a", b"")])) for _ in range(2)]
    for write in writes:
        with pytest.raises(OutcomeUnknownError):
            await write
    for call in (store.get("/a"), store.list(""), store.transact([], [Put("/b", b"")]), watching):
        with pytest.raises(CoordinationUnavailableError):
            await call
    await store.close()


async def test_writes_that_wait_behind_a_failure_did_not_happen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(tmp_path / "store.db", transactions_per_commit_max=1)

    def fail(_file: SqliteFile, _mutations: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(SqliteFile, "commit", fail)
    writes = [asyncio.ensure_future(store.transact([], [Put("/a", b"")])) for _ in range(2)]
    with pytest.raises(OutcomeUnknownError):
        await writes[0]
    with pytest.raises(CoordinationUnavailableError):
        await writes[1]
    await store.close()


async def test_closing_completes_what_was_begun(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store.db")
    writes = [asyncio.ensure_future(store.transact([], [Put(f"/{each}", b"")])) for each in range(5)]
    await asyncio.sleep(0)
    await store.close()
    assert all(result.succeeded for result in await asyncio.gather(*writes))
    store = await open_store(tmp_path / "store.db")
    assert len((await store.list("")).items) == 5
    await store.close()


async def test_a_cancelled_caller_does_not_disturb_the_others(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store.db")
    writes = [asyncio.ensure_future(store.transact([], [Put(f"/{each}", b"")])) for each in range(3)]
    await asyncio.sleep(0)
    writes[1].cancel()
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert isinstance(results[1], asyncio.CancelledError)
    keys = [item.key for item in (await store.list("")).items]
    assert "/0" in keys
    assert "/2" in keys
    await store.close()


async def test_with_a_real_thread(tmp_path: Path) -> None:
    executor = ThreadExecutor(1, name="coordination")
    store = await SqliteStore.open(str(tmp_path / "store.db"), blocking=executor, clock=ManualClock())

    async def count(key: str) -> None:
        for _ in range(200):
            item: KeyValue | None = await store.get(key)
            guard = absent(key) if item is None else unchanged(item)
            value = b"%d" % (1 if item is None else int(item.value) + 1)
            if (await store.transact([guard], [Put(key, value)])).succeeded:
                return
        raise AssertionError("no progress")

    await asyncio.gather(*(count("/counter") for _ in range(10)))
    item = await store.get("/counter")
    assert item is not None
    assert item.value == b"10"
    await store.close()
    executor.close()
