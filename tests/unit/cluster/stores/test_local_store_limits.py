import asyncio

import pytest

from cluster.ports.coordination import (
    Changed,
    CompactedError,
    CoordinationUnavailableError,
    KeyValue,
    LeaseLostError,
    Put,
    TransactionResult,
)
from cluster.stores.key_space import Mutation
from cluster.stores.memory_store import MemoryStore
from cluster.stores.revision_history import EVENT_BYTES, RevisionHistory
from cluster.stores.store_settings import StoreSettings
from tests.support.manual_clock import ManualClock


def mutation(revision: int, size: int = 0) -> Mutation:
    return Mutation(revision, (Changed(KeyValue("/k", bytes(size), revision, revision, 1)),))


def test_the_history_keeps_the_newest_revisions() -> None:
    history = RevisionHistory(1, revisions_max=3, bytes_max=1 << 20)
    assert (history.oldest_revision, history.newest_revision) == (2, 1)
    for revision in range(2, 7):
        history.append(mutation(revision))
    assert (history.oldest_revision, history.newest_revision) == (4, 6)
    with pytest.raises(CompactedError) as caught:
        history.under("", 3)
    assert caught.value.oldest_revision == 4
    assert history.under("/other", 4) is None


def test_the_history_keeps_so_many_bytes_but_always_the_newest_revision() -> None:
    history = RevisionHistory(1, revisions_max=100, bytes_max=2 * (EVENT_BYTES + 2 + 10))
    for revision in range(2, 5):
        history.append(mutation(revision, 10))
    assert history.oldest_revision == 3
    history.append(mutation(5, 100_000))
    assert (history.oldest_revision, history.newest_revision) == (5, 5)
    history.append(mutation(6, 10))
    assert history.oldest_revision == 6


def test_compacting_is_idempotent_and_never_reaches_into_the_future() -> None:
    history = RevisionHistory(1, revisions_max=100, bytes_max=1 << 20)
    for revision in range(2, 5):
        history.append(mutation(revision))
    history.compact(3)
    history.compact(2)
    assert history.oldest_revision == 3
    history.compact(5)
    assert (history.oldest_revision, history.newest_revision) == (5, 4)
    with pytest.raises(ValueError):
        history.compact(6)
    history.append(mutation(5))
    assert history.newest_revision == 5


async def test_a_store_compacts_by_itself() -> None:
    store = MemoryStore(ManualClock(), StoreSettings(history_revisions_max=2))
    for _ in range(5):
        await store.transact([], [Put("/a", b"")])
    with pytest.raises(CompactedError):
        await store.watch("/", 4).__anext__()
    assert (await store.watch("/", 5).__anext__()).revision == 5


async def test_no_more_leases_than_the_limit() -> None:
    clock = ManualClock()
    store = MemoryStore(clock, StoreSettings(leases_max=2))
    lease = await store.grant_lease(1000)
    await store.grant_lease(1000)
    with pytest.raises(CoordinationUnavailableError):
        await store.grant_lease(1000)
    await store.revoke_lease(lease.lease_id)
    await store.grant_lease(1000)
    await clock.advance_ms(1000)
    assert clock.sleeping == 0, "an ended lease leaves nothing running"
    await store.grant_lease(1000)
    await store.close()
    assert clock.sleeping == 0


async def test_no_more_watches_than_the_limit() -> None:
    store = MemoryStore(ManualClock(), StoreSettings(watches_max=2))
    first, second = store.watch("/", 2), store.watch("/", 2)
    with pytest.raises(CoordinationUnavailableError):
        store.watch("/", 2)
    await first.aclose()
    third = store.watch("/", 1)
    with pytest.raises(CompactedError):
        await third.__anext__()
    store.watch("/", 2)  # a watch that failed is forgotten
    await second.aclose()


async def test_a_watch_that_fell_behind_a_compaction_says_so() -> None:
    """These stores read nothing ahead for a watch."""
    store = MemoryStore(ManualClock())
    for _ in range(10):
        await store.transact([], [Put("/a", b"")])
    watch = store.watch("/a", 2)
    assert [(await watch.__anext__()).revision for _ in range(2)] == [2, 3]
    await store.compact(11)
    with pytest.raises(CompactedError):
        await watch.__anext__()


async def test_requests_at_the_same_time_are_done_in_their_order() -> None:
    store = MemoryStore(ManualClock())
    lease = await store.grant_lease(10_000)
    outcomes = await asyncio.gather(
        store.transact([], [Put("/before", b"", lease.lease_id)]),
        store.revoke_lease(lease.lease_id),
        store.transact([], [Put("/after", b"", lease.lease_id)]),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [TransactionResult, type(None), LeaseLostError]
    await store.close()
