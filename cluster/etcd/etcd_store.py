"""The coordination store in etcd: what a cluster has where the embedded server has SQLite.

Every write is one transaction. A try is repeated only where etcd refused before it did anything, or where doing it
twice is the same as once; a transaction that got no answer is reported as unknown (rule R18).
"""

import asyncio
from collections.abc import Callable, Sequence

from cluster.etcd import acklog_etcd_pb2 as messages
from cluster.etcd.call_tries import CallKind, RefusedError
from cluster.etcd.client import EtcdClient
from cluster.etcd.etcd_settings import EtcdSettings, EtcdTls
from cluster.etcd.etcd_watch import EtcdWatch
from cluster.etcd.failures import EtcdFailure
from cluster.etcd.lease_ledger import LeaseLedger
from cluster.etcd.methods import COMPACT, LEASE_GRANT, LEASE_KEEP_ALIVE, LEASE_REVOKE, RANGE, TXN
from cluster.etcd.translation import key_bytes, key_value, prefix_range, transaction_request
from cluster.etcd.watch_cursor import FIRST_REVISION
from cluster.ports.clock import Clock
from cluster.ports.coordination import (
    Compare,
    CoordinationError,
    CoordinationUnavailableError,
    KeyValue,
    LeaseLostError,
    Listing,
    Operation,
    StoreLease,
    TransactionResult,
)
from cluster.ports.entropy import Entropy
from cluster.stores.key_space import Transaction

_LEASE_ID_MASK = (1 << 63) - 1  # etcd's lease ids are positive


