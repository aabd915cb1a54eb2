"""Signed tokens that were refused: counted by why, and a few of them logged, without anything that is in them."""

from collections.abc import Iterable

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from app.gateway.tallies import CounterTally
from app.jwt.jwt_refused import JwtRefusedError
from cluster.line_limit import LineLimitSettings
from storage.rpc.stranger_log import StrangerLog


class RefusedJwts(Collector):
    """For one event loop. Each reason has a limit of its own on the lines it may have."""

    def __init__(self) -> None:
        self._log = StrangerLog(LineLimitSettings())
        self._tally = CounterTally("acklog_jwt_refused", "Signed tokens (JWT) that were refused, by why", ["reason"])

    def note(self, refusal: JwtRefusedError) -> None:
        self._tally.add((refusal.reason.value,))
        self._log.warn(f"jwt_refused.{refusal.reason.value}", why=str(refusal))

    def describe(self) -> Iterable[Metric]:
        return self._tally.describe()

    def collect(self) -> Iterable[Metric]:
        return self._tally.collect()
