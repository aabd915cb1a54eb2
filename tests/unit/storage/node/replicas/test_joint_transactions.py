"""Writes that go together: fewer transactions, and each write is done or refused for itself."""

import asyncio
from collections import deque
from collections.abc import Sequence

import pytest

from cluster.ports.coordination import (
    MAX_TRANSACTION_OPERATIONS,
    Compare,
    CompareTarget,
    CoordinationUnavailableError,
    Operation,
    OutcomeUnknownError,
    Put,
    TransactionResult,
    absent,
)
from cluster.stores.memory_store import MemoryStore
from storage.node.replicas.joint_transactions import JointTransactions, _Write, take_together
from tests.support.manual_clock import ManualClock


class CountingStore(MemoryStore):
    """Counts transactions, holds them up until `gate` is set, and fails with what `failures` has."""

    def __init__(self) -> None:
        super().__init__(ManualClock())
        self.sizes: list[int] = []
        self.failures: deque[Exception] = deque()
        self.gate = asyncio.Event()
        self.gate.set()

    async def transact(self, compares: Sequence[Compare], operations: Sequence[Operation]) -> TransactionResult:
        self.sizes.append(len(operations))
        await self.gate.wait()
        if self.failures:
            raise self.failures.popleft()
        return await super().transact(compares, operations)


def put(number: int) -> Put:
    return Put(f"/key/{number}", b"value")


async def write_all(store: CountingStore, count: int, *, taken: Sequence[int] = ()) -> list[TransactionResult]:
    """Create so many keys; `taken` ones are there already."""
    for number in taken:
        await store.transact([], [put(number)])
    store.sizes.clear()
    joint = JointTransactions(store)
    return await asyncio.gather(*(joint.transact([absent(put(number).key)], put(number)) for number in range(count)))


async def test_what_waits_together_is_written_together_up_to_the_limit() -> None:
    store = CountingStore()
    results = await write_all(store, MAX_TRANSACTION_OPERATIONS + 5)
    assert all(result.succeeded for result in results)
    assert store.sizes == [MAX_TRANSACTION_OPERATIONS, 5]
    assert len((await store.list("/key/")).items) == MAX_TRANSACTION_OPERATIONS + 5


async def test_one_that_is_refused_does_not_hold_up_the_others() -> None:
    store = CountingStore()
    results = await write_all(store, 20, taken=[3, 17])
    assert [number for number, result in enumerate(results) if not result.succeeded] == [3, 17]
    items = {item.key: item for item in (await store.list("/key/")).items}
    assert len(items) == 20
    assert all(
        items[put(number).key].mod_revision == results[number].revision for number in range(20) if number not in (3, 17)
    )


@pytest.mark.parametrize("failure", [OutcomeUnknownError("?"), CoordinationUnavailableError("!")])
async def test_a_failure_is_that_of_every_write_in_it_and_of_no_later_one(failure: Exception) -> None:
    store = CountingStore()
    store.failures.append(failure)
    joint = JointTransactions(store)
    outcomes = await asyncio.gather(*(joint.transact([], put(number)) for number in range(3)), return_exceptions=True)
    assert outcomes == [failure] * 3
    assert (await joint.transact([], put(0))).succeeded


async def test_an_unforeseen_failure_leaves_nobody_waiting() -> None:
    store = CountingStore()
    store.failures.append(ZeroDivisionError())
    joint = JointTransactions(store)
    outcomes = await asyncio.gather(*(joint.transact([], put(number)) for number in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [ZeroDivisionError] * 3


async def test_what_comes_while_one_is_on_its_way_waits_and_a_cancelled_one_is_dropped() -> None:
    store = CountingStore()
    store.gate.clear()
    joint = JointTransactions(store)
    writes = [asyncio.create_task(joint.transact([], put(0)))]
    while not store.sizes:
        await asyncio.sleep(0)
    writes += [asyncio.create_task(joint.transact([], put(number))) for number in (1, 2, 3)]
    await asyncio.sleep(0)
    writes[2].cancel()
    store.gate.set()
    await asyncio.gather(*writes, return_exceptions=True)
    assert store.sizes == [1, 2]
    assert [item.key for item in (await store.list("/key/")).items] == ["/key/0", "/key/1", "/key/3"]


def waiting(*writes: tuple[Sequence[Compare], Put]) -> deque[_Write]:
    loop = asyncio.get_running_loop()
    return deque(_Write(tuple(compares), each, loop.create_future()) for compares, each in writes)


async def test_writes_that_expect_different_things_or_write_the_same_key_do_not_share_a_transaction() -> None:
    def at(revision: int) -> Compare:
        return Compare("/node", CompareTarget.MOD_REVISION, revision)

    queue = waiting(([at(1)], put(0)), ([at(1)], put(1)), ([at(2)], put(2)), ([at(2)], put(2)))
    assert [write.put.key for write in take_together(queue, compares_max=9)] == ["/key/0", "/key/1"]
    assert [write.put.key for write in take_together(queue, compares_max=9)] == ["/key/2"]
    assert len(take_together(queue, compares_max=9)) == 1
    assert not queue


async def test_compares_count_once_and_bound_what_goes_together() -> None:
    shared = absent("/node")
    queue = waiting(*(([shared, absent(put(number).key)], put(number)) for number in range(5)))
    assert len(take_together(queue, compares_max=4)) == 3
    assert len(take_together(queue, compares_max=1)) == 1, "the first always goes"
