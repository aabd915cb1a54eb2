"""The coordination store of a server of several processes, as its gateways reach it over their connection."""

from typing import Protocol

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
    StoreWatchRequest,
    StoreWatchResponse,
)


class CoordinationApi(Protocol):
    """Every call answers; what the store raises is in the answer. A node of a cluster has none of it."""

    async def store_get(self, request: StoreGetRequest) -> StoreGetResponse: ...

    async def store_list(self, request: StoreListRequest) -> StoreListResponse: ...

    async def store_transact(self, request: StoreTransactRequest) -> StoreTransactResponse: ...

    async def store_grant(self, request: StoreGrantRequest) -> StoreGrantResponse: ...

    async def store_keep_alive(self, request: StoreLeaseRequest) -> StoreDone: ...

    async def store_revoke(self, request: StoreLeaseRequest) -> StoreDone: ...

    async def store_watch(self, request: StoreWatchRequest) -> StoreWatchResponse: ...

    async def store_compact(self, request: StoreCompactRequest) -> StoreDone: ...
