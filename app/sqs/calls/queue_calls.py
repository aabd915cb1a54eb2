"""Queues are made, found, changed and deleted."""

from app.sqs.calls.sqs_services import CallContext
from app.sqs.shapes import (
    CreateQueueInput,
    CreateQueueResult,
    DeleteQueueInput,
    GetQueueAttributesInput,
    GetQueueAttributesResult,
    GetQueueUrlInput,
    GetQueueUrlResult,
    ListDeadLetterSourceQueuesInput,
    ListDeadLetterSourceQueuesResult,
    ListQueuesInput,
    ListQueuesResult,
    PurgeQueueInput,
    SetQueueAttributesInput,
)
from cluster.model.action import Action

PAGE_MAX = 1_000


async def create_queue(asked: CreateQueueInput, context: CallContext) -> CreateQueueResult:
    queue = await context.services.queues.create(
        asked.queue_name, asked.attributes or {}, asked.tags or {}, context.principal
    )
    return CreateQueueResult(queue_url=context.url_of(queue.name))


async def delete_queue(asked: DeleteQueueInput, context: CallContext) -> None:
    await context.services.queues.delete(context.named(asked.queue_url), context.principal)


async def list_queues(asked: ListQueuesInput, context: CallContext) -> ListQueuesResult:
    names, token = context.services.queues.list_page(
        asked.queue_name_prefix or "", _page_limit(asked.max_results), asked.next_token or "", context.principal
    )
    urls = [context.url_of(name) for name in names]
    return ListQueuesResult(queue_urls=urls or None, next_token=_shown(token, asked.max_results))


async def get_queue_url(asked: GetQueueUrlInput, context: CallContext) -> GetQueueUrlResult:
    if asked.queue_owner_aws_account_id:
        context.services.names.require_owner(asked.queue_owner_aws_account_id)
    queue = await context.services.queues.find(asked.queue_name, context.principal, Action.LOOK)
    return GetQueueUrlResult(queue_url=context.url_of(queue.name))


async def get_queue_attributes(asked: GetQueueAttributesInput, context: CallContext) -> GetQueueAttributesResult:
    name, wanted = context.named(asked.queue_url), asked.attribute_names or []
    found = await context.services.queues.attributes(name, wanted, context.principal)
    return GetQueueAttributesResult(attributes=found or None)


async def set_queue_attributes(asked: SetQueueAttributesInput, context: CallContext) -> None:
    name = context.named(asked.queue_url)
    await context.services.queues.set_attributes(name, asked.attributes, context.principal)


async def purge_queue(asked: PurgeQueueInput, context: CallContext) -> None:
    await context.services.queues.purge(context.named(asked.queue_url), context.principal)


async def list_dead_letter_source_queues(
    asked: ListDeadLetterSourceQueuesInput, context: CallContext
) -> ListDeadLetterSourceQueuesResult:
    names, token = await context.services.queues.dead_letter_sources(
        context.named(asked.queue_url), _page_limit(asked.max_results), asked.next_token or "", context.principal
    )
    urls = [context.url_of(name) for name in names]
    return ListDeadLetterSourceQueuesResult(queue_urls=urls, next_token=_shown(token, asked.max_results))


def _page_limit(asked: int | None) -> int:
    return PAGE_MAX if asked is None else asked


def _shown(token: str | None, asked: int | None) -> str | None:
    """Who names no number gets no token: SQS ends the list there."""
    return None if asked is None else token
