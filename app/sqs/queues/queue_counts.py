"""How many messages a queue has: about, as the leaders of its partitions say."""

from app.auth.principal import Principal
from app.calls.scheduled import ScheduledRange
from app.services.group_views import position_of
from app.services.groups import GroupService
from app.services.scheduled import ScheduledService
from app.sqs.queue import Queue
from app.sqs.queues.attribute_table import DELAYED, NOT_VISIBLE, VISIBLE
from cluster.errors import ServerError
from storage.rpc.messages import PositionsResponse


class QueueCounts:
    def __init__(self, groups: GroupService, scheduled: ScheduledService) -> None:
        self._groups = groups
        self._scheduled = scheduled

    async def of(self, queue: Queue, wanted: frozenset[str], principal: Principal) -> dict[str, str]:
        """Raises ServerError, where a leader cannot be asked."""
        counts: dict[str, str] = {}
        if wanted & {VISIBLE, NOT_VISIBLE}:
            visible, not_visible = await self._in_logs(queue, principal)
            counts |= {VISIBLE: str(visible), NOT_VISIBLE: str(not_visible)}
        if DELAYED in wanted:
            page = ScheduledRange(limit=1)
            found = await self._scheduled.list(queue.name, page, principal, lambda _cursor: "")
            counts[DELAYED] = str(found.pending)
        return {name: count for name, count in counts.items() if name in wanted}

    async def _in_logs(self, queue: Queue, principal: Principal) -> tuple[int, int]:
        visible = not_visible = 0
        for place in await self._groups.ask_positions(queue.group, [queue.name], principal):
            if isinstance(place.answer, ServerError):
                raise place.answer
            left, hidden = _left_of(queue, place.answer)
            visible += max(0, left - hidden)
            not_visible += hidden
        return visible, not_visible


def _left_of(queue: Queue, answer: PositionsResponse) -> tuple[int, int]:
    """Messages of a partition that are not done, and those of them that nobody gets now."""
    position = position_of(queue.group, answer)
    if position is None:
        return answer.high_watermark - answer.log_start, 0
    start = max(position.progress, answer.log_start)
    left = max(0, answer.high_watermark - start - position.done_above)
    return left, min(left, position.in_flight + position.delayed + position.blocked)
