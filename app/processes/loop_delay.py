"""How late a process's event loop is, for Prometheus: by so much every request that it has is late, too."""

import asyncio
from collections.abc import Iterable

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from app.gateway.tallies import HistogramTally
from cluster.ports.clock import Clock

INTERVAL_MS = 250
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class LoopDelay(Collector):
    """Looks every INTERVAL_MS from `start` to `close`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looking: asyncio.Task[None] | None = None
        self._tally = HistogramTally(
            "acklog_event_loop_delay_seconds",
            "By how much the event loop came later than it was asked to",
            [],
            BUCKETS_S,
        )

    def start(self) -> None:
        self._looking = asyncio.create_task(self._look(), name="loop delay")

    def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

    async def _look(self) -> None:
        while True:
            asked_ms = self._clock.monotonic_ms()
            await self._clock.sleep(INTERVAL_MS)
            late_ms = self._clock.monotonic_ms() - asked_ms - INTERVAL_MS
            self._tally.observe((), max(0, late_ms) / 1000)

    def describe(self) -> Iterable[Metric]:
        return self._tally.describe()

    def collect(self) -> Iterable[Metric]:
        return self._tally.collect()
