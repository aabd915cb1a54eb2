"""Messages that were received are deleted, or hidden for another time."""

from app.sqs.calls.batch import check_entry_ids, failed_entry
from app.sqs.calls.sqs_services import CallContext
from app.sqs.queue import Queue
from app.sqs.shapes import (
    ChangeMessageVisibilityBatchInput,
    ChangeMessageVisibilityBatchResult,
    ChangeMessageVisibilityInput,
    DeleteMessageBatchInput,
    DeleteMessageBatchResult,
    DeleteMessageInput,
    DoneEntry,
)
from cluster.model.action import Action


async def delete_message(asked: DeleteMessageInput, context: CallContext) -> None:
    queue = await _queue(asked.queue_url, context)
    [fault] = await context.services.messages.delete(queue, [asked.receipt_handle], context.principal)
    if fault is not None:
        raise fault.again()


async def delete_message_batch(asked: DeleteMessageBatchInput, context: CallContext) -> DeleteMessageBatchResult:
    check_entry_ids([entry.id for entry in asked.entries])
    queue = await _queue(asked.queue_url, context)
    handles = [entry.receipt_handle for entry in asked.entries]
    faults = await context.services.messages.delete(queue, handles, context.principal)
    outcomes = list(zip(asked.entries, faults, strict=True))
    return DeleteMessageBatchResult(
        successful=[DoneEntry(id=entry.id) for entry, fault in outcomes if fault is None],
        failed=[failed_entry(entry.id, fault) for entry, fault in outcomes if fault is not None],
    )


async def change_message_visibility(asked: ChangeMessageVisibilityInput, context: CallContext) -> None:
    queue = await _queue(asked.queue_url, context)
    changes = [(asked.receipt_handle, asked.visibility_timeout)]
    [fault] = await context.services.messages.change_visibility(queue, changes, context.principal)
    if fault is not None:
        raise fault.again()


async def change_message_visibility_batch(
    asked: ChangeMessageVisibilityBatchInput, context: CallContext
) -> ChangeMessageVisibilityBatchResult:
    check_entry_ids([entry.id for entry in asked.entries])
    queue = await _queue(asked.queue_url, context)
    changes = [(entry.receipt_handle, entry.visibility_timeout) for entry in asked.entries]
    faults = await context.services.messages.change_visibility(queue, changes, context.principal)
    outcomes = list(zip(asked.entries, faults, strict=True))
    return ChangeMessageVisibilityBatchResult(
        successful=[DoneEntry(id=entry.id) for entry, fault in outcomes if fault is None],
        failed=[failed_entry(entry.id, fault) for entry, fault in outcomes if fault is not None],
    )


async def _queue(queue_url: str | None, context: CallContext) -> Queue:
    return await context.services.queues.find(context.named(queue_url), context.principal, Action.SETTLE)
