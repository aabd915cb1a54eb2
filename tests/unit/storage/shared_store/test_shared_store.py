"""What the contract of all stores does not say: pages, limits, and connections that end."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cluster.ports.coordination import (
    CoordinationFullError,
    CoordinationUnavailableError,
    Listing,
    OutcomeUnknownError,
    Put,
    TransactionResult,
)
from cluster.stores.memory_store import MemoryStore
from storage.rpc.coordination_messages import StoreListRequest
from storage.shared_store.remote_store import TRANSACTION_BYTES_MAX, WATCHES_MAX
from storage.shared_store.served_store import ServedStore, ServedStoreSettings
from tests.support.manual_clock import ManualClock
from tests.support.served_elsewhere import ADDRESS, ServedElsewhere

PAGES = ServedStoreSettings(listing_page_bytes=1_000, listings_max=2)


class HeldStore(MemoryStore):
    """Transactions wait until they are let go, or fail."""

    def __init__(self) -> None:
        super().__init__(ManualClock())
        self.failure: Exception | None = None
        self.held: asyncio.Event | None = None
        self.begun = asyncio.Event()

    async def transact(self, *arguments: object) -> TransactionResult:  # type: ignore[override]
        self.begun.set()
        if self.held is not None:
            await self.held.wait()
        if self.failure is not None:
            raise self.failure
        return await super().transact(*arguments)  # type: ignore[arg-type]


@pytest.fixture
async def own() -> HeldStore:
    return HeldStore()


@pytest.fixture
async def served(own: HeldStore, tmp_path: Path) -> AsyncIterator[ServedElsewhere]:
    served = await ServedElsewhere.serve(own, tmp_path / "sockets", PAGES)
    yield served
    await served.close()


async def fill(own: HeldStore, count: int) -> Listing:
    for number in range(count):
        await own.transact([], [Put(f"/{number:03}", bytes(200))])
    return await own.list("/")


async def test_a_long_listing_comes_in_pages_of_one_revision(own: HeldStore, served: ServedElsewhere) -> None:
    expected = await fill(own, 20)
    store = ServedStore(own, PAGES)
    page = await store.store_list(StoreListRequest("/"))
    assert 0 < len(page.items) < 20
    await own.transact([], [Put("/000", b"new"), Put("/999", b"new")])
    items = list(page.items)
    while page.listing:
        page = await store.store_list(StoreListRequest("/", page.listing, len(items)))
        items += page.items
        assert page.revision == expected.revision
    assert tuple(items) == expected.items
    assert await served.store().list("/") == await own.list("/")


async def test_a_listing_that_was_forgotten_is_begun_anew(own: HeldStore) -> None:
    await fill(own, 20)
    store = ServedStore(own, PAGES)
    pages = [await store.store_list(StoreListRequest("/")) for _ in range(3)]
    first, second, _ = (StoreListRequest("/", page.listing, len(page.items)) for page in pages)
    assert (await store.store_list(first)).is_gone
    assert not (await store.store_list(second)).is_gone


async def test_many_list_at_once(own: HeldStore, served: ServedElsewhere) -> None:
    expected = await fill(own, 8)
    stores = [served.store() for _ in range(2)]
    assert await asyncio.gather(*(store.list("/") for store in stores)) == [expected, expected]


async def test_a_transaction_up_to_the_limit_and_no_larger(served: ServedElsewhere) -> None:
    store = served.store()
    whole, rest = divmod(TRANSACTION_BYTES_MAX, 1024 * 1024)
    assert rest == 0
    puts = [Put(f"{number}", bytes(1024 * 1024 - 1)) for number in range(whole)]
    assert (await store.transact([], puts)).succeeded
    with pytest.raises(ValueError, match=f"over {TRANSACTION_BYTES_MAX}"):
        await store.transact([], [*puts, Put("x", b"")])


async def test_as_many_watches_as_there_may_be(served: ServedElsewhere) -> None:
    store = served.store()
    watches = [store.watch("/", 1) for _ in range(WATCHES_MAX)]
    with pytest.raises(CoordinationUnavailableError, match=f"{WATCHES_MAX} watches"):
        store.watch("/", 1)
    await watches[0].aclose()
    await store.watch("/", 1).aclose()


@pytest.mark.parametrize(
    "failure", [CoordinationFullError("full"), CoordinationUnavailableError("away"), OutcomeUnknownError("unknown")]
)
async def test_failures_come_through_as_they_are(own: HeldStore, served: ServedElsewhere, failure: Exception) -> None:
    own.failure = failure
    with pytest.raises(type(failure), match=str(failure)) as caught:
        await served.store().transact([], [Put("/a", b"")])
    assert type(caught.value) is type(failure)


async def test_a_bug_behind_a_write_leaves_it_unknown(own: HeldStore, served: ServedElsewhere) -> None:
    own.failure = KeyError("a bug")
    with pytest.raises(OutcomeUnknownError):
        await served.store().transact([], [Put("/a", b"")])


async def test_a_write_that_got_no_answer_is_unknown(own: HeldStore, served: ServedElsewhere) -> None:
    own.held = asyncio.Event()
    writing = asyncio.ensure_future(served.store().transact([], [Put("/a", b"")]))
    await own.begun.wait()
    await served.server.close()
    with pytest.raises(OutcomeUnknownError):
        await writing


async def test_where_nobody_listens_it_is_unavailable(served: ServedElsewhere) -> None:
    await served.server.close()
    store = served.store()
    with pytest.raises(CoordinationUnavailableError):
        await store.transact([], [Put("/a", b"")])
    with pytest.raises(CoordinationUnavailableError):
        await store.get("/a")


async def test_a_store_that_is_served_again_goes_on(own: HeldStore, served: ServedElsewhere, tmp_path: Path) -> None:
    store = served.store()
    await store.transact([], [Put("/a", b"1")])
    await served.server.close()
    again = await ServedElsewhere.serve(own, tmp_path / "sockets", PAGES)
    async with asyncio.timeout(10):
        while True:
            try:
                item = await store.get("/a")
            except CoordinationUnavailableError:
                await asyncio.sleep(0)  # it dials again after a pause
                continue
            break
    assert item is not None
    assert item.value == b"1"
    await again.server.close()


async def test_sockets_are_nobody_elses(served: ServedElsewhere, tmp_path: Path) -> None:
    assert (tmp_path / "sockets").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "sockets" / ADDRESS).stat().st_mode & 0o777 == 0o600


async def test_another_users_process_is_hung_up_on(
    served: ServedElsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(CoordinationUnavailableError):
        await served.store().get("/a")
    assert served.server.connections == 0
    monkeypatch.undo()
    assert await served.store().get("/a") is None


async def test_a_directory_with_a_long_path(own: HeldStore, tmp_path: Path) -> None:
    """The system takes 108 bytes for the path of a socket."""
    directory = tmp_path / ("d" * 100) / ("e" * 100)
    served = await ServedElsewhere.serve(own, directory)
    await served.store().transact([], [Put("/a", b"1")])
    assert await own.get("/a") is not None
    await served.close()
