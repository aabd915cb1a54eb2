"""The coordination store of another process of the same server, as if it were here."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
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
)
from cluster.stores.key_space import Transaction
from storage.rpc import coordination_methods as methods
from storage.rpc.coordination_messages import (
    StoreCompactRequest,
    StoreDone,
    StoreGetRequest,
    StoreGetResponse,
    StoreGrantRequest,
    StoreGrantResponse,
    StoreLeaseRequest,
    StoreListRequest,
    StoreListResponse,
    StoreTransactRequest,
    StoreTransactResponse,
    StoreWatchResponse,
)
from storage.rpc.methods import Method
from storage.rpc.rpc_channel import RpcChannel
from storage.shared_store.remote_watch import RemoteWatch
from storage.shared_store.store_events import sent_operation
from storage.shared_store.store_faults import raise_fault

TRANSACTION_BYTES_MAX = 4 * 1024 * 1024
"""Of all keys and values that one transaction writes or compares: it travels as one frame. More than etcd takes."""
LISTING_RESTARTS_MAX = 5
WATCHES_MAX = 1_000

_Request = TypeVar("_Request", bound=msgspec.Struct)
_Response = TypeVar(
    "_Response",
    StoreGetResponse,
    StoreListResponse,
    StoreTransactResponse,
    StoreGrantResponse,
    StoreWatchResponse,
    StoreDone,
)


class RemoteStore:
    """`cluster.ports.coordination.CoordinationStore`. Dials when it is first used; for one event loop. The channel is
    its own from here on."""

    def __init__(self, channel: RpcChannel) -> None:
        self._channel = channel
        self._watches: dict[RemoteWatch, None] = {}

    # --- keys ---

    async def get(self, key: str) -> KeyValue | None:
        return (await self._ask(methods.STORE_GET, StoreGetRequest(key))).item

    async def list(self, prefix: str) -> Listing:
        for _ in range(LISTING_RESTARTS_MAX + 1):
            listing = await self._list(prefix)
            if listing is not None:
                return listing
        raise CoordinationUnavailableError(f"too many list the store at once for {prefix!r} to be listed")

    async def _list(self, prefix: str) -> Listing | None:
        """Page by page, all of one revision. None: the rest of it was forgotten meanwhile."""
        items: list[KeyValue] = []
        number = 0
        while True:
            page = await self._ask(methods.STORE_LIST, StoreListRequest(prefix, number, len(items)))
            if page.is_gone:
                return None
            items.extend(page.items)
            if not page.listing:
                return Listing(page.revision, tuple(items))
            number = page.listing

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        transaction = Transaction(tuple(compares), tuple(then), tuple(otherwise))
        request = StoreTransactRequest(
            list(transaction.compares),
            [sent_operation(each) for each in transaction.then],
            [sent_operation(each) for each in transaction.otherwise],
        )
        size_bytes = _size_bytes(request)
        if size_bytes > TRANSACTION_BYTES_MAX:
            raise ValueError(f"the transaction has {size_bytes} bytes, over {TRANSACTION_BYTES_MAX}")
        answer = await self._ask(methods.STORE_TRANSACT, request)
        assert answer.result is not None, "without a fault there is a result"
        return answer.result

    async def compact(self, revision: int) -> None:
        await self._ask(methods.STORE_COMPACT, StoreCompactRequest(revision))

    # --- leases ---

    async def grant_lease(self, ttl_ms: int) -> StoreLease:
        answer = await self._ask(methods.STORE_GRANT, StoreGrantRequest(ttl_ms))
        assert answer.lease is not None, "without a fault there is a lease"
        return answer.lease

    async def keep_alive(self, lease_id: int) -> None:
        await self._ask(methods.STORE_KEEP_ALIVE, StoreLeaseRequest(lease_id))

    async def revoke_lease(self, lease_id: int) -> None:
        await self._ask(methods.STORE_REVOKE, StoreLeaseRequest(lease_id))

    # --- watches ---

    def watch(self, prefix: str, start_revision: int) -> RemoteWatch:
        if len(self._watches) >= WATCHES_MAX:
            raise CoordinationUnavailableError(f"there are {WATCHES_MAX} watches already")
        watch = RemoteWatch(self._ask, prefix, start_revision, on_end=self._forget)
        self._watches[watch] = None
        return watch

    def _forget(self, watch: RemoteWatch) -> None:
        self._watches.pop(watch, None)

    # --- the connection ---

    async def close(self) -> None:
        """Calls and watches that wait hear that the store is unavailable, or the outcome unknown."""
        await self._channel.close()

    async def _ask(
        self, method: Method[_Request, _Response], request: _Request, *, timeout_ms: int | None = None
    ) -> _Response:
        """Raises CoordinationError, and ValueError for what the store calls malformed."""
        try:
            answer = await self._channel.call(method, request, timeout_ms=timeout_ms)
        except ServerError as error:
            raise _failure_of(error, changes_something=method.changes_something(request)) from error
        raise_fault(answer.fault)
        return answer


def _failure_of(error: ServerError, *, changes_something: bool) -> CoordinationError:
    """INTERNAL is a bug at the other end, which may have come behind the write."""
    if error.code is ProblemCode.OUTCOME_UNKNOWN or (changes_something and error.code is ProblemCode.INTERNAL):
        return OutcomeUnknownError(error.detail)
    return CoordinationUnavailableError(error.detail)


def _size_bytes(request: StoreTransactRequest) -> int:
    written = sum(len(each.key.encode()) + len(each.value or b"") for each in (*request.then, *request.otherwise))
    compared = sum(
        len(each.key.encode()) + (len(each.value) if isinstance(each.value, bytes) else 0) for each in request.compares
    )
    return written + compared
