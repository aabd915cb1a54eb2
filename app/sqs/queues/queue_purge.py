"""A queue emptied: what waits for its time is cancelled, and its group goes to the end. Other groups of the topic keep
what they have."""

from msgspec.structs import replace

from acklog.wire.identifiers import parse_schedule_id
from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE
from app.calls.groups import SeekCommand
from app.calls.scheduled import LISTED_MAX, ScheduledCursor, ScheduledRange, ScheduledView
from app.gateway.dependencies import Gateway
from app.services.fan_out import ask_each
from app.services.scheduled import ScheduledService
from app.services.seeks import SeekService
from app.sqs.queue import Queue
from app.sqs.queues.queue_names import no_queue
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.model.sqs_queue import SqsQueue

PURGE_INTERVAL_MS = 60_000
PURGE_TIMEOUT_MS = 60_000
"""How long what waits for its time is cancelled. With more of it, another call goes on."""

_OVER = frozenset({ProblemCode.SCHEDULE_OVER, ProblemCode.MESSAGE_NOT_FOUND})


class QueuePurge:
    """What it does takes no right beside the one to purge, which whoever calls has looked for."""

    def __init__(self, gateway: Gateway, scheduled: ScheduledService, seeks: SeekService) -> None:
        self._gateway = gateway
        self._scheduled = scheduled
        self._seeks = seeks

    async def purge(self, queue: Queue) -> None:
        """Raises SqsError PURGE_QUEUE_IN_PROGRESS, QUEUE_DOES_NOT_EXIST, and ServerError: then it may be called again
        at once."""
        before, now_ms = queue.stored.purged_at_ms, self._gateway.clock.now_ms()

        def marked(stored: SqsQueue) -> SqsQueue:
            nonlocal before
            if stored.purged_at_ms == now_ms:
                return stored  # by this call, which did not hear of it
            before = stored.purged_at_ms
            if before >= 0 and now_ms - before < PURGE_INTERVAL_MS:
                detail = f"Only one PurgeQueue operation on {queue.name} is allowed every 60 seconds."
                raise SqsError(SqsErrorCode.PURGE_QUEUE_IN_PROGRESS, detail)
            return replace(stored, purged_at_ms=now_ms)

        if await self._gateway.queues.update(queue.stored, marked) is None:
            raise no_queue()
        try:
            # In this order: what comes due meanwhile is in the log when the group goes behind it.
            await self._cancel_scheduled(queue)
            now = self._gateway.metadata.queues.find(queue.name)
            if now is None or now.id != queue.stored.id:
                raise no_queue()  # what was made anew meanwhile keeps its messages
            await self._seek(queue)
        except ServerError:
            await self._gateway.queues.update(queue.stored, lambda stored: _unmarked(stored, now_ms, before))
            raise

    async def _seek(self, queue: Queue) -> None:
        command = SeekCommand(queue.name, None, "latest", -1, False)
        view = await self._seeks.seek(queue.group.name, command, ANYONE)
        if view.failed:
            detail = f"{view.failed} partitions of {queue.name!r} could not be purged now"
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=1_000)

    async def _cancel_scheduled(self, queue: Queue) -> None:
        end_ms = self._gateway.clock.monotonic_ms() + PURGE_TIMEOUT_MS
        cursor: ScheduledCursor | None = None
        while True:
            found, cursor = await self._page(queue, cursor)
            for answer in await ask_each(found, lambda view: self._cancel(queue, view)):
                if answer is not None and answer.code not in _OVER:
                    raise answer
            if cursor is None:
                return
            if self._gateway.clock.monotonic_ms() >= end_ms:
                detail = f"{queue.name!r} has more that waits for its time than can be cancelled at once"
                raise ServerError(ProblemCode.TIMED_OUT, detail, retry_after_ms=0)

    async def _page(
        self, queue: Queue, after: ScheduledCursor | None
    ) -> tuple[list[ScheduledView], ScheduledCursor | None]:
        last: ScheduledCursor | None = None

        def text_of(cursor: ScheduledCursor) -> str:
            nonlocal last
            last = cursor
            return ""

        page = ScheduledRange(limit=LISTED_MAX, cursor=after)
        listing = await self._scheduled.list(queue.name, page, ANYONE, text_of)
        return listing.scheduled, last

    async def _cancel(self, queue: Queue, view: ScheduledView) -> None:
        schedule_id = parse_schedule_id(view.schedule_id)
        assert schedule_id is not None, view.schedule_id
        await self._scheduled.cancel(queue.name, schedule_id, ANYONE)


def _unmarked(stored: SqsQueue, purged_at_ms: int, before_ms: int) -> SqsQueue:
    return replace(stored, purged_at_ms=before_ms) if stored.purged_at_ms == purged_at_ms else stored
