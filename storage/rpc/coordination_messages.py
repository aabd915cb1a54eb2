"""What a gateway on the same machine asks of the storage process's coordination store, call by call as in
`cluster.ports.coordination`. Both are of one release, so fields have no history."""

import msgspec

from cluster.ports.coordination import Compare, KeyValue, StoreLease, TransactionResult


class _Message(msgspec.Struct, array_like=True, gc=False):
    pass


class StoreFault(_Message):
    """What the store has raised, by its kind. `oldest_revision` is that of a compaction."""

    kind: str
    text: str
    oldest_revision: int = 0


class StoreGetRequest(_Message):
    key: str


class StoreGetResponse(_Message):
    item: KeyValue | None = None
    fault: StoreFault | None = None


class StoreListRequest(_Message):
    """A listing too large for one answer goes on under the number that the answer before gave it, behind `offset`
    items."""

    prefix: str
    listing: int = 0
    offset: int = 0


class StoreListResponse(_Message):
    """`listing` is 0 when this is the end of it. `is_gone`: its rest is not kept any more, and it begins anew."""

    revision: int = 0
    items: list[KeyValue] = []
    listing: int = 0
    is_gone: bool = False
    fault: StoreFault | None = None


class StoreOperation(_Message):
    """`value` None deletes the key."""

    key: str
    value: bytes | None
    lease_id: int = 0


class StoreTransactRequest(_Message):
    compares: list[Compare]
    then: list[StoreOperation]
    otherwise: list[StoreOperation]


class StoreTransactResponse(_Message):
    result: TransactionResult | None = None
    fault: StoreFault | None = None


class StoreGrantRequest(_Message):
    ttl_ms: int


class StoreGrantResponse(_Message):
    lease: StoreLease | None = None
    fault: StoreFault | None = None


class StoreLeaseRequest(_Message):
    """To keep it alive, or to end it."""

    lease_id: int


class StoreWatchRequest(_Message):
    """The next changes under the prefix from a revision on, waited for at most that long."""

    prefix: str
    start_revision: int
    wait_ms: int


class StoreEvent(_Message):
    """`item` None: the key is removed."""

    key: str
    item: KeyValue | None


class StoreWatchResponse(_Message):
    """All changes of one revision; `revision` 0: nothing has changed yet."""

    revision: int = 0
    events: list[StoreEvent] = []
    fault: StoreFault | None = None


class StoreCompactRequest(_Message):
    revision: int


class StoreDone(_Message):
    fault: StoreFault | None = None
