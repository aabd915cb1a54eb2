import asyncio
from contextlib import suppress

import pytest

from cluster.ports.coordination import Changed, CompactedError, CoordinationStore, Delete, Put, Removed, WatchBatch
from tests.contract.coordination.conftest import soon, take


async def put(store: CoordinationStore, key: str, value: bytes = b"") -> int:
    return (await store.transact([], [Put(key, value)])).revision


async def test_a_watch_sees_later_changes_under_its_prefix_only(store: CoordinationStore) -> None:
    await put(store, "/a/before")
    start = (await store.list("/")).revision + 1
    watch = store.watch("/a/", start)
    first = await put(store, "/a/1", b"x")
    await put(store, "/b/1")
    last = (await store.transact([], [Delete("/a/1")])).revision
    created, removed = await take(watch, 2)
    assert created.revision == first
    [event] = created.events
    assert isinstance(event, Changed)
    assert (event.item.key, event.item.value, event.item.mod_revision) == ("/a/1", b"x", first)
    assert removed == WatchBatch(last, (Removed("/a/1", last),))
    await watch.aclose()


async def test_one_transaction_is_one_batch(store: CoordinationStore) -> None:
    await put(store, "/a/old")
    watch = store.watch("/a/", (await store.list("/")).revision + 1)
    await store.transact([], [Put("/a/2", b""), Put("/b", b""), Delete("/a/old"), Put("/a/1", b"")])
    [batch] = await take(watch, 1)
    keys = [event.key if isinstance(event, Removed) else event.item.key for event in batch.events]
    assert sorted(keys) == ["/a/1", "/a/2", "/a/old"]
    await watch.aclose()


async def test_a_watch_that_waits_is_woken(store: CoordinationStore) -> None:
    watch = store.watch("/", (await store.list("/")).revision + 1)
    waiting = asyncio.ensure_future(watch.__anext__())
    await asyncio.sleep(0)
    assert not waiting.done()
    revision = await put(store, "/a")
    assert (await soon(waiting)).revision == revision
    await watch.aclose()


async def test_history_is_replayed_from_the_revision_asked_for(store: CoordinationStore) -> None:
    revisions = [await put(store, "/a", b"%d" % number) for number in range(20)]
    for position in (0, 7, 19):
        watch = store.watch("/a", revisions[position])
        assert [batch.revision for batch in await take(watch, 20 - position)] == revisions[position:]
        await watch.aclose()


async def test_a_watch_from_a_revision_to_come_waits_for_it(store: CoordinationStore) -> None:
    now = (await store.list("/")).revision
    watch = store.watch("/", now + 3)
    for number in range(4):
        await put(store, f"/{number}")
    assert [batch.revision for batch in await take(watch, 2)] == [now + 3, now + 4]
    await watch.aclose()


async def test_no_gap_and_no_duplicate_while_many_write(store: CoordinationStore) -> None:
    start = (await store.list("/")).revision + 1
    early = store.watch("/", start)
    reader = asyncio.ensure_future(take(early, 100))
    revisions: list[int] = []
    for _ in range(10):
        revisions += await soon(asyncio.gather(*(put(store, f"/{number}") for number in range(10))))
    batches = await soon(reader)
    assert [batch.revision for batch in batches] == sorted(revisions) == list(range(start, start + 100))
    resumed = store.watch("/", batches[49].revision + 1)
    assert await take(resumed, 50) == batches[50:]
    await early.aclose()
    await resumed.aclose()


async def test_listing_then_watching_gives_the_whole_truth(store: CoordinationStore) -> None:
    writers = asyncio.gather(*(put(store, f"/{number % 7}", b"%d" % number) for number in range(60)))
    await asyncio.sleep(0)
    listing = await store.list("/")
    state = {item.key: item.value for item in listing.items}
    watch = store.watch("/", listing.revision + 1)
    last = max(await soon(writers))
    revision = listing.revision
    while revision < last:
        [batch] = await take(watch, 1)
        revision = batch.revision
        for event in batch.events:
            assert isinstance(event, Changed)
            state[event.item.key] = event.item.value
    assert state == {item.key: item.value for item in (await store.list("/")).items}
    await watch.aclose()


async def test_a_compacted_revision_cannot_be_watched(store: CoordinationStore) -> None:
    revisions = [await put(store, "/a") for _ in range(10)]
    await store.compact(revisions[5])
    for position in (0, 4):
        with pytest.raises(CompactedError) as caught:
            await soon(store.watch("/a", revisions[position]).__anext__())
        assert caught.value.oldest_revision == revisions[5]
    watch = store.watch("/a", revisions[5])
    assert [batch.revision for batch in await take(watch, 5)] == revisions[5:]
    await watch.aclose()
    assert await store.get("/a") is not None


async def test_a_watch_behind_a_compaction_says_so_or_has_it_all(store: CoordinationStore) -> None:
    """A store may have read ahead for its watch; what never happens is a gap."""
    revisions = [await put(store, "/a") for _ in range(10)]
    watch = store.watch("/a", revisions[0])
    seen = [batch.revision for batch in await take(watch, 2)]
    await store.compact(revisions[9])
    revisions.append(await put(store, "/a"))
    with suppress(CompactedError):
        while seen[-1] != revisions[-1]:
            seen.append((await soon(watch.__anext__())).revision)
    assert seen == revisions[: len(seen)]
    await watch.aclose()


async def test_closing_ends_a_watch_that_waits(store: CoordinationStore) -> None:
    watch = store.watch("/", (await store.list("/")).revision + 1)
    waiting = asyncio.ensure_future(watch.__anext__())
    await asyncio.sleep(0)
    await watch.aclose()
    with pytest.raises(StopAsyncIteration):
        await soon(waiting)
    assert [batch async for batch in watch] == []


async def test_a_cancelled_wait_loses_nothing(store: CoordinationStore) -> None:
    watch = store.watch("/", (await store.list("/")).revision + 1)
    waiting = asyncio.ensure_future(watch.__anext__())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    revision = await put(store, "/a")
    assert [batch.revision for batch in await take(watch, 1)] == [revision]
    await watch.aclose()
