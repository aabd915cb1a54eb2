import asyncio

import pytest

from cluster.ports.coordination import (
    MAX_TRANSACTION_OPERATIONS,
    VALUE_BYTES_MAX,
    Compare,
    CompareTarget,
    CoordinationStore,
    CoordinationUnavailableError,
    Delete,
    KeyValue,
    Put,
    absent,
    unchanged,
)
from tests.contract.coordination.conftest import soon


async def put(store: CoordinationStore, key: str, value: bytes) -> int:
    result = await store.transact([], [Put(key, value)])
    assert result.succeeded
    return result.revision


async def item(store: CoordinationStore, key: str) -> KeyValue:
    found = await store.get(key)
    assert found is not None
    return found


async def test_a_new_key(store: CoordinationStore) -> None:
    assert await store.get("/a") is None
    before = (await store.list("/")).revision
    revision = await put(store, "/a", b"1")
    assert revision > before
    assert await store.get("/a") == KeyValue("/a", b"1", revision, revision, 1)


async def test_versions_and_revisions_of_a_key(store: CoordinationStore) -> None:
    created = await put(store, "/a", b"1")
    changed = await put(store, "/a", b"1")
    assert changed > created, "the same value again is a change"
    assert await store.get("/a") == KeyValue("/a", b"1", created, changed, 2)
    removed = (await store.transact([], [Delete("/a")])).revision
    assert removed > changed
    assert await store.get("/a") is None
    again = await put(store, "/a", b"2")
    assert await store.get("/a") == KeyValue("/a", b"2", again, again, 1)


async def test_a_transaction_takes_one_revision(store: CoordinationStore) -> None:
    await put(store, "/old", b"")
    before = (await store.list("/")).revision
    result = await store.transact([], [Put("/a", b"1"), Put("/b", b"2"), Delete("/old")])
    assert result.revision == before + 1
    listing = await store.list("/")
    assert listing.revision == result.revision
    assert [(each.key, each.mod_revision) for each in listing.items] == [
        ("/a", result.revision),
        ("/b", result.revision),
    ]


async def test_what_changes_nothing_takes_no_revision(store: CoordinationStore) -> None:
    revision = await put(store, "/a", b"1")
    for result in (
        await store.transact([], []),
        await store.transact([absent("/a")], [Put("/a", b"2")]),
        await store.transact([], [Delete("/missing")]),
    ):
        assert result.revision == revision
    assert (await store.list("/")).revision == revision


async def test_otherwise_is_done_when_any_compare_fails(store: CoordinationStore) -> None:
    await put(store, "/a", b"1")
    result = await store.transact(
        [absent("/b"), absent("/a")], [Put("/then", b"")], [Put("/otherwise", b""), Delete("/a")]
    )
    assert not result.succeeded
    assert [each.key for each in (await store.list("/")).items] == ["/otherwise"]


@pytest.mark.parametrize("target", [CompareTarget.CREATE_REVISION, CompareTarget.MOD_REVISION, CompareTarget.VERSION])
async def test_number_compares(store: CoordinationStore, target: CompareTarget) -> None:
    async def holds(key: str, value: int) -> bool:
        return (await store.transact([Compare(key, target, value)], [])).succeeded

    assert await holds("/a", 0)
    assert not await holds("/a", 1)
    await put(store, "/a", b"1")
    await put(store, "/a", b"2")
    now = await item(store, "/a")
    expected = {
        CompareTarget.CREATE_REVISION: now.create_revision,
        CompareTarget.MOD_REVISION: now.mod_revision,
        CompareTarget.VERSION: 2,
    }[target]
    assert await holds("/a", expected)
    assert not await holds("/a", expected - 1)
    assert not await holds("/a", 0)


async def test_value_compares(store: CoordinationStore) -> None:
    async def holds(key: str, value: bytes) -> bool:
        return (await store.transact([Compare(key, CompareTarget.VALUE, value)], [])).succeeded

    await put(store, "/a", b"")
    assert await holds("/a", b"")
    assert not await holds("/a", b"x")
    assert not await holds("/missing", b""), "a missing key has no value, not an empty one"


async def test_unchanged_fails_after_any_write(store: CoordinationStore) -> None:
    await put(store, "/a", b"1")
    read = await item(store, "/a")
    assert (await store.transact([unchanged(read)], [Put("/a", b"2")])).succeeded
    assert not (await store.transact([unchanged(read)], [Put("/a", b"3")])).succeeded
    await store.transact([], [Delete("/a")])
    await put(store, "/a", b"2")
    assert not (await store.transact([unchanged(read)], [Delete("/a")])).succeeded


async def test_listing_is_sorted_and_by_prefix(store: CoordinationStore) -> None:
    keys = ["/b/2", "/a", "/b/10", "/b", "/b/1", "/c", "/b/é", "/b/\U0001f600"]
    for key in keys:
        await put(store, key, key.encode())
    assert [each.key for each in (await store.list("/b/")).items] == ["/b/1", "/b/10", "/b/2", "/b/é", "/b/\U0001f600"]
    assert [each.key for each in (await store.list("")).items] == sorted(keys)
    assert (await store.list("/d")).items == ()


