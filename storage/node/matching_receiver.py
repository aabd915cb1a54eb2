"""Receives with a filter of their own, on one node.

Who waits with a filter hears of everything that is new, and not in turn with the others of its group: what does not
match is theirs, and must wake them as if nobody had looked at it.
"""

from collections.abc import Awaitable, Callable

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.call_filters import why_no_filter
from cluster.model.pauses import is_paused
from cluster.model.values import Group
from cluster.ports.clock import Clock
from storage.node.consumer_limits import ConsumerLimits
from storage.node.exclusive_receiver import PartitionsOf, StartGroups
from storage.node.groups.waiting import ClaimingReceive, TopicReaders
from storage.rpc.messages import DeliveredMessage, ReceiveRequest, ReceiveResponse

FILTER_REACH = "FILTER_REACH"


class MatchingReceiver:
    """`empty_reason` says why there is nothing where all was looked at; the rest as in `Receiver`."""

    def __init__(
        self,
        partitions_of: PartitionsOf,
        readers: Callable[[str], TopicReaders],
        start_groups: StartGroups,
        *,
        clock: Clock,
        limits: ConsumerLimits,
        latest_group: Callable[[Group], Group],
        admit: Callable[[ClaimingReceive, Group], None],
        dismiss: Callable[[ClaimingReceive], None],
        give_back: Callable[[list[DeliveredMessage], Group], None],
        empty_reason: Callable[[ReceiveRequest, Group], str],
        is_stopping: Callable[[], bool],
    ) -> None:
        self._partitions_of = partitions_of
        self._readers = readers
        self._start_groups: Callable[[Group, list[str]], Awaitable[bool]] = start_groups
        self._clock = clock
        self._limits = limits
        self._latest_group = latest_group
        self._admit = admit
        self._dismiss = dismiss
        self._give_back = give_back
        self._empty_reason = empty_reason
        self._is_stopping = is_stopping
        self._turn = 0

    async def receive(self, request: ReceiveRequest, group: Group) -> ReceiveResponse:
        """Raises ServerError as `Receiver.receive` does, and WRONG_GROUP_MODE where the group's messages have an order
        or a share."""
        deadline_ms = self._clock.monotonic_ms() + request.wait_ms
        while True:
            group = self._latest_group(group)
            detail = why_no_filter(group)
            if detail:
                raise ServerError(ProblemCode.WRONG_GROUP_MODE, detail, field="filter")
            is_known_everywhere = self._is_stopping() or await self._start_groups(group, request.topic_ids)
            waiter = self._join(request, group) if request.wait_ms and not self._is_stopping() else None
            try:
                messages, has_more = await self._collect(request, group)
                left_ms = deadline_ms - self._clock.monotonic_ms()
                if messages or waiter is None or self._is_stopping() or left_ms <= 0:
                    reason = FILTER_REACH if has_more else self._empty_reason(request, group)
                    return ReceiveResponse(messages, "" if messages else reason)
                if not is_known_everywhere:
                    waiter.wake()  # a partition that came just now may not know the group yet
                await waiter.wait(left_ms)
            finally:
                if waiter is not None:
                    self._leave(waiter)

    def _join(self, request: ReceiveRequest, group: Group) -> ClaimingReceive:
        places = [(topic_id, number) for topic_id in request.topic_ids for number in self._partitions_of(topic_id)]
        waiter = ClaimingReceive(group.id, places)
        self._admit(waiter, group)
        for place in waiter.places:
            self._readers(place[0]).join_at(place, waiter)
        return waiter

    def _leave(self, waiter: ClaimingReceive) -> None:
        self._dismiss(waiter)
        for place in waiter.places:
            self._readers(place[0]).leave_at(place, waiter)

    async def _collect(self, request: ReceiveRequest, group: Group) -> tuple[list[DeliveredMessage], bool]:
        """Messages, from another partition on each time; and whether some partition has more to look at."""
        if group.settings.max_in_flight_per_consumer is None:
            return await self._collect_from(request, group, request.max_messages)
        async with self._limits.turn(request, group) as room:
            return await self._collect_from(request, group, room)

    async def _collect_from(
        self, request: ReceiveRequest, group: Group, room: int
    ) -> tuple[list[DeliveredMessage], bool]:
        collected: list[DeliveredMessage] = []
        failure: ServerError | None = None
        bytes_left, has_more = request.max_bytes, False
        places = [(topic_id, number) for topic_id in request.topic_ids for number in self._partitions_of(topic_id)]
        self._turn += 1
        first = self._turn % max(len(places), 1)
        try:
            for topic_id, number in places[first:] + places[:first]:
                wanted = room - len(collected)
                if wanted <= 0 or (collected and bytes_left <= 0):
                    break
                partition = self._partitions_of(topic_id).get(number)
                if partition is None or is_paused(group.pauses, topic_id, number):
                    continue
                try:
                    share = await partition.groups.receive(request, group, wanted, bytes_left, not collected)
                except ServerError as error:
                    failure = error
                    continue
                has_more |= share.may_have_more
                bytes_left -= share.size_bytes
                collected += share.messages
        except BaseException:
            self._give_back(collected, group)
            raise
        if failure is not None and not collected:
            raise failure
        return collected, has_more
