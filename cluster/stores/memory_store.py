"""The coordination store in memory: for simulations and tests. Nothing of it survives the process."""

from cluster.ports.clock import Clock
from cluster.ports.coordination import TransactionResult
from cluster.stores.key_space import KeySpace, Request
from cluster.stores.local_store import LocalStore
from cluster.stores.store_settings import StoreSettings


class MemoryStore(LocalStore):
    """`cluster.ports.coordination.CoordinationStore`: a transaction is a fact at once."""

    def __init__(self, clock: Clock, settings: StoreSettings | None = None) -> None:
        super().__init__(KeySpace(), clock, settings or StoreSettings())

    async def _perform(self, request: Request) -> TransactionResult:
        decision = self._keys.decide(request)
        self._publish(decision.mutation)
        return TransactionResult(decision.succeeded, decision.mutation.revision)
