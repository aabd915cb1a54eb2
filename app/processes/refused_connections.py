"""Connections that came to nothing before anything was asked: counted, and a few of them logged."""

from collections.abc import Iterable

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from app.gateway.tallies import CounterTally
from cluster.line_limit import LineLimitSettings
from cluster.tls.tls_listener import OpeningFailure
from storage.rpc.stranger_log import StrangerLog


class RefusedConnections(Collector):
    """For one event loop. `listener` is `http` or `peers`."""

    def __init__(self) -> None:
        self._log = StrangerLog(LineLimitSettings())
        self._tally = CounterTally(
            "acklog_tls_connections_refused",
            "Connections that came to nothing: in clear, with a failed handshake, too slow, or one too many",
            ["listener", "reason"],
        )

    def note(self, listener: str, refusal: OpeningFailure, why: str) -> None:
        self._tally.add((listener, refusal.value), 1)
        self._log.warn(f"tls.{listener}_refused", reason=refusal.value, why=why)

    def describe(self) -> Iterable[Metric]:
        return self._tally.describe()

    def collect(self) -> Iterable[Metric]:
        return self._tally.collect()
