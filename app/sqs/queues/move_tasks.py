"""Tasks that move the messages of a dead-letter queue: redrive jobs, as SQS names and shows them."""

import base64
import binascii
from dataclasses import dataclass
from enum import Enum

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.redrives import RedriveCommand, RedriveView
from app.services.redrives import RedriveService
from app.sqs.queue import Queue
from app.sqs.queues.queue_names import QueueNames
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.model.sqs_queue import is_queue_name

RATE_MAX = 500
TASKS_LISTED_MAX = 10
HANDLE_LENGTH_MAX = 512
JOB_ID_LENGTH_MAX = 64


class MoveTaskStatus(Enum):
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    CANCELLING = "CANCELLING"
    CANCELLED = "CANCELLED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class MoveTask:
    """`handle` is None but while it runs, `destination_arn` where each message goes to where it came from."""

    handle: str | None
    status: MoveTaskStatus
    source_arn: str
    destination_arn: str | None
    rate_per_second: int | None
    moved: int
    to_move: int
    started_at_ms: int
    failure_reason: str | None


@dataclass(frozen=True, slots=True)
class TaskHandle:
    """What names a task: the queue that it empties, and its job."""

    queue_name: str
    job_id: str

    def text(self) -> str:
        return base64.urlsafe_b64encode(f"{self.queue_name}/{self.job_id}".encode()).decode()


class MoveTasks:
    """Of queues that are there, and are dead-letter queues. Calls raise ServerError, too."""

    def __init__(self, redrives: RedriveService, names: QueueNames) -> None:
        self._redrives = redrives
        self._names = names

    async def start(self, source: Queue, destination: Queue | None, rate: int | None, principal: Principal) -> str:
        """The handle. Raises SqsError UNSUPPORTED_OPERATION, OVER_LIMIT."""
        to = None if destination is None else destination.name
        command = RedriveCommand(topic=source.name, to=to, rate_per_second=rate)
        try:
            view = await self._redrives.start(source.group.name, command, principal)
        except ServerError as error:
            if error.code is ProblemCode.REDRIVE_UNDER_WAY:
                detail = (
                    "There is already a task running. "
                    "Only one active task is allowed for a source queue arn at a given time."
                )
                raise SqsError(SqsErrorCode.UNSUPPORTED_OPERATION, detail) from error
            if error.code is ProblemCode.TOO_MANY_REDRIVES:
                raise SqsError(SqsErrorCode.OVER_LIMIT, error.detail) from error
            raise
        return TaskHandle(source.name, view.job_id).text()

    async def cancel(self, source: Queue, handle: TaskHandle, principal: Principal) -> int:
        """How many messages it has moved until now. Raises SqsError RESOURCE_NOT_FOUND, UNSUPPORTED_OPERATION."""
        group = source.group.name
        try:
            before = await self._redrives.look(group, handle.job_id, principal)
            if _status_of(before) is not MoveTaskStatus.RUNNING:
                raise SqsError(SqsErrorCode.UNSUPPORTED_OPERATION, "Only a task that is running can be cancelled.")
            return (await self._redrives.cancel(group, handle.job_id, principal)).moved
        except ServerError as error:
            if error.code is ProblemCode.REDRIVE_NOT_FOUND:
                raise no_task() from error
            raise

    async def list(self, source: Queue, limit: int, principal: Principal) -> list[MoveTask]:
        """The newest first."""
        found = (await self._redrives.list(source.group.name, principal)).jobs
        return [self._task(view, source) for view in found if view.topic == source.name][:limit]

    def _task(self, view: RedriveView, source: Queue) -> MoveTask:
        status = _status_of(view)
        handle = TaskHandle(source.name, view.job_id).text() if status is MoveTaskStatus.RUNNING else None
        is_failed = status is MoveTaskStatus.FAILED
        return MoveTask(
            handle,
            status,
            self._names.arn_of(source.name),
            self._names.arn_of(view.to) if isinstance(view.to, str) else None,
            view.rate_per_second,
            view.moved,
            view.total,
            view.created_at,
            _reason_of(view) if is_failed else None,
        )


def task_handle_of(text: str) -> TaskHandle:
    """Raises SqsError INVALID_PARAMETER_VALUE."""
    try:
        found = base64.b64decode(text, altchars=b"-_", validate=True).decode() if len(text) <= HANDLE_LENGTH_MAX else ""
    except (binascii.Error, ValueError):
        found = ""
    name, _, job_id = found.partition("/")
    if not is_queue_name(name) or not 1 <= len(job_id) <= JOB_ID_LENGTH_MAX or not job_id.isalnum():
        raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, "The value of the parameter TaskHandle is invalid.")
    return TaskHandle(name, job_id)


def check_rate(rate: int | None) -> None:
    """Raises SqsError INVALID_PARAMETER_VALUE."""
    if rate is not None and not 1 <= rate <= RATE_MAX:
        raise _out_of_range(rate, "MaxNumberOfMessagesPerSecond", RATE_MAX)


def check_listed(limit: int) -> None:
    """Raises SqsError INVALID_PARAMETER_VALUE."""
    if not 1 <= limit <= TASKS_LISTED_MAX:
        raise _out_of_range(limit, "MaxResults", TASKS_LISTED_MAX)


def no_task() -> SqsError:
    return SqsError(SqsErrorCode.RESOURCE_NOT_FOUND, "Task does not exist.")


def _out_of_range(value: int, parameter: str, high: int) -> SqsError:
    detail = f"Value {value} for parameter {parameter} is invalid. Reason: Must be between 1 and {high}."
    return SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)


def _status_of(view: RedriveView) -> MoveTaskStatus:
    if view.cancelled_at is not None:
        return MoveTaskStatus.CANCELLING if view.finished_at is None else MoveTaskStatus.CANCELLED
    if view.finished_at is not None:
        return MoveTaskStatus.FAILED if view.failed else MoveTaskStatus.COMPLETED
    return MoveTaskStatus.FAILED if view.topic is None else MoveTaskStatus.RUNNING


def _reason_of(view: RedriveView) -> str:
    return "CouldNotDetermineMessageSource" if not isinstance(view.to, str) else "DestinationRefusedMessages"
