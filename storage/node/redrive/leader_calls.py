"""Asking the leaders of other partitions, wherever they are."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.ports.clock import Clock
from storage.redrive.redrive_settings import RedriveSettings
from storage.rpc.node_api import NodeApi

_Answer = TypeVar("_Answer")


class LeaderCalls:
    """`client_of` finds a node's interface."""

    def __init__(
        self,
        metadata: MetadataView,
        client_of: Callable[[int], NodeApi],
        *,
        clock: Clock,
        settings: RedriveSettings,
    ) -> None:
        self._metadata = metadata
        self._client_of = client_of
        self._clock = clock
        self._settings = settings

    def leader_of(self, topic_id: str, partition: int) -> NodeApi:
        """Raises ServerError UNAVAILABLE."""
        state = self._metadata.partition(topic_id, partition)
        if state is None or state.leader < 0:
            detail = f"partition {partition} of the topic {topic_id} has no leader now"
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=self._settings.retry_ms)
        return self._client_of(state.leader)

    async def ask(self, topic_id: str, partition: int, question: Callable[[NodeApi], Awaitable[_Answer]]) -> _Answer:
        """Asked again while nobody can answer, so it must change nothing. Raises ServerError."""
        deadline_ms = self._clock.monotonic_ms() + self._settings.call_timeout_ms
        while True:
            try:
                return await question(self.leader_of(topic_id, partition))
            except ServerError as error:
                is_over = self._clock.monotonic_ms() >= deadline_ms
                if error.code is not ProblemCode.UNAVAILABLE or is_over:
                    raise
            await self._clock.sleep(self._settings.retry_ms)
