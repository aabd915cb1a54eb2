"""What the gateway counts of the audit log."""

from prometheus_client import Gauge

from app.gateway.exposition import SteppedRegistry
from app.gateway.tallies import CounterTally


class AuditFigures:
    """To be used on the event loop only."""

    def __init__(self, registry: SteppedRegistry) -> None:
        self._stored = CounterTally(
            "acklog_audit_records", "Records of the audit log that were stored, by their result", ["result"]
        )
        self._lost = CounterTally(
            "acklog_audit_records_lost", "Records of the audit log that had no room while none could be stored", []
        )
        self._summed = CounterTally(
            "acklog_audit_refusals_summed", "Refusals that have no record of their own, as sums count them", []
        )
        self.waiting_bytes = Gauge(
            "acklog_audit_waiting_bytes", "Bytes of records of the audit log that wait to be stored", registry=registry
        )
        for tally in (self._stored, self._lost, self._summed):
            registry.register(tally)

    def count_stored(self, result: str) -> None:
        self._stored.add((result,))

    def count_lost(self, count: int) -> None:
        self._lost.add((), count)

    def count_summed(self) -> None:
        self._summed.add(())
