"""Which function does which call. `ReceiveMessage` has a way of its own: what it leases may have to go back."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from app.sqs.calls.move_calls import cancel_message_move_task, list_message_move_tasks, start_message_move_task
from app.sqs.calls.queue_calls import (
    create_queue,
    delete_queue,
    get_queue_attributes,
    get_queue_url,
    list_dead_letter_source_queues,
    list_queues,
    purge_queue,
    set_queue_attributes,
)
from app.sqs.calls.send_calls import send_message, send_message_batch
from app.sqs.calls.settle_calls import (
    change_message_visibility,
    change_message_visibility_batch,
    delete_message,
    delete_message_batch,
)
from app.sqs.calls.sqs_services import CallContext
from app.sqs.calls.tag_calls import add_permission, list_queue_tags, remove_permission, tag_queue, untag_queue

Handler = Callable[[Any, CallContext], Awaitable[msgspec.Struct | None]]
"""From the call's input to its result; None: the answer is empty."""

RECEIVE = "ReceiveMessage"

HANDLERS: Mapping[str, Handler] = {
    "CreateQueue": create_queue,
    "DeleteQueue": delete_queue,
    "ListQueues": list_queues,
    "GetQueueUrl": get_queue_url,
    "GetQueueAttributes": get_queue_attributes,
    "SetQueueAttributes": set_queue_attributes,
    "PurgeQueue": purge_queue,
    "ListDeadLetterSourceQueues": list_dead_letter_source_queues,
    "TagQueue": tag_queue,
    "UntagQueue": untag_queue,
    "ListQueueTags": list_queue_tags,
    "AddPermission": add_permission,
    "RemovePermission": remove_permission,
    "SendMessage": send_message,
    "SendMessageBatch": send_message_batch,
    "DeleteMessage": delete_message,
    "DeleteMessageBatch": delete_message_batch,
    "ChangeMessageVisibility": change_message_visibility,
    "ChangeMessageVisibilityBatch": change_message_visibility_batch,
    "StartMessageMoveTask": start_message_move_task,
    "ListMessageMoveTasks": list_message_move_tasks,
    "CancelMessageMoveTask": cancel_message_move_task,
}
