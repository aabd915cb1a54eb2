"""Settling deliveries: acknowledge, give back, extend; each item gets a result of its own."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from acklog.wire.identifiers import MessageId, Receipt
from acklog.wire.names import default_group_of
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.group_modes import check_acked_by_message_id
from app.calls.same_namespace import namespace_mismatch
from app.calls.settle import SettleCommand
from app.gateway.dependencies import Gateway
from app.gateway.metrics import Metrics
from app.gateway.routing import PartitionLeaders
from app.services.catalog import Catalog, PartitionPlace
from app.services.node_lag import answer_of_node
from cluster.errors import ServerError
from cluster.model.action import Action
from storage.rpc.messages import SettleItem, SettleRequest, SettleResponse, failure_code
from storage.rpc.node_api import NodeApi

DONE = "done"
AGAIN = "again"
"""An ack of what had been done before: whose answer was lost, or who acknowledges twice."""
ITEMS_PER_TURN = 2_000
PLACES_PER_TURN = 64
PLACES_AT_ONCE_MAX = 1_000


class PlacedItem(NamedTuple):
    """An item, and whose it is."""

    topic_id: str
    partition: int
    group_id: str
    item: SettleItem


Place = tuple[str, int, str]
"""Topic, partition and group: what one request to a node is about."""


class _Part(NamedTuple):
    """What of a request is for one place: the items, and their indexes in the request."""

    indexes: list[int]
    items: list[SettleItem]


@dataclass(slots=True)
class _Context:
    """What a request's items are about: the partitions that cannot be settled in, and why; and the group of message
    ids."""

    principal: Principal
    faults: dict[PartitionPlace, ServerError]
    group_id: str = ""
    group_fault: ServerError | None = None
    receipt_faults: dict[tuple[str, str], ServerError | None] = field(default_factory=dict)
    """What hinders receipts of a topic and a group, by their ids: asked once, and so told once of rights on trial."""


class SettleService:
    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders, metrics: Metrics) -> None:
        self._settings = gateway.settings
        self._metadata = gateway.metadata
        self._catalog = catalog
        self._leaders = leaders
        self._metrics = metrics

    async def settle_all(self, settlement: SettleCommand, principal: Principal) -> list[ServerError | None]:
        """A result per item, in order: None for done. Raises ServerError where the request itself is at fault."""
        principal.require_before_body(Action.SETTLE)  # what each item is of is asked for below
        results: list[ServerError | None] = [None] * len(settlement.items)
        context = await self._context(settlement, principal)
        unsure = await self._of_unknown_groups(settlement, context)
        if not unsure:
            await self._settle_some(settlement, range(len(results)), context, results)
            return results
        sure = sorted(set(range(len(results))).difference(unsure))
        await asyncio.gather(
            self._settle_some(settlement, sure, context, results),
            self._settle_unsure(settlement, unsure, context, results),
        )
        return results

    async def _of_unknown_groups(self, settlement: SettleCommand, context: _Context) -> list[int]:
        """Receipts of groups that the view does not show: of no group at all, or of one that was just made."""
        group_ids = {item[3] for item in settlement.items if type(item) is Receipt}
        unknown = {group_id for group_id in group_ids if self._metadata.group_by_id(group_id) is None}
        found: list[int] = []
        if not unknown:
            return found
        for index, item in enumerate(settlement.items):
            if index % ITEMS_PER_TURN == ITEMS_PER_TURN - 1:
                await asyncio.sleep(0)  # others get their turn
            if isinstance(item, Receipt) and item.group_id in unknown and item[:2] not in context.faults:
                found.append(index)
        return found

    async def _settle_unsure(
        self, settlement: SettleCommand, indexes: list[int], context: _Context, results: list[ServerError | None]
    ) -> None:
        """Those of groups that the coordination store has; no node is asked for others, which would wait for them."""
        fault = ServerError(ProblemCode.GROUP_NOT_FOUND, "the group of this receipt was deleted, or never existed")
        try:
            await self._catalog.confirm_groups()
        except ServerError as unknown:
            fault = unknown.with_traceback(None)
        left = set(await self._of_unknown_groups(settlement, context)).intersection(indexes)
        for index in left:
            results[index] = _blamed_on(settlement.field_of(index), fault)
        found = [index for index in indexes if index not in left]
        await self._settle_some(settlement, found, context, results)

    async def _settle_some(
        self, settlement: SettleCommand, indexes: Sequence[int], context: _Context, results: list[ServerError | None]
    ) -> None:
        """Settle the items with these indexes, and put what became of them into `results`."""
        places: dict[Place, _Part] = {}
        run: Place | None = None  # which the item before is in, if it is a receipt
        part: _Part | None = None
        for number, index in enumerate(indexes):
            if number % ITEMS_PER_TURN == ITEMS_PER_TURN - 1:
                await asyncio.sleep(0)  # others get their turn
            item = settlement.items[index]
            if run is not None and part is not None and type(item) is Receipt:
                topic_id, partition, offset, group_id, generation, leader_epoch, attempt = item
                if (topic_id, partition, group_id) == run:
                    part.indexes.append(index)
                    part.items.append(SettleItem(offset, generation, leader_epoch, attempt))
                    continue
            placed = self._placed(item, context)
            run = None
            if isinstance(placed, ServerError):
                results[index] = placed if placed.field is not None else _blamed_on(settlement.field_of(index), placed)
                continue
            place, settle_item = placed
            part = places.get(place)
            if part is None:
                part = places[place] = _Part([], [])
            part.indexes.append(index)
            part.items.append(settle_item)
            if type(item) is Receipt:
                run = place
        await self._refuse_later_epochs(settlement, places, results)
        settled = await self._settle(
            places,
            len(settlement.items),
            settlement.action,
            delay_ms=settlement.delay_ms,
            visibility_ms=settlement.visibility_ms,
            reason=settlement.reason,
        )
        if any(settled):
            for index, result in enumerate(settled):
                if result is not None:
                    results[index] = _blamed_on(settlement.field_of(index), result)

    async def _refuse_later_epochs(
        self, settlement: SettleCommand, places: dict[Place, _Part], results: list[ServerError | None]
    ) -> None:
        """Take out what is of a leader that there has not been yet: a leader that is asked cannot tell it from one of
        a leader behind it, and would have all of them wait."""
        newest: dict[PartitionPlace, int] = {}
        for (topic_id, partition, _), part in places.items():
            epoch = max([item.leader_epoch for item in part.items])
            newest[topic_id, partition] = max(epoch, newest.get((topic_id, partition), epoch))
        found = await self._catalog.later_epochs(newest)
        if not found:
            return
        code = ProblemCode.INVALID_RECEIPT if settlement.kind == "receipt" else ProblemCode.MESSAGE_NOT_FOUND
        for place, part in list(places.items()):
            latest = found.get(place[:2])
            if latest is None:
                continue
            kept = _Part([], [])
            for index, item in zip(part.indexes, part.items, strict=True):
                if isinstance(latest, ServerError):
                    results[index] = _blamed_on(settlement.field_of(index), latest)
                elif item.leader_epoch > latest:
                    detail = f"it is of leader epoch {item.leader_epoch}, and the partition's is {latest}"
                    results[index] = _blamed_on(settlement.field_of(index), ServerError(code, detail))
                else:
                    kept.indexes.append(index)
                    kept.items.append(item)
            if kept.items:
                places[place] = kept
            else:
                del places[place]

    async def settle(
        self, deliveries: Sequence[PlacedItem], action: str, *, delay_ms: int = -1, visibility_ms: int = 0
    ) -> list[ServerError | None]:
        """A result per delivery, in order; one request per partition and group."""
        places: dict[Place, _Part] = {}
        for index, delivery in enumerate(deliveries):
            part = places.setdefault(delivery[:3], _Part([], []))
            part.indexes.append(index)
            part.items.append(delivery.item)
        return await self._settle(places, len(deliveries), action, delay_ms=delay_ms, visibility_ms=visibility_ms)

    async def _settle(
        self,
        places: dict[Place, _Part],
        count: int,
        action: str,
        *,
        delay_ms: int,
        visibility_ms: int,
        reason: str = "",
    ) -> list[ServerError | None]:
        results: list[ServerError | None] = [None] * count
        deadline_ms = self._leaders.deadline_in(self._settings.request_timeout_ms)
        counts: Counter[str] = Counter()

        async def settle_place(place: Place, part: _Part) -> None:
            request = SettleRequest(*place, action, part.items, delay_ms, visibility_ms, reason)
            try:
                response = await self._call(request, deadline_ms)
            except ServerError as error:
                is_gone = error.code is ProblemCode.MESSAGE_EXPIRED
                # Without its frames, which hold the fault: thousands of such cycles would be collected in one piece.
                fault = _settled_by_retention(action) if is_gone else error.with_traceback(None)
                for index in part.indexes:
                    results[index] = fault
                return
            counts[AGAIN] += response.repeated
            for index, name in zip(part.indexes, response.results, strict=True):
                if name:
                    code = failure_code(name)
                    results[index] = ServerError(code, code.title)

        if len(places) == 1:
            for place, part in places.items():
                await settle_place(place, part)
        elif places:
            await _each_soon(settle_place, places)
        if action == "extend":
            self._note_who_is_at_work(places, results)
        settled = sum([len(part.indexes) for part in places.values()])
        faults = [fault for fault in results if fault is not None]
        counts.update([fault.code.name for fault in faults])
        counts[DONE] = settled - len(faults) - counts[AGAIN]
        for result, number in counts.items():
            if number > 0:
                self._metrics.count_settled(action, result, number)
        return results

    def _note_who_is_at_work(self, places: dict[Place, _Part], results: list[ServerError | None]) -> None:
        """Who is long at one message asks for no other, and is there all the same."""
        for (topic_id, _, group_id), part in places.items():
            topic, group = self._metadata.topic_by_id(topic_id), self._metadata.group_by_id(group_id)
            if topic is not None and group is not None and any(results[index] is None for index in part.indexes):
                self._metrics.count_consumer_call("extend", topic.name, group.name)

    async def _call(self, request: SettleRequest, deadline_ms: int) -> SettleResponse:
        """Where the outcome is unknown it is done again, as twice is once: an ack of what is done succeeds; a nack with
        the receipt that gave back before counts the same attempt, and its delay begins anew; an extension begins anew.
        Who has a later lease is not disturbed, since the receipt is stale then.

        Not so a release: the next lease of the message has the same attempt, so a second one could end that.
        """
        place = request.topic_id, request.partition

        def settle(node: NodeApi, _attempt: object) -> Awaitable[SettleResponse]:
            return answer_of_node(node.settle(request), self._metadata, group_id=request.group_id)

        if request.action == "release":
            return await self._leaders.change_once(*place, settle, deadline_ms=deadline_ms)
        return await self._leaders.change(*place, settle, deadline_ms=deadline_ms)

    async def _context(self, settlement: SettleCommand, principal: Principal) -> _Context:
        """What the items are about, each looked for once, however many items name it."""
        named = dict.fromkeys([item[:2] for item in settlement.items if not isinstance(item, ServerError)])
        if len(named) > ITEMS_PER_TURN:
            await asyncio.sleep(0)
        faults = self._faults_at(named, principal)
        if faults:
            unanswered = await self._catalog.look_for(list(faults))
            left = self._faults_at(faults, principal)
            faults = {place: unanswered.get(place, fault) for place, fault in left.items()}
        context = _Context(principal, faults)
        if settlement.kind == "messageId" and len(faults) < len(named):
            await self._find_group(settlement, [place for place in named if place not in faults], context)
        return context

    async def _find_group(self, settlement: SettleCommand, places: Sequence[PartitionPlace], context: _Context) -> None:
        """The group of message ids, that are in these partitions."""
        topics = {place: self._catalog.topic_name(place[0]) or "" for place in places}
        name = default_group_of(topics[places[0]]) if settlement.group is None else settlement.group
        try:
            context.principal.require_on_group(Action.SETTLE, name)
            for place, topic in topics.items():
                fault = namespace_mismatch(name, topic)
                if fault is not None:
                    context.faults[place] = fault
            group = await self._catalog.group(name)
            check_acked_by_message_id(group)
            context.group_id = group.id
        except ServerError as fault:
            context.group_fault = fault.with_traceback(None)

    def _faults_at(self, places: Iterable[PartitionPlace], principal: Principal) -> dict[PartitionPlace, ServerError]:
        faults = {}
        for place in places:
            found = self._catalog.topic_or_fault_at(place, principal, Action.SETTLE)
            if isinstance(found, ServerError):
                faults[place] = found
        return faults

    def _receipt_fault(self, topic_id: str, group_id: str, context: _Context) -> ServerError | None:
        """FORBIDDEN, or UNAVAILABLE for a group that another gateway may just have made."""
        known = context.receipt_faults
        if (topic_id, group_id) not in known:
            known[topic_id, group_id] = self._group_fault(topic_id, group_id, context.principal)
        return known[topic_id, group_id]

    def _group_fault(self, topic_id: str, group_id: str, principal: Principal) -> ServerError | None:
        strict = principal.strict()
        if strict.may_on_every_group(Action.SETTLE):
            return None
        if strict.refuses_topic(Action.SETTLE, self._catalog.topic_name(topic_id) or ""):
            return None  # rights are on trial, and this refusal is told of by its topic
        name = self._catalog.group_name(group_id)
        if name is None:
            return ServerError(ProblemCode.UNAVAILABLE, "the group of this receipt is not known here")
        if principal.refuses_group(Action.SETTLE, name):
            return ServerError(ProblemCode.FORBIDDEN, "the token is not for the group that this receipt is of")
        return None

    def _placed(
        self, item: Receipt | MessageId | ServerError, context: _Context
    ) -> tuple[Place, SettleItem] | ServerError:
        """Faults are returned: one that many items share would be raised as many times, and its traceback grow."""
        if isinstance(item, ServerError):
            return item
        if isinstance(item, Receipt):
            topic_id, partition, offset, group_id, generation, leader_epoch, attempt = item
            settle_item = SettleItem(offset, generation, leader_epoch, attempt)
        else:
            topic_id, partition, epoch, offset = item
            settle_item = SettleItem(offset, 0, epoch, 0)
        fault = context.faults.get((topic_id, partition))
        if not isinstance(item, Receipt):
            fault = fault or context.group_fault
            group_id = context.group_id
        elif fault is None:
            fault = self._receipt_fault(topic_id, group_id, context)
        if fault is not None:
            return fault
        return (topic_id, partition, group_id), settle_item


async def _each_soon(settle: Callable[[Place, _Part], Awaitable[None]], places: dict[Place, _Part]) -> None:
    """Many at once, but begun a few per turn of the loop, which so many would hold."""
    slots = asyncio.Semaphore(PLACES_AT_ONCE_MAX)

    async def settle_one(place: Place, part: _Part) -> None:
        try:
            await settle(place, part)
        finally:
            slots.release()

    async with asyncio.TaskGroup() as tasks:
        for number, (place, part) in enumerate(places.items(), 1):
            await slots.acquire()
            tasks.create_task(settle_one(place, part))
            if number % PLACES_PER_TURN == 0:
                await asyncio.sleep(0)


def _settled_by_retention(action: str) -> ServerError | None:
    """What settling a message of a partition that is gone comes to. Retention has removed all that it held, and what
    it removes counts as done, as while the partition was there."""
    if action in {"ack", "release"}:
        return None
    return ServerError(ProblemCode.RECEIPT_STALE, ProblemCode.RECEIPT_STALE.title)


def _blamed_on(field: str, fault: ServerError) -> ServerError:
    """The fault with the item's place in the request, unless it is the server's. (Items may share one.)"""
    if fault.code.retriable or fault.code.status >= 500:
        return fault
    return ServerError(fault.code, fault.detail, field=field, extra=fault.extra)
