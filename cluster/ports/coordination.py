"""The coordination port: what etcd offers and Acklog uses of it, no more.

Three stores implement it (SQLite when embedded, memory for simulation, etcd in a cluster) and one contract suite
(`tests/contract/coordination`) holds them to the same words:

- Every successful write transaction takes one new revision; revisions never repeat or fall, also across restarts.
- A transaction is atomic: if every compare holds, `then` is applied, else `otherwise`; it takes at most
  MAX_TRANSACTION_OPERATIONS compares and as many operations, and names no key twice.
- A lease that is not kept alive for its time to live ends, and its keys are deleted in one revision.
- A watch delivers every later change under its prefix, in order, without gap or duplicate, grouped by revision. One
  that starts at a compacted revision raises CompactedError: list again, then watch from the listing's revision + 1.
  A store may read ahead for a watch, which then delivers what it has, also behind a compaction.
- Requests that are under way at the same time are done in any order.
- A write that raises OutcomeUnknownError may or may not have happened, or happen yet: read back, guarded by a compare.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

MAX_TRANSACTION_OPERATIONS = 128  # etcd's default --max-txn-ops
VALUE_BYTES_MAX = 1024 * 1024
NO_LEASE = 0


class CoordinationError(Exception):
    """The store could not do it; nothing was changed."""


class CoordinationUnavailableError(CoordinationError):
    """The store cannot be reached now; nothing was changed."""


class CoordinationFullError(CoordinationUnavailableError):
    """There is no space left where the store is kept. Nothing was changed."""


class OutcomeUnknownError(CoordinationError):
    """The write may or may not have happened, or may happen later."""


class CompactedError(CoordinationError):
    """The revision's history is gone; `oldest_revision` is the first that can still be watched."""

    def __init__(self, oldest_revision: int) -> None:
        super().__init__(f"history before revision {oldest_revision} is compacted")
        self.oldest_revision = oldest_revision


class LeaseLostError(CoordinationError):
    """The lease has ended or never existed."""


@dataclass(frozen=True, slots=True)
class KeyValue:
    """`version` counts the key's changes since it was created, from 1; `lease_id` is NO_LEASE for none."""

    key: str
    value: bytes
    create_revision: int
    mod_revision: int
    version: int
    lease_id: int = NO_LEASE


@dataclass(frozen=True, slots=True)
class Listing:
    """All keys under a prefix, sorted, as of `revision`."""

    revision: int
    items: tuple[KeyValue, ...]


class CompareTarget(Enum):
    CREATE_REVISION = "create_revision"  # 0: the key does not exist
    MOD_REVISION = "mod_revision"  # 0: the key does not exist
    VERSION = "version"  # 0: the key does not exist
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Compare:
    """Holds when `target` of `key` equals `value`. A VALUE compare of a missing key never holds."""

    key: str
    target: CompareTarget
    value: int | bytes


def absent(key: str) -> Compare:
    """Holds when `key` does not exist."""
    return Compare(key, CompareTarget.CREATE_REVISION, 0)


def unchanged(item: KeyValue) -> Compare:
    """Holds when nobody has written the key since `item` was read."""
    return Compare(item.key, CompareTarget.MOD_REVISION, item.mod_revision)


@dataclass(frozen=True, slots=True)
class Put:
    key: str
    value: bytes
    lease_id: int = NO_LEASE


@dataclass(frozen=True, slots=True)
class Delete:
    key: str


Operation = Put | Delete


@dataclass(frozen=True, slots=True)
class TransactionResult:
    """`succeeded`: all compares held. `revision` is the store's after the transaction."""

    succeeded: bool
    revision: int


@dataclass(frozen=True, slots=True)
class Changed:
    item: KeyValue


@dataclass(frozen=True, slots=True)
class Removed:
    key: str
    revision: int


Event = Changed | Removed


def key_of(event: Event) -> str:
    return event.item.key if isinstance(event, Changed) else event.key


@dataclass(frozen=True, slots=True)
class WatchBatch:
    """All changes of one revision under the watched prefix."""

    revision: int
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class StoreLease:
    lease_id: int
    ttl_ms: int


class Watch(Protocol):
    """An async iterator for one reader. Ends after `aclose`; raises CompactedError, CoordinationUnavailableError."""

    def __aiter__(self) -> "Watch": ...

    async def __anext__(self) -> WatchBatch: ...

    async def aclose(self) -> None: ...


class CoordinationStore(Protocol):
    async def get(self, key: str) -> KeyValue | None: ...

    async def list(self, prefix: str) -> Listing: ...

    async def transact(
        self,
        compares: Sequence[Compare],
        then: Sequence[Operation],
        otherwise: Sequence[Operation] = (),
    ) -> TransactionResult:
        """Raises CoordinationError (ValueError for a malformed transaction, LeaseLostError for a dead lease)."""
        ...

    async def grant_lease(self, ttl_ms: int) -> StoreLease: ...

    async def keep_alive(self, lease_id: int) -> None:
        """Start the lease's time to live anew; raises LeaseLostError when it has ended."""
        ...

    async def revoke_lease(self, lease_id: int) -> None:
        """End the lease and delete its keys; raises LeaseLostError when it has ended."""
        ...

    def watch(self, prefix: str, start_revision: int) -> Watch:
        """Changes under `prefix` from `start_revision` (inclusive) on. Close it to stop (`aclose`)."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget the history before `revision`."""
        ...

    async def close(self) -> None: ...
