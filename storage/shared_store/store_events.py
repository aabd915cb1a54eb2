"""The changes that a watch delivers, and the operations of a transaction, as they travel and back."""

from cluster.ports.coordination import Changed, Delete, Event, Operation, Put, Removed, WatchBatch, key_of
from storage.rpc.coordination_messages import StoreEvent, StoreOperation, StoreWatchResponse


def sent_operation(operation: Operation) -> StoreOperation:
    if isinstance(operation, Put):
        return StoreOperation(operation.key, operation.value, operation.lease_id)
    return StoreOperation(operation.key, None)


def operation_of(sent: StoreOperation) -> Operation:
    return Delete(sent.key) if sent.value is None else Put(sent.key, sent.value, sent.lease_id)


def sent_batch(batch: WatchBatch) -> StoreWatchResponse:
    return StoreWatchResponse(batch.revision, [_sent_event(each) for each in batch.events])


def batch_of(sent: StoreWatchResponse) -> WatchBatch:
    return WatchBatch(sent.revision, tuple(_event_of(each, sent.revision) for each in sent.events))


def _sent_event(event: Event) -> StoreEvent:
    return StoreEvent(key_of(event), event.item if isinstance(event, Changed) else None)


def _event_of(sent: StoreEvent, revision: int) -> Event:
    return Removed(sent.key, revision) if sent.item is None else Changed(sent.item)
