"""What is scheduled in a topic: listed, looked at, moved and cancelled."""

import base64
from collections.abc import Awaitable, Callable
from typing import TypeVar

from msgspec import Raw

from acklog.wire.identifiers import MessageId, ScheduleId
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.auth.principal import Principal
from app.calls.scheduled import MoveInTime, ScheduledCursor, ScheduledListing, ScheduledRange, ScheduledView
from app.gateway.dependencies import Gateway
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.delayed_sends import PROTOCOL_WHAT, check_year
from app.services.fan_out import ask_each
from cluster.catalog.known_by_all import KnownByAll
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.needed_protocol import PROTOCOL_OF_DELAYS
from cluster.model.values import PartitionLife, Topic
from storage.rpc.node_api import NodeApi
from storage.rpc.schedule_messages import (
    SCHEDULED,
    ScheduledItem,
    ScheduledListRequest,
    ScheduledListResponse,
    ScheduledRequest,
)

_Answer = TypeVar("_Answer")
CursorText = Callable[[ScheduledCursor], str]


class ScheduledService:
    """Calls raise ServerError. What is in a message is shown to whoever may receive it, whatever else they may do."""

    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders) -> None:
        self._metadata = gateway.metadata
        self._clock = gateway.clock
        self._timeout_ms = gateway.settings.request_timeout_ms
        self._catalog = catalog
        self._leaders = leaders
        self._known_by_all = KnownByAll(gateway.metadata, timeout_ms=gateway.settings.request_timeout_ms)

    async def list(
        self, name: str, page: ScheduledRange, principal: Principal, cursor_text: CursorText
    ) -> ScheduledListing:
        """In the order of time; those of one time by partition and arrival."""
        topic = await self._catalog.topic(name, principal, Action.LOOK, field="topic")
        self._known_by_all.check(PROTOCOL_OF_DELAYS, PROTOCOL_WHAT)
        numbers = [number for number in range(topic.partitions) if not self._is_gone(topic, number)]

        async def ask(number: int) -> ScheduledListResponse:
            since_ms, since_order = _since(page, number)

            async def call(node: NodeApi, remaining_ms: int) -> ScheduledListResponse:
                request = ScheduledListRequest(
                    topic.id, number, since_ms, since_order, page.to_ms, page.limit, remaining_ms
                )
                return await node.scheduled_list(request)

            return await self._leaders.call(topic.id, number, call, deadline_ms=self._deadline_ms())

        found: list[tuple[int, int, int, ScheduledItem]] = []
        pending, has_more = 0, False
        for number, answer in zip(numbers, await ask_each(numbers, ask), strict=True):
            if isinstance(answer, ServerError):
                raise answer
            found += [(item.due_ms, number, item.order, item) for item in answer.items]
            pending += answer.pending
            has_more = has_more or answer.has_more
        found.sort(key=lambda each: each[:3])
        shown = found[: page.limit]
        next_ = ScheduledCursor(*shown[-1][:3]) if shown and (has_more or len(found) > page.limit) else None
        views = [_view(item, topic, number, _name_of(item, topic, number), principal) for _, number, _, item in shown]
        return ScheduledListing(_each_once(views), pending, None if next_ is None else cursor_text(next_))

    async def look(self, name: str, schedule_id: ScheduleId, principal: Principal) -> ScheduledView:
        topic = await self._catalog.topic(name, principal, Action.RECEIVE, field="topic")
        return await self._ask(topic, schedule_id, "look", principal)

    async def cancel(self, name: str, schedule_id: ScheduleId, principal: Principal) -> ScheduledView:
        topic = await self._catalog.topic(name, principal, Action.SEND, field="topic")
        return await self._ask(topic, schedule_id, "cancel", principal)

    async def move(self, name: str, schedule_id: ScheduleId, move: MoveInTime, principal: Principal) -> ScheduledView:
        principal.require_on_topic(Action.SEND, name)
        at_ms, delay_ms = (-1, 0) if move.schedule is None else (move.schedule.at_ms, move.schedule.delay_ms)
        if at_ms >= 0:
            check_year(at_ms, self._clock.now_ms(), "deliverAt")
        topic = await self._catalog.topic(name, principal, Action.SEND, field="topic")
        return await self._ask(topic, schedule_id, "move", principal, at_ms=at_ms, delay_ms=delay_ms)

    async def _ask(
        self,
        topic: Topic,
        schedule_id: ScheduleId,
        action: str,
        principal: Principal,
        *,
        at_ms: int = -1,
        delay_ms: int = -1,
    ) -> ScheduledView:
        topic_id, number, epoch, offset = schedule_id
        if topic_id != topic.id or number >= topic.partitions:
            raise ServerError(ProblemCode.MESSAGE_NOT_FOUND, f"no such message is scheduled in {topic.name!r}")
        self._known_by_all.check(PROTOCOL_OF_DELAYS, PROTOCOL_WHAT)

        async def call(node: NodeApi, remaining_ms: int) -> ScheduledItem:
            request = ScheduledRequest(topic_id, number, action, offset, epoch, at_ms, delay_ms, remaining_ms)
            return (await node.scheduled(request)).item

        def again(node: NodeApi, attempt: tuple[int, bool]) -> Awaitable[ScheduledItem]:
            return call(node, attempt[0])

        deadline_ms = self._deadline_ms()
        try:
            if action == "look":
                item = await self._leaders.call(topic_id, number, call, deadline_ms=deadline_ms)
                while item.partition >= 0:  # it belonged there when it was due
                    number, offset, epoch = item.partition, item.there_offset, item.there_epoch
                    if self._is_gone(topic, number):
                        raise ServerError(ProblemCode.MESSAGE_NOT_FOUND, "it was delivered long ago")
                    item = await self._leaders.call(topic_id, number, call, deadline_ms=deadline_ms)
            else:  # to do it twice is to do it once
                item = await self._leaders.change(topic_id, number, again, deadline_ms=deadline_ms)
        except ServerError as error:
            raise _told_to_client(error, topic, number) from None
        return _view(item, topic, number, str(schedule_id), principal)

    def _is_gone(self, topic: Topic, number: int) -> bool:
        state = self._metadata.partition(topic.id, number)
        return state is not None and state.life is PartitionLife.GONE

    def _deadline_ms(self) -> int:
        return self._leaders.deadline_in(self._timeout_ms)


