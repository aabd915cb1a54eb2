"""Deliveries by a leader that is none any more, and may not have noticed."""

from tests.sim.history import Delivered, Elected, Faulted, History
from tests.sim.options import LastingFault


class Unnoticed:
    """A leader that is cut off from the store as well, and is replaced at that moment, hands messages out for up to
    `unnoticed_ms` more (docs/replication.md says so)."""

    def __init__(self, history: History, *, unnoticed_ms: float) -> None:
        self._faults = sorted(history.of(Faulted), key=lambda each: each.began_ms)
        self._elections = list(history.of(Elected))
        self._unnoticed_ms = unnoticed_ms

    def may_explain(self, delivered: Delivered) -> bool:
        fault = next((each for each in reversed(self._faults) if each.began_ms <= delivered.began_ms), None)
        if fault is None or fault.kind != LastingFault.ISLAND_WITHOUT_STORE.value:
            return False
        return any(
            (elected.queue, elected.partition) == (delivered.queue, delivered.partition)
            and elected.epoch > delivered.leader_epoch
            and fault.began_ms <= elected.began_ms <= delivered.ended_ms <= elected.began_ms + self._unnoticed_ms
            for elected in self._elections
        )
