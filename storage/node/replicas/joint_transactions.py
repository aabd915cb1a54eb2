"""Guarded writes that wait for the store while others are on their way go together, in one transaction.

When a node returns, every partition that it holds changes its in-sync replicas. Each transaction is a revision that
every watcher of the store looks at for itself, so a thousand of them keep all views of the cluster behind for seconds,
also for the news that matters then.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from cluster.ports.coordination import (
    MAX_TRANSACTION_OPERATIONS,
    Compare,
    CompareTarget,
    CoordinationError,
    CoordinationStore,
    Put,
    TransactionResult,
)


@dataclass(frozen=True, slots=True, eq=False)
class _Write:
    compares: tuple[Compare, ...]
    put: Put
    answer: asyncio.Future[TransactionResult]


class JointTransactions:
    """One transaction at a time. Whoever writes waits for the answer, which bounds what waits here."""

    def __init__(self, store: CoordinationStore, *, compares_max: int = MAX_TRANSACTION_OPERATIONS) -> None:
        self._store = store
        self._compares_max = compares_max
        self._waiting: deque[_Write] = deque()
        self._working: asyncio.Task[None] | None = None

    async def transact(self, compares: Sequence[Compare], put: Put) -> TransactionResult:
        """As the store's, for one write: it is done if all `compares` hold, whatever becomes of others that go along.

        Raises CoordinationError. A cancelled write may be done, or be done later.
        """
        write = _Write(tuple(compares), put, asyncio.get_running_loop().create_future())
        self._waiting.append(write)
        if self._working is None:
            self._working = asyncio.get_running_loop().create_task(self._work(), name="joint transactions")
        return await write.answer

    async def _work(self) -> None:
        try:
            while self._waiting:
                writes = take_together(self._waiting, compares_max=self._compares_max)
                if writes:
                    await self._transact(writes)
        finally:
            self._working = None
            for write in self._waiting:  # only after a cancellation: nobody may wait for ever
                write.answer.cancel()
            self._waiting.clear()

    async def _transact(self, writes: list[_Write]) -> None:
        """A refusal does not say who is out of date: halves find it, so that one does not hold up the others."""
        try:
            result = await self._store.transact(_compares_of(writes), [write.put for write in writes])
        except CoordinationError as error:
            _fail(writes, error)
        except BaseException as error:
            _fail(writes, error if isinstance(error, Exception) else asyncio.CancelledError())
            raise
        else:
            if result.succeeded or len(writes) == 1:
                for write in writes:
                    if not write.answer.done():
                        write.answer.set_result(result)
                return
            middle = len(writes) // 2
            await self._transact(writes[:middle])
            await self._transact(writes[middle:])


def take_together(waiting: deque[_Write], *, compares_max: int) -> list[_Write]:
    """Those at the front that may share a transaction: within the limits, each key written once, and no two of them
    expecting different things of the same key. Cancelled ones are dropped. The first always goes."""
    taken: list[_Write] = []
    expected: dict[tuple[str, CompareTarget], int | bytes] = {}
    keys_written: set[str] = set()
    while waiting:
        write = waiting[0]
        if write.answer.done():
            waiting.popleft()
            continue
        wanted = {(each.key, each.target): each.value for each in write.compares}
        is_at_odds = any(expected.get(place, value) != value for place, value in wanted.items())
        is_full = len(taken) == MAX_TRANSACTION_OPERATIONS or len(expected | wanted) > compares_max
        if taken and (is_at_odds or is_full or write.put.key in keys_written):
            break
        expected |= wanted
        keys_written.add(write.put.key)
        taken.append(waiting.popleft())
    return taken


def _compares_of(writes: Sequence[_Write]) -> list[Compare]:
    return list(dict.fromkeys(compare for write in writes for compare in write.compares))


def _fail(writes: Sequence[_Write], error: BaseException) -> None:
    for write in writes:
        if not write.answer.done():
            write.answer.set_exception(error)