class EtcdStore:
    """`cluster.ports.coordination.CoordinationStore`. Connects when it is first used. For one event loop; close it
    there. `on_call`: as with EtcdClient."""

    def __init__(
        self,
        settings: EtcdSettings,
        *,
        clock: Clock,
        entropy: Entropy,
        on_call: Callable[[str, float], None] = lambda _method, _seconds: None,
        tls: Callable[[], EtcdTls | None] | None = None,
    ) -> None:
        """`tls` tells what a connection is opened with at the time; None: always with what the settings say."""
        self._settings = settings
        self._clock = clock
        self._entropy = entropy
        self._client = EtcdClient(
            settings, clock=clock, entropy=entropy, on_call=on_call, tls=tls or (lambda: settings.tls)
        )
        self._leases = LeaseLedger(margin_ms=settings.lease_margin_ms, leases_max=settings.leases_max)
        self._watches: dict[EtcdWatch, None] = {}

    # --- keys ---

    async def get(self, key: str) -> KeyValue | None:
        request = messages.RangeRequest(key=key_bytes(key))
        answer = await self._client.call(RANGE, request, CallKind.READ)
        return key_value(answer.kvs[0]) if answer.kvs else None

    async def list(self, prefix: str) -> Listing:
        for _ in range(self._settings.listing_restarts_max + 1):
            try:
                return await self._list(prefix)
            except RefusedError as error:
                if error.failure is not EtcdFailure.COMPACTED:
                    raise
        raise CoordinationUnavailableError(f"the history is compacted faster than {prefix!r} can be listed")

    async def _list(self, prefix: str) -> Listing:
        """Page by page, all at the first page's revision."""
        start, end = prefix_range(prefix)
        revision = 0
        items: list[KeyValue] = []
        while True:
            request = messages.RangeRequest(
                key=start, range_end=end, limit=self._settings.listing_page_keys, revision=revision
            )
            answer = await self._client.call(RANGE, request, CallKind.READ)
            revision = revision or answer.header.revision
            items.extend(key_value(each) for each in answer.kvs)
            if not answer.more:
                return Listing(revision, tuple(items))
            start = answer.kvs[-1].key + b"\0"

    async def transact(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        self._client.check_open()
        transaction = Transaction(tuple(compares), tuple(then), tuple(otherwise))
        request = transaction_request(transaction)
        size_bytes = request.ByteSize()
        if size_bytes > self._settings.request_bytes_max:
            raise ValueError(f"the transaction has {size_bytes} bytes, over {self._settings.request_bytes_max}")
        kind = CallKind.WRITE if transaction.then or transaction.otherwise else CallKind.READ
        try:
            answer = await self._client.call(TXN, request, kind)
        except RefusedError as error:
            if error.failure is EtcdFailure.LEASE_NOT_FOUND:
                raise LeaseLostError("the transaction writes a key under a lease that has ended") from error
            raise
        return TransactionResult(answer.succeeded, answer.header.revision)

    async def compact(self, revision: int) -> None:
        """etcd keeps the revision before as well: a watch needs it to see that nothing is missing (`WatchCursor`)."""
        self._client.check_open()
        request = messages.CompactionRequest(revision=revision - 1)
        if request.revision < FIRST_REVISION:
            return
        try:
            await self._client.call(COMPACT, request, CallKind.REPEATABLE)
        except RefusedError as error:
            if error.failure is EtcdFailure.FUTURE_REVISION:
                raise ValueError(f"revision {revision} does not exist yet") from error
            if error.failure is not EtcdFailure.COMPACTED:
                raise

    # --- leases ---

    async def grant_lease(self, ttl_ms: int) -> StoreLease:
        """In whole seconds, rounded up, and not below etcd's own minimum (1.5 times its election timeout)."""
        self._client.check_open()
        if ttl_ms <= 0:
            raise ValueError(f"a lease of {ttl_ms} ms would never live")
        asked_at_ms = self._clock.monotonic_ms()
        self._leases.check_room(asked_at_ms)
        ttl_s = -(-ttl_ms // 1000)
        lease_id = (self._entropy.bits64() & _LEASE_ID_MASK) or 1
        try:
            request = messages.LeaseGrantRequest(TTL=ttl_s, ID=lease_id)
            ttl_s = (await self._client.call(LEASE_GRANT, request, CallKind.REPEATABLE)).TTL
        except RefusedError as error:
            # The id is ours alone, so a lease that exists already is what an earlier try of this call has granted.
            if error.failure is not EtcdFailure.LEASE_EXISTS or not error.maybe_done:
                raise
        lease = StoreLease(lease_id, ttl_s * 1000)
        now_ms = self._clock.monotonic_ms()
        self._leases.renewed(lease_id, asked_at_ms=asked_at_ms, ttl_ms=lease.ttl_ms, now_ms=now_ms)
        return lease

    async def keep_alive(self, lease_id: int) -> None:
        """A lease that etcd did not renew in time is lost here before etcd can end it, and stays lost."""
        self._client.check_open()
        asked_at_ms = self._clock.monotonic_ms()
        left_ms = self._leases.left_ms(lease_id, asked_at_ms)
        if left_ms is None:
            self._leases.check_room(asked_at_ms)
            left_ms = self._settings.request_timeout_ms
        timeout_ms = min(left_ms, self._settings.request_timeout_ms)
        request = messages.LeaseKeepAliveRequest(ID=lease_id)
        try:
            answer = await self._client.call(LEASE_KEEP_ALIVE, request, CallKind.REPEATABLE, timeout_ms=timeout_ms)
        except RefusedError as error:
            if error.failure is not EtcdFailure.LEASE_NOT_FOUND:
                raise
            self._lose(lease_id)
        except CoordinationError:
            self._leases.left_ms(lease_id, self._clock.monotonic_ms())
            raise
        else:
            if answer.TTL <= 0:
                self._lose(lease_id)
            now_ms = self._clock.monotonic_ms()
            self._leases.renewed(lease_id, asked_at_ms=asked_at_ms, ttl_ms=answer.TTL * 1000, now_ms=now_ms)

    def _lose(self, lease_id: int) -> None:
        self._leases.lost(lease_id)
        raise LeaseLostError(f"lease {lease_id} has ended")

    async def revoke_lease(self, lease_id: int) -> None:
        """Also of a lease that was declared lost here: etcd may still have it, with its keys."""
        request = messages.LeaseRevokeRequest(ID=lease_id)
        try:
            await self._client.call(LEASE_REVOKE, request, CallKind.REPEATABLE)
        except RefusedError as error:
            if error.failure is not EtcdFailure.LEASE_NOT_FOUND:
                raise
            if not error.maybe_done:
                self._lose(lease_id)
        self._leases.lost(lease_id)

    # --- watches ---

    def watch(self, prefix: str, start_revision: int) -> EtcdWatch:
        if len(self._watches) >= self._settings.watches_max:
            raise CoordinationUnavailableError(f"there are {self._settings.watches_max} watches already")
        watch = EtcdWatch(
            self._client,
            prefix,
            start_revision,
            settings=self._settings,
            clock=self._clock,
            entropy=self._entropy,
            on_end=self._forget,
        )
        self._watches[watch] = None
        return watch

    def _forget(self, watch: EtcdWatch) -> None:
        self._watches.pop(watch, None)

    # --- the end ---

    async def close(self) -> None:
        """Returns once every connection is closed. Calls under way get `close_grace_ms`, then they are given up: their
        callers hear that the store is unavailable, or the outcome unknown."""
        failure = CoordinationUnavailableError("the store is closed")
        await asyncio.gather(*(watch.fail(failure) for watch in list(self._watches)))
        await self._client.close()
