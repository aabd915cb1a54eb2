"""Settling deliveries: acknowledge, give back, extend; each item gets a result of its own."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from acklog.wire.identifiers import MessageId, Receipt
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal, Scope
from app.dependencies import Gateway
from app.metrics import Metrics
from app.parsing.settle import Settlement
from app.routing import PartitionLeaders
from app.services.catalog import Catalog
from cluster.errors import AcklogError
from storage.rpc.messages import SettleItem, SettleRequest, failure_code

DONE = "done"


class Delivery(NamedTuple):
    """An item, and whose it is."""

    topic_id: str
    partition: int
    group_id: str
    item: SettleItem


class SettleService:
    def __init__(self, gateway: Gateway, catalog: Catalog, leaders: PartitionLeaders, metrics: Metrics) -> None:
        self._settings = gateway.settings
        self._catalog = catalog
        self._leaders = leaders
        self._metrics = metrics

    async def settle_all(self, settlement: Settlement, principal: Principal) -> list[AcklogError | None]:
        """A result per item, in order: None for done. Raises AcklogError where the request itself is at fault."""
        principal.require(Scope.READ)
        results: list[AcklogError | None] = [None] * len(settlement.items)
        indexes: list[int] = []
        deliveries: list[Delivery] = []
        checked: set[tuple[str, int]] = set()
        for index, item in enumerate(settlement.items):
            try:
                delivery = self._delivery_of(item, settlement, principal, checked)
            except AcklogError as fault:
                results[index] = fault if fault.field is not None else _blamed_on(settlement.field_of(index), fault)
            else:
                indexes.append(index)
                deliveries.append(delivery)
        settled = await self.settle(
            deliveries, settlement.action, delay_ms=settlement.delay_ms, visibility_ms=settlement.visibility_ms
        )
        for index, result in zip(indexes, settled, strict=True):
            results[index] = None if result is None else _blamed_on(settlement.field_of(index), result)
        return results

    async def settle(
        self, deliveries: Sequence[Delivery], action: str, *, delay_ms: int = -1, visibility_ms: int = 0
    ) -> list[AcklogError | None]:
        """A result per delivery, in order; one request per partition and group."""
        results: list[AcklogError | None] = [None] * len(deliveries)
        places: dict[tuple[str, int, str], list[int]] = {}
        for index, delivery in enumerate(deliveries):
            places.setdefault(delivery[:3], []).append(index)

        async def settle_place(place: tuple[str, int, str], indexes: list[int]) -> None:
            items = [deliveries[index].item for index in indexes]
            request = SettleRequest(*place, action, items, delay_ms, visibility_ms)
            try:
                codes = await self._call(request)
            except AcklogError as error:
                for index in indexes:
                    results[index] = error
                return
            for index, name in zip(indexes, codes, strict=True):
                if name:
                    code = failure_code(name)
                    results[index] = AcklogError(code, code.title)

        if len(places) == 1:
            for place, indexes in places.items():
                await settle_place(place, indexes)
        elif places:
            await asyncio.gather(*[settle_place(place, indexes) for place, indexes in places.items()])
        for result, count in Counter(DONE if fault is None else fault.code.name for fault in results).items():
            self._metrics.count_settled(action, result, count)
        return results

    async def _call(self, request: SettleRequest) -> list[str]:
        deadline_ms = self._leaders.deadline_in(self._settings.request_timeout_ms)
        response = await self._leaders.call(
            request.topic_id,
            request.partition,
            lambda node, _remaining_ms: node.settle(request),
            deadline_ms=deadline_ms,
        )
        return response.results

    def _delivery_of(
        self,
        item: Receipt | MessageId | AcklogError,
        settlement: Settlement,
        principal: Principal,
        checked: set[tuple[str, int]],
    ) -> Delivery:
        """`checked` holds the partitions that the request has been found to be right about already."""
        if isinstance(item, AcklogError):
            raise item
        if (item.topic_id, item.partition) not in checked:
            self._check_partition(item, principal)
            checked.add((item.topic_id, item.partition))
        if isinstance(item, Receipt):
            settle_item = SettleItem(item.offset, item.generation, item.leader_epoch, item.attempt)
            return Delivery(item.topic_id, item.partition, item.group_id, settle_item)
        group = self._catalog.group(settlement.group)
        return Delivery(item.topic_id, item.partition, group.id, SettleItem(item.offset, 0, item.epoch, 0))

    def _check_partition(self, item: Receipt | MessageId, principal: Principal) -> None:
        topic = self._catalog.topic_by_id(item.topic_id, principal)
        if topic is None:
            raise AcklogError(ProblemCode.TOPIC_NOT_FOUND, "the topic was deleted, or never existed")
        if item.partition >= topic.partitions:
            raise AcklogError(ProblemCode.PARTITION_NOT_FOUND, f"{topic.name!r} has no partition {item.partition}")


def _blamed_on(field: str, fault: AcklogError) -> AcklogError:
    """The fault with the item's place in the request, unless it is the server's. (Items may share one.)"""
    if fault.code.retriable or fault.code.status >= 500:
        return fault
    return AcklogError(fault.code, fault.detail, field=field, extra=fault.extra)