async def test_as_many_operations_as_the_limit_and_no_more(store: CoordinationStore) -> None:
    compares = [absent(f"/{number}") for number in range(MAX_TRANSACTION_OPERATIONS)]
    puts = [Put(f"/{number}", b"x") for number in range(MAX_TRANSACTION_OPERATIONS)]
    more = Put("/more", b"")
    for too_many in (
        store.transact([*compares, absent("/more")], []),
        store.transact(compares, [*puts, more]),
        store.transact(compares, [], [*puts, more]),
    ):
        with pytest.raises(ValueError):
            await too_many
    assert (await store.transact(compares, puts)).succeeded
    assert len((await store.list("/")).items) == MAX_TRANSACTION_OPERATIONS


async def test_values_up_to_the_limit(store: CoordinationStore) -> None:
    await put(store, "/a", bytes(VALUE_BYTES_MAX))
    assert len((await item(store, "/a")).value) == VALUE_BYTES_MAX
    with pytest.raises(ValueError):
        await store.transact([], [Put("/b", bytes(VALUE_BYTES_MAX + 1))])
    assert await store.get("/b") is None


@pytest.mark.parametrize(
    ("compares", "then", "otherwise"),
    [
        ([], [Put("/a", b"1"), Put("/a", b"2")], []),
        ([], [Put("/a", b"1"), Delete("/a")], []),
        ([], [], [Delete("/a"), Delete("/a")]),
        ([], [Put("", b"1")], []),
        ([absent("")], [], []),
        ([Compare("/a", CompareTarget.VALUE, 1)], [], []),
        ([Compare("/a", CompareTarget.VERSION, b"1")], [], []),
    ],
)
async def test_malformed_transactions(
    store: CoordinationStore, compares: list[Compare], then: list[Put | Delete], otherwise: list[Put | Delete]
) -> None:
    revision = (await store.list("/")).revision
    with pytest.raises(ValueError):
        await store.transact(compares, then, otherwise)
    assert (await store.list("/")).revision == revision


async def test_a_key_may_stand_in_both_branches(store: CoordinationStore) -> None:
    assert (await store.transact([absent("/a")], [Put("/a", b"1")], [Delete("/a")])).succeeded
    assert not (await store.transact([absent("/a")], [Put("/a", b"1")], [Delete("/a")])).succeeded
    assert await store.get("/a") is None


async def test_concurrent_counters_lose_no_step(store: CoordinationStore) -> None:
    await put(store, "/counter", b"0")

    async def step() -> int:
        for attempt in range(1000):
            read = await item(store, "/counter")
            if (await store.transact([unchanged(read)], [Put("/counter", b"%d" % (int(read.value) + 1))])).succeeded:
                return attempt
        raise AssertionError("no progress")

    await soon(asyncio.gather(*(step() for _ in range(20))))
    assert (await item(store, "/counter")).value == b"20"


async def test_only_one_of_many_creates_a_key(store: CoordinationStore) -> None:
    results = await soon(
        asyncio.gather(*(store.transact([absent("/a")], [Put("/a", b"%d" % each)]) for each in range(30)))
    )
    assert [result.succeeded for result in results].count(True) == 1
    winner = next(index for index, result in enumerate(results) if result.succeeded)
    assert (await item(store, "/a")).value == b"%d" % winner


async def test_concurrent_writes_get_revisions_of_their_own(store: CoordinationStore) -> None:
    results = await soon(asyncio.gather(*(store.transact([], [Put(f"/{each}", b"")]) for each in range(50))))
    revisions = [result.revision for result in results]
    assert len(set(revisions)) == len(revisions)
    for number, revision in enumerate(revisions):
        assert (await item(store, f"/{number}")).mod_revision == revision


async def test_a_write_is_read_by_its_writer(store: CoordinationStore) -> None:
    for number in range(10):
        revision = await put(store, "/a", b"%d" % number)
        assert (await item(store, "/a")).mod_revision == revision
        assert (await store.list("/a")).revision >= revision


async def test_after_close_everything_is_unavailable(store: CoordinationStore) -> None:
    await put(store, "/a", b"1")
    lease = await store.grant_lease(1000)
    watch = store.watch("/", 1_000_000)
    waiting = asyncio.ensure_future(watch.__anext__())
    await asyncio.sleep(0)
    await store.close()
    with pytest.raises(CoordinationUnavailableError):
        await soon(waiting)
    for call in (
        store.get("/a"),
        store.list("/"),
        store.transact([], [Put("/a", b"2")]),
        store.grant_lease(1000),
        store.keep_alive(lease.lease_id),
        store.revoke_lease(lease.lease_id),
        store.compact(1),
        store.watch("/", 1_000_000).__anext__(),
    ):
        with pytest.raises(CoordinationUnavailableError):
            await soon(call)
    await store.close()
