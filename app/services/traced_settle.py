"""Settlements that say in the span of their request what they are about."""

from collections import Counter
from typing import Any

from acklog.wire.identifiers import MessageId, Receipt
from acklog.wire.names import default_group_of
from acklog.wire.tracing import DESTINATION, GROUP, MESSAGE_COUNT, OFFSET, PARTITION
from app.auth.principal import Principal
from app.calls.settle import SettleCommand
from app.services.settle import SettleService
from cluster.errors import ServerError
from cluster.ports.tracing import Span, Tracer


class TracedSettleService(SettleService):
    def __init__(self, *arguments: Any, tracer: Tracer) -> None:
        super().__init__(*arguments)
        self._tracer = tracer

    async def settle_all(self, settlement: SettleCommand, principal: Principal) -> list[ServerError | None]:
        span = self._tracer.current()
        if span is not None:
            self._tell_of(settlement, span)
        results = await super().settle_all(settlement, principal)
        if span is not None:
            codes = Counter(result.code.name for result in results if result is not None)
            for code, count in codes.items():
                span.event("problem", {"acklog.problem": code, "acklog.failed_count": count})
        return results

    def _tell_of(self, settlement: SettleCommand, span: Span) -> None:
        """Requests of more than one topic are rare: they are named by the first."""
        span.note({MESSAGE_COUNT: len(settlement.items)})
        item = settlement.items[0] if settlement.items else None
        if item is None or isinstance(item, ServerError):
            return
        topic = self._metadata.topic_by_id(item.topic_id)
        name = item.topic_id if topic is None else topic.name
        span.rename(f"{settlement.action} {name}")
        span.note({DESTINATION: name, GROUP: self._group_of(item, name, settlement)})
        if len(settlement.items) == 1:
            span.note({PARTITION: str(item.partition), OFFSET: item.offset})

    def _group_of(self, item: Receipt | MessageId, topic: str, settlement: SettleCommand) -> str:
        if isinstance(item, MessageId):
            return default_group_of(topic) if settlement.group is None else settlement.group
        group = self._metadata.group_by_id(item.group_id)
        return item.group_id if group is None else group.name
