"""Queues are made, found, changed and deleted."""

from app.sqs.calls.pages import name_of_token, page_limit, token_of
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
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.model.action import Action

NO_SUCH_QUEUE = "The specified queue does not exist."


async def create_queue(asked: CreateQueueInput, context: CallContext) -> CreateQueueResult:
    queue = await context.services.queues.create(
        asked.queue_name, asked.attributes or {}, asked.tags or {}, context.principal
    )
    return CreateQueueResult(queue_url=context.url_of(queue.name))


async def delete_queue(asked: DeleteQueueInput, context: CallContext) -> None:
    await context.services.queues.delete(context.named(asked.queue_url), context.principal)


async def list_queues(asked: ListQueuesInput, context: CallContext) -> ListQueuesResult:
    limit, after = page_limit(asked.max_results), name_of_token(asked.next_token)
    names, last = context.services.queues.list_page(asked.queue_name_prefix or "", limit, after, context.principal)
    # Who names no number gets no token: SQS ends the list there.
    token = None if asked.max_results is None else token_of(last)
    return ListQueuesResult(queue_urls=[context.url_of(name) for name in names] or None, next_token=token)


async def get_queue_url(asked: GetQueueUrlInput, context: CallContext) -> GetQueueUrlResult:
    owner = asked.queue_owner_aws_account_id
    if owner and owner != context.services.names.account:
        raise SqsError(SqsErrorCode.QUEUE_DOES_NOT_EXIST, NO_SUCH_QUEUE)
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
    limit, after = page_limit(asked.max_results), name_of_token(asked.next_token)
    name = context.named(asked.queue_url)
    names, last = await context.services.queues.dead_letter_sources(name, limit, after, context.principal)
    token = None if asked.max_results is None else token_of(last)
    return ListDeadLetterSourceQueuesResult(queue_urls=[context.url_of(each) for each in names], next_token=token)
