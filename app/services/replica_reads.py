"""Reads of the log that any in-sync replica may answer, so that exports cost who leads a partition nothing."""

import asyncio
from collections.abc import Callable
from itertools import count

import msgspec
import structlog

from app.gateway.dependencies import Gateway
from cluster.errors import ServerError
from storage.rpc.messages import RecordsRequest, RecordsResponse

logger = structlog.get_logger(__name__)


PASSED_OVER_MS = 5_000
"""A replica that was silent is asked after all others for so long."""


class ReplicaReads:
    """A replica in the gateway's rack is asked, where there is one; else each in its turn, the leader among them, so
    that reads spread over the machines that hold the partition. Where one fails or is silent, the others are asked.
    `check` raises ServerError for an answer that is not to be given."""

    def __init__(self, gateway: Gateway, check: Callable[[RecordsRequest, RecordsResponse], None]) -> None:
        self._metadata = gateway.metadata
        self._nodes = gateway.nodes
        self._clock = gateway.clock
        self._rack = gateway.settings.rack
        self._timeout_ms = gateway.settings.replica_read_timeout_ms
        self._turns = count()
        self._silent_until_ms: dict[int, int] = {}
        self._check = check

    async def read(self, request: RecordsRequest) -> RecordsResponse | None:
        """What a replica answers. None where none could, or not in time: the leader is to be asked."""
        asked = msgspec.structs.replace(request, any_replica=True)
        for node_id in self._in_order(request.topic_id, request.partition):
            try:
                async with asyncio.timeout((self._timeout_ms + asked.wait_ms) / 1000):
                    response = await self._nodes.client(node_id).records(asked)
                self._check(request, response)
            except TimeoutError:
                reason = "it is silent"
                self._silent_until_ms[node_id] = self._clock.monotonic_ms() + PASSED_OVER_MS
                asked.wait_ms = 0  # the time for that has passed
            except ServerError as error:
                reason = str(error)
            else:
                self._silent_until_ms.pop(node_id, None)
                return response
            logger.debug("replica_read_failed", node_id=node_id, partition=request.partition, reason=reason)
        return None

    def _in_order(self, topic_id: str, partition: int) -> list[int]:
        """The replicas in sync, each of those in the rack in its turn before the others; the silent ones last."""
        state = self._metadata.partition(topic_id, partition)
        if state is None:
            return []
        members = [node for node in map(self._metadata.node, state.isr) if node is not None]
        near = [node.node_id for node in members if self._rack and node.rack == self._rack]
        far = [node.node_id for node in members if node.node_id not in near]
        turn = next(self._turns)
        return sorted(_rotated(near, turn) + _rotated(far, turn), key=self._is_silent)

    def _is_silent(self, node_id: int) -> bool:
        until_ms = self._silent_until_ms.get(node_id)
        if until_ms is None:
            return False
        if until_ms <= self._clock.monotonic_ms():
            del self._silent_until_ms[node_id]
            return False
        return True


def _rotated(node_ids: list[int], turn: int) -> list[int]:
    first = turn % len(node_ids) if node_ids else 0
    return node_ids[first:] + node_ids[:first]
