"""How much a consumer may still have leased, where its group limits that.

Counted from the leases of the asked topics' partitions that the node leads, each time anew (rule R30): a consumer whose
leases ran out comes back when it speaks again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from cluster.model.values import Group
from storage.node.replicas.led_partition import Partition
from storage.rpc.messages import ReceiveRequest


@dataclass(slots=True)
class _Turns:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class ConsumerLimits:
    """Receives that name no consumer count as one consumer's."""

    def __init__(self, partitions_of: Callable[[str], Mapping[int, Partition]]) -> None:
        self._partitions_of = partitions_of
        self._turns: dict[tuple[str, str], _Turns] = {}

    def room(self, request: ReceiveRequest, group: Group) -> int:
        """Messages that a receive may lease now; 0 or less: the limit is reached."""
        limit = group.settings.max_in_flight_per_consumer
        if limit is None:
            return request.max_messages
        held = sum(
            partition.groups.in_flight_of(group.id, request.consumer)
            for topic_id in request.topic_ids
            for partition in self._partitions_of(topic_id).values()
        )
        return min(request.max_messages, limit - held)

    @asynccontextmanager
    async def turn(self, request: ReceiveRequest, group: Group) -> AsyncIterator[int]:
        """The room. Receives of one consumer take turns: none counts what another is about to lease."""
        key = group.id, request.consumer
        turns = self._turns.setdefault(key, _Turns())
        turns.users += 1
        try:
            async with turns.lock:
                yield self.room(request, group)
        finally:
            turns.users -= 1
            if not turns.users:
                del self._turns[key]
