"""What a transaction does to the keys: the pure part of the stores that live in one process.

`decide` looks at the keys and says what would change; `apply` changes them. A store that must make a change durable
first decides on a copy that runs ahead, writes the mutation, and then applies it to the keys that readers see.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cluster.ports.coordination import (
    MAX_TRANSACTION_OPERATIONS,
    NO_LEASE,
    VALUE_BYTES_MAX,
    Changed,
    Compare,
    CompareTarget,
    Delete,
    Event,
    KeyValue,
    LeaseLostError,
    Listing,
    Operation,
    Put,
    Removed,
)

FIRST_REVISION = 1  # of an empty store, as in etcd; the first write takes the next one


@dataclass(frozen=True, slots=True)
class Transaction:
    """A checked transaction: see `cluster.ports.coordination`. Raises ValueError for a malformed one."""

    compares: tuple[Compare, ...]
    then: tuple[Operation, ...]
    otherwise: tuple[Operation, ...] = ()

    def __post_init__(self) -> None:
        if len(self.compares) > MAX_TRANSACTION_OPERATIONS:
            raise ValueError(f"{len(self.compares)} compares, the limit is {MAX_TRANSACTION_OPERATIONS}")
        for compare in self.compares:
            _check_compare(compare)
        _check_operations(self.then)
        _check_operations(self.otherwise)


@dataclass(frozen=True, slots=True)
class LeaseEnd:
    """The lease ends, and its keys are deleted in one revision."""

    lease_id: int


Request = Transaction | LeaseEnd


@dataclass(frozen=True, slots=True)
class Mutation:
    """What one request changes. Without events it takes no revision: `revision` is then the one before it."""

    revision: int
    events: tuple[Event, ...] = ()
    ended_lease_id: int = NO_LEASE


@dataclass(frozen=True, slots=True)
class TransactionOutcome:
    succeeded: bool
    mutation: Mutation


class KeySpace:
    def __init__(self, *, revision: int = FIRST_REVISION, items: Iterable[KeyValue] = ()) -> None:
        self.revision = revision
        self._items = {item.key: item for item in items}
        self._sorted_keys = sorted(self._items)
        self._lease_keys: dict[int, dict[str, None]] = {}
        for item in self._items.values():
            if item.lease_id != NO_LEASE:
                self._lease_keys.setdefault(item.lease_id, {})[item.key] = None

    def copy(self) -> "KeySpace":
        other = KeySpace(revision=self.revision, items=self._items.values())
        for lease_id in self._lease_keys:
            other._lease_keys.setdefault(lease_id, {})
        return other

    # --- reading ---

    def get(self, key: str) -> KeyValue | None:
        return self._items.get(key)

    def list(self, prefix: str) -> Listing:
        found = []
        for index in range(bisect_left(self._sorted_keys, prefix), len(self._sorted_keys)):
            key = self._sorted_keys[index]
            if not key.startswith(prefix):
                break
            found.append(self._items[key])
        return Listing(self.revision, tuple(found))

    def has_lease(self, lease_id: int) -> bool:
        return lease_id in self._lease_keys

    @property
    def lease_count(self) -> int:
        return len(self._lease_keys)

    # --- deciding ---

    def decide(self, request: Request) -> TransactionOutcome:
        """What the request would do now; raises LeaseLostError. Changes nothing."""
        if isinstance(request, LeaseEnd):
            return self._decide_lease_end(request.lease_id)
        succeeded = all(self._holds(compare) for compare in request.compares)
        operations = request.then if succeeded else request.otherwise
        revision = self.revision + 1
        events = tuple(event for event in (self._event(operation, revision) for operation in operations) if event)
        return TransactionOutcome(succeeded, Mutation(revision, events) if events else Mutation(self.revision))

    def _decide_lease_end(self, lease_id: int) -> TransactionOutcome:
        if lease_id not in self._lease_keys:
            raise LeaseLostError(f"lease {lease_id} has ended")
        keys = sorted(self._lease_keys[lease_id])
        revision = self.revision + 1 if keys else self.revision
        events = tuple(Removed(key, revision) for key in keys)
        return TransactionOutcome(True, Mutation(revision, events, ended_lease_id=lease_id))

    def _holds(self, compare: Compare) -> bool:
        item = self._items.get(compare.key)
        match compare.target:
            case CompareTarget.CREATE_REVISION:
                return compare.value == (item.create_revision if item else 0)
            case CompareTarget.MOD_REVISION:
                return compare.value == (item.mod_revision if item else 0)
            case CompareTarget.VERSION:
                return compare.value == (item.version if item else 0)
            case CompareTarget.VALUE:
                return item is not None and item.value == compare.value

    def _event(self, operation: Operation, revision: int) -> Event | None:
        before = self._items.get(operation.key)
        if isinstance(operation, Delete):
            return Removed(operation.key, revision) if before else None
        if operation.lease_id != NO_LEASE and operation.lease_id not in self._lease_keys:
            raise LeaseLostError(f"lease {operation.lease_id} has ended")
        return Changed(
            KeyValue(
                key=operation.key,
                value=operation.value,
                create_revision=before.create_revision if before else revision,
                mod_revision=revision,
                version=before.version + 1 if before else 1,
                lease_id=operation.lease_id,
            )
        )

    # --- applying ---

    def grant(self, lease_id: int) -> None:
        """A lease takes no revision, as in etcd."""
        self._lease_keys.setdefault(lease_id, {})

    def apply(self, mutation: Mutation) -> None:
        expected = self.revision + 1 if mutation.events else self.revision
        assert mutation.revision == expected, f"revision {mutation.revision} instead of {expected}"
        for event in mutation.events:
            if isinstance(event, Removed):
                self._remove(event.key)
            else:
                self._store(event.item)
        if mutation.ended_lease_id != NO_LEASE:
            left = self._lease_keys.pop(mutation.ended_lease_id)
            assert not left, f"lease {mutation.ended_lease_id} ended with keys: {sorted(left)}"
        self.revision = mutation.revision

    def _store(self, item: KeyValue) -> None:
        before = self._items.get(item.key)
        if before is None:
            insort(self._sorted_keys, item.key)
        elif before.lease_id != NO_LEASE:
            del self._lease_keys[before.lease_id][item.key]
        self._items[item.key] = item
        if item.lease_id != NO_LEASE:
            self._lease_keys[item.lease_id][item.key] = None

    def _remove(self, key: str) -> None:
        item = self._items.pop(key)
        del self._sorted_keys[bisect_left(self._sorted_keys, key)]
        if item.lease_id != NO_LEASE:
            del self._lease_keys[item.lease_id][key]


def _check_compare(compare: Compare) -> None:
    if not compare.key:
        raise ValueError("a key must not be empty")
    wanted = bytes if compare.target is CompareTarget.VALUE else int
    if not isinstance(compare.value, wanted):
        raise ValueError(f"{compare.target.value} of {compare.key!r} is compared with {type(compare.value).__name__}")


def _check_operations(operations: Sequence[Operation]) -> None:
    if len(operations) > MAX_TRANSACTION_OPERATIONS:
        raise ValueError(f"{len(operations)} operations, the limit is {MAX_TRANSACTION_OPERATIONS}")
    named: dict[str, None] = {}
    for operation in operations:
        if not operation.key:
            raise ValueError("a key must not be empty")
        if operation.key in named:
            raise ValueError(f"the key {operation.key!r} is named twice")
        named[operation.key] = None
        if isinstance(operation, Put) and len(operation.value) > VALUE_BYTES_MAX:
            raise ValueError(f"the value of {operation.key!r} has {len(operation.value)} bytes, over {VALUE_BYTES_MAX}")
