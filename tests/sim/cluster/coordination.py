"""The coordination store as the simulated processes have it: one store that all share, behind connections that lag,
break, lose questions and lose answers.

What a connection may do is what `cluster.ports.coordination` allows and etcd does: a write whose answer is lost may
have happened, not have happened, or happen later; a watch may be late, break, and find its history compacted. While the
store has no quorum, nothing is answered and no lease ends; those that exist live as much longer afterwards.
"""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from cluster.ports.coordination import (
    Compare,
    CoordinationError,
    CoordinationUnavailableError,
    KeyValue,
    Listing,
    Operation,
    OutcomeUnknownError,
    StoreLease,
    TransactionResult,
    Watch,
    WatchBatch,
)
from cluster.stores.memory_store import MemoryStore
from cluster.stores.store_settings import StoreSettings
from tests.sim.cluster.links import COORDINATION, Links
from tests.sim.environment import FIRST_WALL_MS
from tests.sim.loop import SimLoop
from tests.sim.process import Process, ProcessDiedError, begin_outside, outside

_Result = TypeVar("_Result")

REQUEST_TIMEOUT_S = 5.0
LATE_WRITE_MS_MAX = 5_000


@dataclass(frozen=True, slots=True)
class CoordinationFaults:
    """Probabilities for each request, or each batch of a watch."""

    refused: float = 0.0
    """Certainly without effect."""

    unknown: float = 0.0
    """The answer to a write is lost; a third of them are never done, a third at once, a third later."""

    broken_watch: float = 0.0
    watch_lag_ms: float = 1.0


NO_FAULTS = CoordinationFaults()


class StoreClock:
    """Virtual time, but for the times without a quorum, in which no lease ends."""

    def __init__(self, loop: SimLoop) -> None:
        self._loop = loop
        self._lost_ms = 0.0
        self._stopped_at_s: float | None = None

    def stop(self) -> None:
        if self._stopped_at_s is None:
            self._stopped_at_s = self._loop.time()

    def go_on(self) -> None:
        if self._stopped_at_s is not None:
            self._lost_ms += (self._loop.time() - self._stopped_at_s) * 1000
            self._stopped_at_s = None

    def monotonic_ms(self) -> int:
        now_s = self._loop.time() if self._stopped_at_s is None else self._stopped_at_s
        return int(now_s * 1000 - self._lost_ms + 1e-6)

    def now_ms(self) -> int:
        return FIRST_WALL_MS + self.monotonic_ms()

    async def sleep(self, duration_ms: float) -> None:
        await asyncio.sleep(duration_ms / 1000)


class Coordination:
    """What all connections share. `faults` may be changed at any time."""

    def __init__(
        self, loop: SimLoop, links: Links, rng: random.Random, coverage: Counter[str], faults: CoordinationFaults
    ) -> None:
        self.links = links
        self.coverage = coverage
        self.random = rng
        self.faults = faults
        self._clock = StoreClock(loop)
        self.store = MemoryStore(self._clock, StoreSettings())
        self._has_quorum = asyncio.Event()
        self._has_quorum.set()

    def connect(self, host: str, process: Process) -> "StoreConnection":
        return StoreConnection(self, host, process)

    @property
    def has_quorum(self) -> bool:
        return self._has_quorum.is_set()

    def lose_quorum(self) -> None:
        self._clock.stop()
        self._has_quorum.clear()

    def regain_quorum(self) -> None:
        self._clock.go_on()
        self._has_quorum.set()

    async def quorum(self) -> None:
        await self._has_quorum.wait()

    async def compact(self) -> None:
        """Forget all history: whoever is not up to date has to list again."""
        revision = (await self.store.list("/")).revision
        await self.store.compact(revision + 1)


