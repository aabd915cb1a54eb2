"""Reads of the log that any in-sync replica may answer, so that exports cost who leads a partition nothing."""

import asyncio
from collections.abc import Callable
from itertools import count

import msgspec
import structlog

from app.dependencies import Gateway
from cluster.errors import AcklogError
from storage.rpc.messages import RecordsRequest, RecordsResponse

logger = structlog.get_logger(__name__)


class ReplicaReads:
    """A replica in the gateway's rack is asked, where there is one; else each in its turn, the leader among them, so
    that reads spread over the machines that hold the partition. `check` raises AcklogError for an answer that is not to
    be given."""

    def __init__(self, gateway: Gateway, check: Callable[[RecordsRequest, RecordsResponse], None]) -> None:
        self._metadata = gateway.metadata
        self._nodes = gateway.nodes
        self._rack = gateway.settings.rack
        self._timeout_ms = gateway.settings.replica_read_timeout_ms
        self._turns = count()
        self._check = check

    async def read(self, request: RecordsRequest) -> RecordsResponse | None:
        """What a replica answers. None where none could, or not in time: the leader is to be asked."""
        node_id = self._choose(request.topic_id, request.partition)
        if node_id is None:
            return None
        asked = msgspec.structs.replace(request, any_replica=True)
        try:
            async with asyncio.timeout((self._timeout_ms + request.wait_ms) / 1000):
                response = await self._nodes.client(node_id).records(asked)
            self._check(request, response)
        except (AcklogError, TimeoutError) as error:
            logger.debug("replica_read_failed", node_id=node_id, partition=request.partition, reason=str(error))
            return None
        return response

    def _choose(self, topic_id: str, partition: int) -> int | None:
        state = self._metadata.partition(topic_id, partition)
        if state is None:
            return None
        members = [node for node in map(self._metadata.node, state.isr) if node is not None]
        near = [node for node in members if self._rack and node.rack == self._rack] or members
        return near[next(self._turns) % len(near)].node_id if near else None
