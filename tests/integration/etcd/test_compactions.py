"""History that is gone: a watch says so, and whoever follows lists again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from cluster.backoff import Backoff
from cluster.metadata.follow import follow
from cluster.ports.coordination import CompactedError, Delete, Listing, Put, Removed
from cluster.ports.runtime import SteadyClock
from tests.integration.etcd.conftest import StoreMaker
from tests.support.etcd_process import EtcdProcess
from tests.support.tcp_proxy import TcpProxy

pytestmark = pytest.mark.integration

PATIENCE_S = 30


@pytest.fixture
async def proxy(etcd: EtcdProcess) -> AsyncIterator[TcpProxy]:
    async with TcpProxy(etcd.client_port) as proxy:
        yield proxy


async def test_a_watch_that_was_cut_off_during_a_compaction_says_so(
    etcd: EtcdProcess, proxy: TcpProxy, make_store: StoreMaker
) -> None:
    near, far = make_store(etcd.endpoint), make_store(proxy.endpoint)
    first = (await near.transact([], [Put("/a", b"0")])).revision
    watch = far.watch("/", first)
    assert (await asyncio.wait_for(watch.__anext__(), PATIENCE_S)).revision == first
    proxy.cut()
    last = first
    for number in range(10):
        last = (await near.transact([], [Put("/a", b"%d" % number)])).revision
    await near.compact(last)
    proxy.mend()
    with pytest.raises(CompactedError) as caught:
        await asyncio.wait_for(watch.__anext__(), PATIENCE_S)
    assert caught.value.oldest_revision == last
    again = far.watch("/", last)
    assert (await asyncio.wait_for(again.__anext__(), PATIENCE_S)).revision == last


async def test_a_watch_that_was_cut_off_without_one_misses_nothing(
    etcd: EtcdProcess, proxy: TcpProxy, make_store: StoreMaker
) -> None:
    near, far = make_store(etcd.endpoint), make_store(proxy.endpoint)
    start = (await near.list("/")).revision + 1
    watch = far.watch("/", start)
    expected: list[int] = []
    seen: list[int] = []
    for round_number in range(5):
        for number in range(10):
            expected.append((await near.transact([], [Put(f"/{number}", b"%d" % round_number)])).revision)
            if number == 5:
                proxy.cut()
        proxy.mend()
        while len(seen) < len(expected):
            seen.append((await asyncio.wait_for(watch.__anext__(), PATIENCE_S)).revision)
    assert seen == expected


async def test_who_follows_lists_again_and_has_the_truth(
    etcd: EtcdProcess, proxy: TcpProxy, make_store: StoreMaker
) -> None:
    near, far = make_store(etcd.endpoint), make_store(proxy.endpoint)
    for name in ("/stays", "/goes"):
        await near.transact([], [Put(name, b"")])
    async with aclosing(follow(far, "/", clock=SteadyClock(), backoff=Backoff(first_ms=5))) as news:
        listing = await asyncio.wait_for(anext(news), PATIENCE_S)
        assert isinstance(listing, Listing)
        proxy.cut()
        await near.transact([], [Delete("/goes")])
        last = (await near.transact([], [Put("/comes", b"")])).revision
        await near.compact(last)
        proxy.mend()
        step = await asyncio.wait_for(anext(news), PATIENCE_S)
        assert isinstance(step, Listing)
        assert [item.key for item in step.items] == ["/comes", "/stays"]


async def test_a_deletion_at_the_compacted_revision_is_not_missed(etcd: EtcdProcess, make_store: StoreMaker) -> None:
    """etcd before 3.4.36 and 3.5.19 drops it and lets a watch start there in silence."""
    store = make_store(etcd.endpoint)
    await store.transact([], [Put("/a", b"")])
    deleted = (await store.transact([], [Delete("/a")])).revision
    await store.transact([], [Put("/b", b"")])
    await asyncio.to_thread(etcd.ask, "/v3/kv/compaction", {"revision": deleted, "physical": True})
    with pytest.raises(CompactedError) as caught:
        await asyncio.wait_for(store.watch("/", deleted).__anext__(), PATIENCE_S)
    assert caught.value.oldest_revision == deleted + 1
    # And the store's own compaction keeps what the port promises: everything from the given revision on.
    deleted = (await store.transact([], [Delete("/b")])).revision
    await store.compact(deleted)
    batch = await asyncio.wait_for(store.watch("/", deleted).__anext__(), PATIENCE_S)
    assert batch.events == (Removed("/b", deleted),)


async def test_a_listing_of_many_pages_is_of_one_revision(etcd: EtcdProcess, make_store: StoreMaker) -> None:
    store = make_store(etcd.endpoint, listing_page_keys=7)
    await asyncio.gather(*(store.transact([], [Put(f"/k/{number:03d}", b"0")]) for number in range(50)))
    stop = asyncio.Event()

    async def write() -> None:
        """All keys change together, so a listing of one revision shows one value."""
        number = 0
        while not stop.is_set():
            number += 1
            await store.transact([], [Put(f"/k/{each:03d}", b"%d" % number) for each in range(50)])

    writing = asyncio.ensure_future(write())
    for _ in range(20):
        listing = await store.list("/k/")
        assert len(listing.items) == 50
        assert len({item.mod_revision for item in listing.items[:50]}) == 1 or listing.items[0].value == b"0"
        assert max(item.mod_revision for item in listing.items) <= listing.revision
    stop.set()
    await writing


async def test_compacting_the_future_is_an_error_and_the_past_is_none(
    etcd: EtcdProcess, make_store: StoreMaker
) -> None:
    store = make_store(etcd.endpoint)
    revision = (await store.transact([], [Put("/a", b"")])).revision
    with pytest.raises(ValueError, match="does not exist"):
        await store.compact(revision + 2)
    for _ in range(2):
        await store.compact(revision + 1)
    await store.compact(1)
