"""Dead letters are moved back."""

from app.sqs.calls.sqs_services import CallContext
from app.sqs.queues.move_tasks import MoveTask
from app.sqs.shapes import (
    CancelMessageMoveTaskInput,
    CancelMessageMoveTaskResult,
    ListMessageMoveTasksInput,
    ListMessageMoveTasksResult,
    MoveTaskEntry,
    StartMessageMoveTaskInput,
    StartMessageMoveTaskResult,
)

TASKS_DEFAULT = 1


async def start_message_move_task(asked: StartMessageMoveTaskInput, context: CallContext) -> StartMessageMoveTaskResult:
    handle = await context.services.queues.start_move(
        asked.source_arn, asked.destination_arn, asked.max_number_of_messages_per_second, context.principal
    )
    return StartMessageMoveTaskResult(task_handle=handle)


async def list_message_move_tasks(asked: ListMessageMoveTasksInput, context: CallContext) -> ListMessageMoveTasksResult:
    limit = TASKS_DEFAULT if asked.max_results is None else asked.max_results
    tasks = await context.services.queues.moves(asked.source_arn, limit, context.principal)
    return ListMessageMoveTasksResult(results=[_entry(task) for task in tasks] or None)


async def cancel_message_move_task(
    asked: CancelMessageMoveTaskInput, context: CallContext
) -> CancelMessageMoveTaskResult:
    moved = await context.services.queues.cancel_move(asked.task_handle, context.principal)
    return CancelMessageMoveTaskResult(approximate_number_of_messages_moved=moved)


def _entry(task: MoveTask) -> MoveTaskEntry:
    return MoveTaskEntry(
        task_handle=task.handle,
        status=task.status.value,
        source_arn=task.source_arn,
        destination_arn=task.destination_arn,
        max_number_of_messages_per_second=task.rate_per_second,
        approximate_number_of_messages_moved=task.moved,
        approximate_number_of_messages_to_move=task.to_move,
        failure_reason=task.failure_reason,
        started_timestamp=task.started_at_ms,
    )