class StoreConnection:
    """`cluster.ports.coordination.CoordinationStore` as one process has it."""

    def __init__(self, shared: Coordination, host: str, process: Process) -> None:
        self._shared = shared
        self._process = process
        self.way_there = shared.links.link(host, COORDINATION)
        self.way_back = shared.links.link(COORDINATION, host)
        self._watches: list[ConnectionWatch] = []

    # --- the port ---

    async def get(self, key: str) -> KeyValue | None:
        return await self._do(lambda: self._shared.store.get(key))

    async def list(self, prefix: str) -> Listing:
        return await self._do(lambda: self._shared.store.list(prefix))

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        return await self._write(lambda: self._shared.store.transact(compares, then, otherwise))

    async def grant_lease(self, ttl_ms: int) -> StoreLease:
        return await self._do(lambda: self._shared.store.grant_lease(ttl_ms))

    async def keep_alive(self, lease_id: int) -> None:
        await self._do(lambda: self._shared.store.keep_alive(lease_id))

    async def revoke_lease(self, lease_id: int) -> None:
        await self._write(lambda: self._shared.store.revoke_lease(lease_id))

    def watch(self, prefix: str, start_revision: int) -> Watch:
        self._watches = [watch for watch in self._watches if not watch.is_closed]
        watch = ConnectionWatch(self._shared, self, prefix, start_revision)
        self._watches.append(watch)
        return watch

    async def compact(self, revision: int) -> None:
        await self._do(lambda: self._shared.store.compact(revision))

    async def close(self) -> None:
        """The store outlives the process."""
        self.end()

    def end(self) -> None:
        """The process is gone, and its streams with it."""
        for watch in self._watches:
            watch.end()
        self._watches.clear()

    # --- one exchange ---

    async def _do(self, work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        self._check_alive()
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                return await outside(self._exchange(work))
        except TimeoutError as error:
            raise CoordinationUnavailableError("no answer in time") from error

    async def _write(self, work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        self._check_alive()
        if self._chance(self._shared.faults.unknown):
            return await self._lose_answer(work)
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                return await outside(self._exchange(work))
        except TimeoutError as error:
            self._shared.coverage["store timeouts"] += 1
            raise OutcomeUnknownError("no answer in time") from error

    async def _exchange(self, work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        shared = self._shared
        await self.way_there.opened()
        await asyncio.sleep(shared.links.delay_s(self.way_there))
        await shared.quorum()
        if self._chance(shared.faults.refused):
            shared.coverage["store refusals"] += 1
            raise CoordinationUnavailableError("refused for once")
        result = await work()
        await self.way_back.opened()
        await asyncio.sleep(shared.links.delay_s(self.way_back))
        return result

    async def _lose_answer(self, work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        shared = self._shared
        fate = shared.random.choice(("never", "now", "later"))
        shared.coverage[f"store unknown: {fate}"] += 1
        if fate != "never":
            late_s = 0.0 if fate == "now" else shared.random.uniform(0, LATE_WRITE_MS_MAX) / 1000
            doing = begin_outside(self._do_late(work, late_s))
            if fate == "now":
                await asyncio.shield(doing)
        await asyncio.sleep(shared.links.delay_s(self.way_back))
        raise OutcomeUnknownError("the answer was lost")

    async def _do_late(self, work: Callable[[], Coroutine[Any, Any, _Result]], late_s: float) -> None:
        await asyncio.sleep(late_s)
        await self._shared.quorum()
        try:
            await work()
        except CoordinationError:
            self._shared.coverage["store late writes refused"] += 1

    def _check_alive(self) -> None:
        if self._process.is_dead:
            raise ProcessDiedError(self._process.name)

    def _chance(self, probability: float) -> bool:
        return probability > 0 and self._shared.random.random() < probability


class ConnectionWatch:
    """`cluster.ports.coordination.Watch`, fed by a stream that outlives the process's pauses but not the process."""

    def __init__(self, shared: Coordination, connection: StoreConnection, prefix: str, start_revision: int) -> None:
        self.is_closed = False
        self._shared = shared
        self._connection = connection
        self._prefix = prefix
        self._start_revision = start_revision
        self._arrived: deque[WatchBatch | CoordinationError] = deque()
        self._news = asyncio.Event()
        self._pump: asyncio.Task[None] | None = None

    def __aiter__(self) -> "ConnectionWatch":
        return self

    async def __anext__(self) -> WatchBatch:
        if self._pump is None and not self.is_closed:
            self._pump = begin_outside(self._run())
        while not self.is_closed:
            if self._arrived:
                arrived = self._arrived.popleft()
                if isinstance(arrived, CoordinationError):
                    self.end()
                    raise arrived
                return arrived
            self._news.clear()
            await self._news.wait()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.end()

    def end(self) -> None:
        self.is_closed = True
        self._news.set()
        if self._pump is not None:
            self._pump.cancel()

    async def _run(self) -> None:
        shared, way_back = self._shared, self._connection.way_back
        try:
            watch = shared.store.watch(self._prefix, self._start_revision)
        except CoordinationError as error:
            self._arrive(error)
            return
        try:
            async for batch in watch:
                await way_back.opened()
                lag_ms = shared.random.expovariate(1 / shared.faults.watch_lag_ms)
                await asyncio.sleep(shared.links.delay_s(way_back) + lag_ms / 1000)
                if shared.random.random() < shared.faults.broken_watch:
                    shared.coverage["store watches broken"] += 1
                    self._arrive(CoordinationUnavailableError("the watch broke"))
                    return
                self._arrive(batch)
        except CoordinationError as error:
            shared.coverage[f"store watch {type(error).__name__}"] += 1
            self._arrive(error)
        finally:
            await watch.aclose()

    def _arrive(self, what: WatchBatch | CoordinationError) -> None:
        self._arrived.append(what)
        self._news.set()
