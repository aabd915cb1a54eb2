"""Tags and permissions of queues."""

from app.sqs.calls.sqs_services import CallContext
from app.sqs.shapes import (
    AddPermissionInput,
    ListQueueTagsInput,
    ListQueueTagsResult,
    RemovePermissionInput,
    TagQueueInput,
    UntagQueueInput,
)


async def tag_queue(asked: TagQueueInput, context: CallContext) -> None:
    await context.services.queues.tag(context.named(asked.queue_url), asked.tags, context.principal)


async def untag_queue(asked: UntagQueueInput, context: CallContext) -> None:
    await context.services.queues.untag(context.named(asked.queue_url), asked.tag_keys, context.principal)


async def list_queue_tags(asked: ListQueueTagsInput, context: CallContext) -> ListQueueTagsResult:
    tags = await context.services.queues.tags(context.named(asked.queue_url), context.principal)
    return ListQueueTagsResult(tags=tags or None)


async def add_permission(asked: AddPermissionInput, context: CallContext) -> None:
    name = context.named(asked.queue_url)
    await context.services.queues.add_permission(name, asked.label, asked.account_ids, asked.actions, context.principal)


async def remove_permission(asked: RemovePermissionInput, context: CallContext) -> None:
    await context.services.queues.remove_permission(context.named(asked.queue_url), asked.label, context.principal)
