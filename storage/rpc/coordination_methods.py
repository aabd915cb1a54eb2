"""The calls of `storage.rpc.coordination_api` on the wire. No process of a cluster makes or answers them."""

from typing import Any

from storage.rpc import coordination_messages as messages
from storage.rpc.methods import Method

STORE_GET = Method(64, "store_get", messages.StoreGetRequest, messages.StoreGetResponse)
STORE_LIST = Method(65, "store_list", messages.StoreListRequest, messages.StoreListResponse)
STORE_TRANSACT = Method(
    66,
    "store_transact",
    messages.StoreTransactRequest,
    messages.StoreTransactResponse,
    changes_something=lambda request: bool(request.then or request.otherwise),
)
# A lease that nobody hears of, or that is kept alive once more, changes no key.
STORE_GRANT = Method(67, "store_grant", messages.StoreGrantRequest, messages.StoreGrantResponse)
STORE_KEEP_ALIVE = Method(68, "store_keep_alive", messages.StoreLeaseRequest, messages.StoreDone)
STORE_REVOKE = Method(
    69, "store_revoke", messages.StoreLeaseRequest, messages.StoreDone, changes_something=lambda _request: True
)
STORE_WATCH = Method(70, "store_watch", messages.StoreWatchRequest, messages.StoreWatchResponse)
STORE_COMPACT = Method(71, "store_compact", messages.StoreCompactRequest, messages.StoreDone)

COORDINATION_METHODS: dict[int, Method[Any, Any]] = {
    method.number: method
    for method in (
        STORE_GET,
        STORE_LIST,
        STORE_TRANSACT,
        STORE_GRANT,
        STORE_KEEP_ALIVE,
        STORE_REVOKE,
        STORE_WATCH,
        STORE_COMPACT,
    )
}
"""CoordinationApi's."""
