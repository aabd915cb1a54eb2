"""What a process tells of itself, for Prometheus, whichever kind it is: memory, processor and descriptors, how late its
event loop is, how long its disk's syncs and its calls to etcd take."""

from prometheus_client import ProcessCollector
from prometheus_client.registry import Collector

from app.gateway.tallies import HistogramTally
from app.processes.loop_delay import LoopDelay
from app.processes.sync_times import SyncTimes
from cluster.ports.clock import Clock

_ETCD_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ProcessFigures:
    """`start` it on the event loop that it is to look at, and `close` it there."""

    def __init__(self, clock: Clock) -> None:
        self.sync_times = SyncTimes()
        self._loop_delay = LoopDelay(clock)
        self._etcd_calls = HistogramTally(
            "acklog_etcd_call_seconds", "Time that a call to etcd took, with all its tries", ["method"], _ETCD_BUCKETS_S
        )

    def start(self) -> None:
        self._loop_delay.start()

    def close(self) -> None:
        self._loop_delay.close()

    def note_etcd_call(self, method: str, seconds: float) -> None:
        """`method` is one of gRPC's, by its name alone."""
        self._etcd_calls.observe((method,), seconds)

    def of_gateway(self) -> tuple[Collector, ...]:
        """Of a process without a disk."""
        return ProcessCollector(registry=None), self._loop_delay, self._etcd_calls

    def of_node(self) -> tuple[Collector, ...]:
        return *self.of_gateway(), self.sync_times

    def of_embedded(self) -> tuple[Collector, ...]:
        """Of a process without etcd."""
        return ProcessCollector(registry=None), self._loop_delay, self.sync_times