def _since(page: ScheduledRange, number: int) -> tuple[int, int]:
    """From where on a partition is asked: messages of one time go by partition first."""
    cursor = page.cursor
    if cursor is None or cursor.due_ms < page.from_ms:
        return page.from_ms, -1
    if number == cursor.partition:
        return cursor.due_ms, cursor.order + 1
    return (cursor.due_ms + 1, -1) if number < cursor.partition else (cursor.due_ms, -1)


def _name_of(item: ScheduledItem, topic: Topic, number: int) -> str:
    return item.name or str(ScheduleId(topic.id, number, item.leader_epoch, item.offset))


def _each_once(views: list[ScheduledView]) -> list[ScheduledView]:
    """What is just being handed over is in two partitions for a moment."""
    return list({view.schedule_id: view for view in views}.values())


def _view(item: ScheduledItem, topic: Topic, number: int, name: str, principal: Principal) -> ScheduledView:
    view = ScheduledView(schedule_id=name, queue=topic.name, partition=number, state=item.state)
    if item.state == SCHEDULED:
        view.deliver_at = item.due_ms
    if item.message_offset >= 0:
        view.message_id = str(MessageId(topic.id, number, item.message_epoch, item.message_offset))
        view.offset = item.message_offset
    if item.record is not None:
        view.size = item.size_bytes
        if principal.may_on_topic(Action.RECEIVE, topic.name):
            _show_message(view, item.record)
    return view


def _show_message(view: ScheduledView, record: Record) -> None:
    if record.key is not None:
        view.key = record.key
    if record.content_type is not None:
        view.content_type = record.content_type
    if record.headers:
        view.headers = record.headers
    if record.tags:
        view.tags = record.tags
    if record.ttl_ms is not None:
        view.ttl_seconds = record.ttl_ms / 1000
    if record.body and record.content_type is None:
        view.body = Raw(record.body)
    elif record.body:
        view.body_base64 = base64.b64encode(record.body).decode("ascii")


def _told_to_client(error: ServerError, topic: Topic, number: int) -> ServerError:
    """Where the message is, in the client's words."""
    if error.code is not ProblemCode.SCHEDULE_OVER:
        return error
    offset, epoch = error.extra.get("messageOffset"), error.extra.get("messageEpoch")
    extra: dict[str, object] = {}
    if isinstance(offset, int) and isinstance(epoch, int):
        extra["messageId"] = str(MessageId(topic.id, number, epoch, offset))
    return ServerError(error.code, error.detail, retry_after_ms=error.retry_after_ms, extra=extra)
