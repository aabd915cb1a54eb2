"""The schedules of other partitions, through whichever nodes lead them."""

import asyncio
from collections.abc import Callable

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.needed_protocol import PROTOCOL_OF_HAND_OVERS
from cluster.model.values import PartitionLife
from storage.replication.leadership import UNAVAILABLE_RETRY_MS
from storage.rpc.node_api import NodeApi
from storage.rpc.schedule_messages import AdoptRequest, AdoptResponse


class OtherSchedules:
    """Of one node. `client_of` finds a node's interface."""

    def __init__(self, metadata: MetadataView, client_of: Callable[[int], NodeApi], *, timeout_ms: int) -> None:
        self._metadata = metadata
        self._client_of = client_of
        self._timeout_ms = timeout_ms

    def all_adopt(self) -> bool:
        """Whether every registered node knows what it says when a message is handed over."""
        return not self._metadata.steering.membership.earlier_than(PROTOCOL_OF_HAND_OVERS)

    def is_gone(self, topic_id: str, partition: int) -> bool:
        """Whether the partition is empty for good."""
        state = self._metadata.partition(topic_id, partition)
        return state is not None and state.life is PartitionLife.GONE

    async def adopt(self, request: AdoptRequest) -> AdoptResponse:
        """Raises ServerError: it may have been done, and is to be asked again with the same."""
        state = self._metadata.partition(request.topic_id, request.partition)
        if state is None or state.leader < 0:
            detail = f"Partition {request.partition} has no leader now."
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
        try:
            async with asyncio.timeout(self._timeout_ms / 1000):
                return await self._client_of(state.leader).adopt(request)
        except TimeoutError:
            detail = f"The leader of partition {request.partition} did not answer in time."
            raise ServerError(ProblemCode.OUTCOME_UNKNOWN, detail, retry_after_ms=UNAVAILABLE_RETRY_MS) from None
