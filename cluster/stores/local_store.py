"""What the coordination stores that live in one process have in common: reading, watching, leases.

They differ in how a request becomes a fact: `_perform`.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

from cluster.ports.clock import Clock
from cluster.ports.coordination import (
    NO_LEASE,
    Compare,
    CoordinationError,
    CoordinationUnavailableError,
    KeyValue,
    LeaseLostError,
    Listing,
    Operation,
    OutcomeUnknownError,
    StoreLease,
    TransactionResult,
    WatchBatch,
)
from cluster.stores.key_space import KeySpace, LeaseEnd, Mutation, Request, Transaction
from cluster.stores.lease_deadlines import LeaseDeadlines
from cluster.stores.revision_history import RevisionHistory
from cluster.stores.store_settings import StoreSettings


class LocalStore(ABC):
    """Base of `MemoryStore` and `SqliteStore`. `first_lease_id` must be above any lease of an earlier process."""

    def __init__(self, keys: KeySpace, clock: Clock, settings: StoreSettings, *, first_lease_id: int = 1) -> None:
        self._keys = keys
        self._clock = clock
        self._settings = settings
        self._next_lease_id = first_lease_id
        self._closed_reason: str | None = None
        self._history = RevisionHistory(
            keys.revision,
            revisions_max=settings.history_revisions_max,
            bytes_max=settings.history_bytes_max,
        )
        self._deadlines = LeaseDeadlines(clock, self._expire)
        self._watches: dict[LocalWatch, None] = {}

    @abstractmethod
    async def _perform(self, request: Request) -> TransactionResult:
        """Decide the request and make it a fact; `_publish` shows it. Raises what the port's `transact` does."""

    def _publish(self, mutation: Mutation) -> None:
        """Show a fact to readers and watches."""
        self._keys.apply(mutation)
        self._history.append(mutation)
        if mutation.ended_lease_id != NO_LEASE:
            self._deadlines.forget(mutation.ended_lease_id)
        if mutation.events:
            self._wake_watches()

    def _check_open(self) -> None:
        if self._closed_reason is not None:
            raise CoordinationUnavailableError(self._closed_reason)

    def _stop(self, reason: str) -> None:
        """Every later call, and every watch, raises CoordinationUnavailableError."""
        if self._closed_reason is None:
            self._closed_reason = reason
        self._wake_watches()

    # --- the port ---

    async def get(self, key: str) -> KeyValue | None:
        self._check_open()
        return self._keys.get(key)

    async def list(self, prefix: str) -> Listing:
        self._check_open()
        return self._keys.list(prefix)

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        self._check_open()
        return await self._perform(Transaction(tuple(compares), tuple(then), tuple(otherwise)))

    async def grant_lease(self, ttl_ms: int) -> StoreLease:
        self._check_open()
        if ttl_ms <= 0:
            raise ValueError(f"a lease of {ttl_ms} ms would never live")
        if self._keys.lease_count >= self._settings.leases_max:
            raise CoordinationUnavailableError(f"there are {self._settings.leases_max} leases already")
        lease = StoreLease(self._next_lease_id, ttl_ms)
        self._next_lease_id += 1
        self._grant(lease.lease_id)
        self._deadlines.start(lease)
        return lease

    def _grant(self, lease_id: int) -> None:
        self._keys.grant(lease_id)

    async def keep_alive(self, lease_id: int) -> None:
        self._check_open()
        self._deadlines.keep_alive(lease_id)

    async def revoke_lease(self, lease_id: int) -> None:
        self._check_open()
        await self._perform(LeaseEnd(lease_id))

    def watch(self, prefix: str, start_revision: int) -> "LocalWatch":
        if len(self._watches) >= self._settings.watches_max:
            raise CoordinationUnavailableError(f"there are {self._settings.watches_max} watches already")
        watch = LocalWatch(self, prefix, start_revision)
        self._watches[watch] = None
        return watch

    async def compact(self, revision: int) -> None:
        self._check_open()
        self._history.compact(revision)
        self._wake_watches()

    async def close(self) -> None:
        self._stop("the store is closed")
        await self._deadlines.close()

    # --- leases ---

    async def _expire(self, lease_id: int) -> None:
        while self._closed_reason is None:
            try:
                await self._perform(LeaseEnd(lease_id))
            except (LeaseLostError, OutcomeUnknownError):
                return
            except CoordinationUnavailableError:
                await self._clock.sleep(self._settings.expiry_retry_ms)
            else:
                return

    # --- watches ---

    def _wake_watches(self) -> None:
        for watch in self._watches:
            watch.wake()

    def forget_watch(self, watch: "LocalWatch") -> None:
        self._watches.pop(watch, None)

    def next_batch(self, prefix: str, revision: int) -> tuple[int, WatchBatch | None]:
        """The first batch under `prefix` from `revision` on, if there is one yet, and where to look on."""
        self._check_open()
        while revision <= self._history.newest_revision:
            batch = self._history.under(prefix, revision)
            revision += 1
            if batch is not None:
                return revision, batch
        return revision, None


class LocalWatch:
    """One watch, for one reader. It keeps no queue: it reads the store's history at its own pace."""

    def __init__(self, store: LocalStore, prefix: str, start_revision: int) -> None:
        self._store = store
        self._prefix = prefix
        self._revision = start_revision
        self._news = asyncio.Event()
        self._is_closed = False

    def wake(self) -> None:
        self._news.set()

    def __aiter__(self) -> "LocalWatch":
        return self

    async def __anext__(self) -> WatchBatch:
        while not self._is_closed:
            self._news.clear()
            try:
                self._revision, batch = self._store.next_batch(self._prefix, self._revision)
            except CoordinationError:
                self._store.forget_watch(self)
                raise
            if batch is not None:
                return batch
            await self._news.wait()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self._is_closed = True
        self._store.forget_watch(self)
        self._news.set()
