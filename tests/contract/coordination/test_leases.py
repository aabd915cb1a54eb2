import asyncio

import pytest

from cluster.ports.coordination import LeaseLostError, Put, Removed, TransactionResult, WatchBatch
from tests.contract.coordination.conftest import Harness, take


async def keys(harness: Harness) -> list[str]:
    return [item.key for item in (await harness.store.list("/")).items]


async def test_an_expired_lease_takes_its_keys_along_in_one_revision(harness: Harness) -> None:
    store = harness.store
    lease = await store.grant_lease(harness.ttl_ms)
    assert lease.ttl_ms >= harness.ttl_ms
    await store.transact([], [Put("/b", b"", lease.lease_id), Put("/a", b"", lease.lease_id), Put("/stays", b"")])
    found = await store.get("/a")
    assert found is not None
    assert found.lease_id == lease.lease_id
    start = (await store.list("/")).revision + 1
    watch = store.watch("/", start)
    await harness.pass_ms(harness.ttl_ms - harness.tick_ms)
    assert await keys(harness) == ["/a", "/b", "/stays"]
    await harness.pass_ms(harness.tick_ms + harness.lag_ms)
    assert await take(watch, 1) == [WatchBatch(start, (Removed("/a", start), Removed("/b", start)))]
    assert await keys(harness) == ["/stays"]
    await watch.aclose()


async def test_keep_alive_starts_the_time_anew(harness: Harness) -> None:
    store = harness.store
    lease = await store.grant_lease(harness.ttl_ms)
    await store.transact([], [Put("/a", b"", lease.lease_id)])
    for _ in range(3):
        await harness.pass_ms(harness.ttl_ms - harness.tick_ms)
        await store.keep_alive(lease.lease_id)
    assert await keys(harness) == ["/a"]
    await harness.pass_ms(harness.ttl_ms + harness.lag_ms)
    with pytest.raises(LeaseLostError):
        await store.keep_alive(lease.lease_id)
    assert await keys(harness) == []


async def test_leases_end_each_at_its_own_time(harness: Harness) -> None:
    store = harness.store
    for name, factor in (("/long", 3), ("/short", 1), ("/middle", 2)):
        lease = await store.grant_lease(factor * harness.ttl_ms)
        await store.transact([], [Put(name, b"", lease.lease_id)])
    seen = []
    await harness.pass_ms(harness.lag_ms)
    for _ in range(3):
        await harness.pass_ms(harness.ttl_ms)
        seen.append(await keys(harness))
    assert seen == [["/long", "/middle"], ["/long"], []]


async def test_revoke_ends_a_lease_at_once(harness: Harness) -> None:
    store = harness.store
    lease = await store.grant_lease(10_000)
    other = await store.grant_lease(10_000)
    assert lease.lease_id != other.lease_id
    await store.transact([], [Put("/a", b"", lease.lease_id), Put("/b", b"", other.lease_id)])
    before = (await store.list("/")).revision
    await store.revoke_lease(lease.lease_id)
    assert await keys(harness) == ["/b"]
    assert (await store.list("/")).revision == before + 1
    for call in (
        store.revoke_lease(lease.lease_id),
        store.keep_alive(lease.lease_id),
        store.transact([], [Put("/c", b"", lease.lease_id)]),
    ):
        with pytest.raises(LeaseLostError):
            await call
    assert await keys(harness) == ["/b"]


async def test_a_lease_without_keys_takes_no_revision(harness: Harness) -> None:
    store = harness.store
    before = (await store.list("/")).revision
    lease = await store.grant_lease(harness.ttl_ms)
    await store.revoke_lease(lease.lease_id)
    await store.grant_lease(harness.ttl_ms)
    await harness.pass_ms(harness.ttl_ms + harness.lag_ms)
    assert (await store.list("/")).revision == before


async def test_a_lease_that_never_was(harness: Harness) -> None:
    for call in (
        harness.store.keep_alive(123),
        harness.store.revoke_lease(123),
        harness.store.transact([], [Put("/a", b"", 123)]),
    ):
        with pytest.raises(LeaseLostError):
            await call
    with pytest.raises(ValueError):
        await harness.store.grant_lease(0)


async def test_a_dead_lease_in_the_branch_that_is_not_taken_does_not_matter(harness: Harness) -> None:
    result = await harness.store.transact([], [Put("/a", b"")], [Put("/a", b"", 123)])
    assert result.succeeded


async def test_writing_a_key_without_its_lease_frees_it(harness: Harness) -> None:
    store = harness.store
    lease = await store.grant_lease(harness.ttl_ms)
    other = await store.grant_lease(2 * harness.ttl_ms)
    await store.transact([], [Put("/freed", b"", lease.lease_id), Put("/moved", b"", lease.lease_id)])
    await store.transact([], [Put("/freed", b""), Put("/moved", b"", other.lease_id)])
    await harness.pass_ms(harness.ttl_ms + harness.lag_ms)
    assert await keys(harness) == ["/freed", "/moved"]
    await harness.pass_ms(harness.ttl_ms)
    assert await keys(harness) == ["/freed"]


async def test_a_key_deleted_before_its_lease_ends_is_not_deleted_again(harness: Harness) -> None:
    store = harness.store
    lease = await store.grant_lease(harness.ttl_ms)
    await store.transact([], [Put("/a", b"", lease.lease_id)])
    await store.revoke_lease(lease.lease_id)
    await store.transact([], [Put("/a", b"again")])
    revision = (await store.list("/")).revision
    await harness.pass_ms(harness.ttl_ms + harness.lag_ms)
    assert (await store.list("/")).revision == revision


async def test_revoking_and_writing_at_the_same_time_leaves_no_key_of_a_dead_lease(harness: Harness) -> None:
    store = harness.store
    for _ in range(5):
        lease = await store.grant_lease(10_000)
        outcomes = await asyncio.gather(
            *(store.transact([], [Put(f"/{number}", b"", lease.lease_id)]) for number in range(4)),
            store.revoke_lease(lease.lease_id),
            *(store.transact([], [Put(f"/{number}", b"", lease.lease_id)]) for number in range(4, 8)),
            return_exceptions=True,
        )
        assert outcomes[4] is None, "who ends a lease that lives succeeds"
        for outcome in outcomes[:4] + outcomes[5:]:
            assert isinstance(outcome, TransactionResult | LeaseLostError)
        assert await keys(harness) == []
