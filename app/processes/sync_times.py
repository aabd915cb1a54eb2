"""How long syncs of this process's disk take, for Prometheus: what every acknowledgement waits for."""

from collections.abc import Iterable
from threading import Lock

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from app.gateway.tallies import HistogramTally

BUCKETS_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class SyncTimes(Collector):
    """`add` is called by I/O threads, `collect` by the event loop."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._tally = HistogramTally(
            "acklog_disk_sync_seconds", "Time that a sync of a file took: the journal's, or another's", [], BUCKETS_S
        )

    def add(self, seconds: float) -> None:
        with self._lock:
            self._tally.observe((), seconds)

    def describe(self) -> Iterable[Metric]:
        return self._tally.describe()

    def collect(self) -> Iterable[Metric]:
        with self._lock:
            return list(self._tally.collect())
