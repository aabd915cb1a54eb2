"""The coordination store of the storage process, for the gateways around it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from cluster.ports.coordination import CoordinationError, CoordinationStore, KeyValue, Listing
from storage.rpc.coordination_messages import (
    StoreCompactRequest,
    StoreDone,
    StoreFault,
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
from storage.shared_store.store_events import operation_of, sent_batch
from storage.shared_store.store_faults import fault_of

_Answer = TypeVar("_Answer")
_KEY_VALUE_BYTES = 128
"""What a key-value takes beside its key and its value, at most."""


@dataclass(frozen=True, slots=True)
class ServedStoreSettings:
    listing_page_bytes: int = 4 * 1024 * 1024
    """Of a listing in one answer, but for a single value that is larger."""

    listings_max: int = 64
    """Listings of which the rest is kept for who asked; beyond it the oldest is forgotten, and begins anew."""

    watch_wait_ms_max: int = 60_000


class ServedStore:
    """Implements `storage.rpc.coordination_api.CoordinationApi`. The store stays whose it is: nothing closes it."""

    def __init__(self, store: CoordinationStore, settings: ServedStoreSettings | None = None) -> None:
        self._store = store
        self._settings = settings or ServedStoreSettings()
        self._listings: dict[int, Listing] = {}
        self._numbers = count(1)

    async def store_get(self, request: StoreGetRequest) -> StoreGetResponse:
        return await _answered(
            self._store.get(request.key), StoreGetResponse, lambda fault: StoreGetResponse(None, fault)
        )

    async def store_list(self, request: StoreListRequest) -> StoreListResponse:
        if request.listing:
            return self._go_on(request)
        try:
            listing = await self._store.list(request.prefix)
        except CoordinationError as error:
            return StoreListResponse(fault=fault_of(error))
        items = self._page(listing, 0)
        return StoreListResponse(listing.revision, items, self._keep(listing, len(items)))

    def _keep(self, listing: Listing, sent: int) -> int:
        """The number under which its rest can be asked for; 0: there is none."""
        if sent == len(listing.items):
            return 0
        number = next(self._numbers)
        self._listings[number] = listing
        while len(self._listings) > self._settings.listings_max:
            del self._listings[next(iter(self._listings))]
        return number

    def _go_on(self, request: StoreListRequest) -> StoreListResponse:
        listing = self._listings.get(request.listing)
        if listing is None:
            return StoreListResponse(is_gone=True)
        items = self._page(listing, request.offset)
        is_done = request.offset + len(items) == len(listing.items)
        if is_done:
            del self._listings[request.listing]
        return StoreListResponse(listing.revision, items, 0 if is_done else request.listing)

    def _page(self, listing: Listing, offset: int) -> list[KeyValue]:
        items: list[KeyValue] = []
        size_bytes = 0
        for position in range(offset, len(listing.items)):
            item = listing.items[position]
            size_bytes += len(item.key.encode()) + len(item.value) + _KEY_VALUE_BYTES
            if items and size_bytes > self._settings.listing_page_bytes:
                break
            items.append(item)
        return items

    async def store_transact(self, request: StoreTransactRequest) -> StoreTransactResponse:
        then = [operation_of(each) for each in request.then]
        otherwise = [operation_of(each) for each in request.otherwise]
        return await _answered(
            self._store.transact(request.compares, then, otherwise),
            StoreTransactResponse,
            lambda fault: StoreTransactResponse(None, fault),
        )

    async def store_grant(self, request: StoreGrantRequest) -> StoreGrantResponse:
        return await _answered(
            self._store.grant_lease(request.ttl_ms), StoreGrantResponse, lambda fault: StoreGrantResponse(None, fault)
        )

    async def store_keep_alive(self, request: StoreLeaseRequest) -> StoreDone:
        return await _done(self._store.keep_alive(request.lease_id))

    async def store_revoke(self, request: StoreLeaseRequest) -> StoreDone:
        return await _done(self._store.revoke_lease(request.lease_id))

    async def store_compact(self, request: StoreCompactRequest) -> StoreDone:
        return await _done(self._store.compact(request.revision))

    async def store_watch(self, request: StoreWatchRequest) -> StoreWatchResponse:
        """Nothing is remembered between two of these: who goes on says from which revision."""
        wait_ms = min(request.wait_ms, self._settings.watch_wait_ms_max)
        try:
            watch = self._store.watch(request.prefix, request.start_revision)
        except CoordinationError as error:
            return StoreWatchResponse(fault=fault_of(error))
        try:
            async with asyncio.timeout(wait_ms / 1000):
                return sent_batch(await watch.__anext__())
        except TimeoutError:
            return StoreWatchResponse()
        except CoordinationError as error:
            return StoreWatchResponse(fault=fault_of(error))
        finally:
            await watch.aclose()


async def _answered(
    result: Awaitable[object], make: Callable[..., _Answer], make_fault: Callable[[StoreFault], _Answer]
) -> _Answer:
    try:
        return make(await result)
    except (CoordinationError, ValueError) as error:
        return make_fault(fault_of(error))


async def _done(result: Awaitable[None]) -> StoreDone:
    try:
        await result
    except (CoordinationError, ValueError) as error:
        return StoreDone(fault_of(error))
    return StoreDone()
