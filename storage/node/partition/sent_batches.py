"""Batches that a gateway may send again, as their partition's leader answers for them (rule R19)."""

import asyncio

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.log.log_queue import Appended
from storage.produce.producer_window import BatchStanding, Known, ProducerWindow

SourceKey = tuple[int, int]  # producer id and sequence: which batch of which gateway


class SentBatches:
    """The window of producers, with whoever waits for the outcome of an append that is under way."""

    def __init__(self, window: ProducerWindow, clock: Clock) -> None:
        self._window = window
        self._clock = clock
        self._waiters: dict[SourceKey, asyncio.Future[None]] = {}

    async def find(self, source: SourceKey, *, is_retry: bool) -> Known | None:
        """Where the batch is, committed or not, after an append of it that is under way has ended. None: it is not
        here, and has to be appended. Raises ServerError OUTCOME_UNKNOWN. The caller bounds the time."""
        while True:
            found = self._window.check(*source, is_retry=is_retry, now_ms=self._clock.monotonic_ms())
            if isinstance(found, Known):
                return found
            if found is BatchStanding.ABSENT:
                return None
            if found is BatchStanding.TOO_OLD:
                detail = "The batch was sent before, and nobody knows any more whether it is stored."
                raise ServerError(ProblemCode.OUTCOME_UNKNOWN, detail)
            waiter = self._waiters.get(source)
            if waiter is None:
                waiter = self._waiters[source] = asyncio.get_running_loop().create_future()
            await asyncio.shield(waiter)

    def begin(self, source: SourceKey) -> None:
        """The batch, which is not here, is being appended."""
        self._window.begin(*source, now_ms=self._clock.monotonic_ms())

    def stored(self, source: SourceKey, appended: Appended, leader_epoch: int) -> None:
        """It is in the log, durable here."""
        self._window.commit(
            *source,
            base_offset=appended.base_offset,
            leader_epoch=leader_epoch,
            append_time_ms=appended.append_time_ms,
            now_ms=self._clock.monotonic_ms(),
        )
        self._tell(source)

    def refused(self, source: SourceKey) -> None:
        """It did not get into the log."""
        self._window.abort(*source)
        self._tell(source)

    def _tell(self, source: SourceKey) -> None:
        waiter = self._waiters.pop(source, None)
        if waiter is not None:
            waiter.set_result(None)
