"""Deliveries by a leader that is none any more, and may not have noticed."""

from tests.sim.history import Delivered, Elected, Faulted, History
from tests.sim.options import TRANSIENT_TTLS, Fault, LastingFault

_TRANSIENT = frozenset({Fault.ISLAND.value, Fault.ISOLATE.value})
"""Cuts that may leave a leader with a gateway and without the store, while other faults come and go."""


class Unnoticed:
    """A leader that is cut off from the store as well, and is replaced at that moment, hands messages out for up to
    `unnoticed_ms` more (docs/replication.md says so)."""

    def __init__(self, history: History, *, unnoticed_ms: float) -> None:
        self._faults = sorted(history.of(Faulted), key=lambda each: each.began_ms)
        self._elections = list(history.of(Elected))
        self._unnoticed_ms = unnoticed_ms

    def may_explain(self, delivered: Delivered) -> bool:
        return any(
            (elected.queue, elected.partition) == (delivered.queue, delivered.partition)
            and elected.epoch > delivered.leader_epoch
            and elected.began_ms <= delivered.ended_ms <= elected.began_ms + self._unnoticed_ms
            and self._may_be_unheard(elected, delivered)
            for elected in self._elections
        )

    def _may_be_unheard(self, elected: Elected, delivered: Delivered) -> bool:
        """By the leader before: it was cut off when another one was elected, and maybe from the store, too."""
        before = [each for each in self._faults if each.began_ms <= elected.began_ms]
        last = next((each for each in reversed(self._faults) if each.began_ms <= delivered.began_ms), None)
        if last is not None and last.kind == LastingFault.ISLAND_WITHOUT_STORE.value:
            return last in before
        since_ms = elected.began_ms - max(TRANSIENT_TTLS) * self._unnoticed_ms
        return any(each.kind in _TRANSIENT and each.began_ms >= since_ms for each in before)
