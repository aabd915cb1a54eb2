"""What a process tells of itself: each figure follows what happened, in the right bucket."""

import asyncio

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from acklog.command.server_metrics import ServerMetrics
from app.processes.process_figures import ProcessFigures
from tests.sim.environment import MachineClock, SimClock
from tests.sim.loop import SimLoop, simulate


def exposed(collectors: tuple[Collector, ...]) -> ServerMetrics:
    registry = CollectorRegistry(auto_describe=True)
    for collector in collectors:
        registry.register(collector)
    return ServerMetrics(generate_latest(registry).decode())


class LateClock(SimClock):
    """Whose sleeps end 20 ms after they should."""

    async def sleep(self, duration_ms: float) -> None:
        await super().sleep(duration_ms + 20)


def test_a_loop_that_is_late_says_by_how_much() -> None:
    async def main(loop: SimLoop) -> None:
        figures = ProcessFigures(LateClock(MachineClock(loop)))
        figures.start()
        await asyncio.sleep(1.3)
        metrics = exposed(figures.of_gateway())
        assert metrics.value("acklog_event_loop_delay_seconds_count") == 4
        buckets = metrics.by_label("acklog_event_loop_delay_seconds_bucket", "le")
        assert (buckets["0.01"], buckets["0.025"]) == (0, 4)
        figures.close()
        await asyncio.sleep(1)
        assert exposed(figures.of_gateway()).value("acklog_event_loop_delay_seconds_count") == 4

    simulate(1, main)


def test_syncs_calls_and_the_process_itself_are_told_by_those_who_have_them() -> None:
    async def main(loop: SimLoop) -> None:
        figures = ProcessFigures(SimClock(MachineClock(loop)))
        figures.sync_times.add(0.003)
        figures.sync_times.add(20.0)
        figures.note_etcd_call("Txn", 0.003)
        node = exposed(figures.of_node())
        assert node.value("acklog_disk_sync_seconds_count") == 2
        assert node.by_label("acklog_disk_sync_seconds_bucket", "le")["10.0"] == 1
        assert node.by_label("acklog_etcd_call_seconds_count", "method") == {"Txn": 1}
        assert (node.value("process_open_fds") or 0) > 0
        assert exposed(figures.of_gateway()).value("acklog_disk_sync_seconds_count") is None
        assert exposed(figures.of_embedded()).by_label("acklog_etcd_call_seconds_count", "method") == {}

    simulate(1, main)
