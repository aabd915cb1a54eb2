"""What a node's recurring schedules may send now, as the quotas of their topics and namespaces allow."""

import sys
from collections.abc import Callable, Sequence

from acklog.wire.names import namespace_of
from acklog.wire.record import Record
from cluster.metadata.metadata_view import MetadataView
from storage.quota_use.quota_book import QuotaBook
from storage.quota_use.quota_limits import (
    Limit,
    Measure,
    charges_of,
    limits_of_namespace,
    limits_of_topic,
    only,
)
from storage.schedule.recurring_runs import RunSize

CLAIMANT = "(schedules)"
"""All schedules of a quota are one claimant beside its tokens. No token is called so."""


class NotCounted:
    """What schedules have sent and passed over is counted where that is done (`ScheduleFigures`)."""

    def count_quota_use(self, quota: str, units: int) -> None:
        """Not by quota."""

    def count_quota_refusal(self, quota: str) -> None:
        """Not by quota."""


class RunQuotas:
    """Of one node. A message of a schedule counts as one that is sent by a request of its own."""

    def __init__(self, metadata: MetadataView, book: QuotaBook) -> None:
        self._metadata = metadata
        self._book = book

    async def close(self) -> None:
        await self._book.close()

    async def admit(self, topic_id: str, size_of_due: Callable[[], RunSize]) -> RunSize:
        """How much there is room for, of what is due: for one message at least, however large, as what is charged
        beyond a quota is paid back before anything else is let through. Raises ServerError QUOTA_EXCEEDED."""
        limits = self._limits(topic_id)
        if limits:
            due = size_of_due()
            messages, size_bytes = max(due.messages, 1), max(due.size_bytes, 1)
            await self._book.admit(charges_of(limits, requests=messages, messages=messages, size_bytes=size_bytes))
        of_bytes = only(limits, Measure.BYTES)
        return RunSize(
            self._room([limit for limit in limits if limit not in of_bytes]),
            self._room(of_bytes),
        )

    def _room(self, limits: Sequence[Limit]) -> int:
        return min((self._book.room(limit.quota, limit.claimant) for limit in limits), default=sys.maxsize)

    def charge(self, topic_id: str, records: Sequence[Record]) -> None:
        """They are about to be sent, and stay charged if they are not."""
        limits = self._limits(topic_id)
        size_bytes = sum(len(record.body) for record in records)
        self._book.spend(charges_of(limits, requests=len(records), messages=len(records), size_bytes=size_bytes))

    def _limits(self, topic_id: str) -> list[Limit]:
        topic = self._metadata.topic_by_id(topic_id)
        if topic is None:
            return []
        namespace = namespace_of(topic.name)
        entry = self._metadata.namespaces.find(namespace) if namespace else None
        return limits_of_topic(topic, CLAIMANT) + limits_of_namespace(entry, CLAIMANT)
