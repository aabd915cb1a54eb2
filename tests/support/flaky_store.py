"""A coordination store that fails where a test says so, around a real one."""

from collections.abc import Callable, Sequence

from cluster.ports.coordination import (
    Compare,
    CoordinationError,
    CoordinationStore,
    KeyValue,
    Listing,
    Operation,
    StoreLease,
    TransactionResult,
    Watch,
)


class FlakyStore:
    """`before` and `after` hold the errors that the next calls of a method raise, instead of it or behind it."""

    def __init__(self, store: CoordinationStore) -> None:
        self.store = store
        self.before: dict[str, list[CoordinationError]] = {}
        self.after: dict[str, list[CoordinationError]] = {}
        self.calls: list[str] = []
        self.on_call: Callable[[str], None] | None = None

    def _enter(self, name: str) -> None:
        self.calls.append(name)
        if self.on_call is not None:
            self.on_call(name)
        if self.before.get(name):
            raise self.before[name].pop(0)

    def _leave(self, name: str) -> None:
        if self.after.get(name):
            raise self.after[name].pop(0)

    async def get(self, key: str) -> KeyValue | None:
        self._enter("get")
        return await self.store.get(key)

    async def list(self, prefix: str) -> Listing:
        self._enter("list")
        return await self.store.list(prefix)

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        self._enter("transact")
        result = await self.store.transact(compares, then, otherwise)
        self._leave("transact")
        return result

    async def grant_lease(self, ttl_ms: int) -> StoreLease:
        self._enter("grant_lease")
        return await self.store.grant_lease(ttl_ms)

    async def keep_alive(self, lease_id: int) -> None:
        self._enter("keep_alive")
        await self.store.keep_alive(lease_id)

    async def revoke_lease(self, lease_id: int) -> None:
        self._enter("revoke_lease")
        await self.store.revoke_lease(lease_id)

    def watch(self, prefix: str, start_revision: int) -> Watch:
        self._enter("watch")
        return self.store.watch(prefix, start_revision)

    async def compact(self, revision: int) -> None:
        await self.store.compact(revision)

    async def close(self) -> None:
        await self.store.close()
