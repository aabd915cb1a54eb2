"""How long a leader that was replaced may hand messages out, and after which faults."""

import pytest

from tests.sim.history import Event, Faulted, History
from tests.sim.options import TRANSIENT_TTLS, Fault, LastingFault
from tests.sim.test_checkers import REPLACED, delivered, later
from tests.sim.unnoticed import Unnoticed

UNNOTICED_MS = 1_000
OTHER_FAULT = Faulted(began_ms=5, ended_ms=5, kind=Fault.SHORT_PAUSE.value)


def cut(kind: Fault | LastingFault) -> Event:
    return Faulted(began_ms=0, ended_ms=0, kind=kind.value)


def is_explained(*events: Event, after_ms: float) -> bool:
    """Whether a delivery so long after the beginning, by the leader of epoch 1, may be one of who has not noticed."""
    history = History()
    for event in events:
        history.add(event)
    return Unnoticed(history, unnoticed_ms=UNNOTICED_MS).may_explain(later(delivered(), after_ms))


@pytest.mark.parametrize("kind", [Fault.ISLAND, Fault.ISOLATE])
def test_a_cut_that_passes_whatever_else_happens(kind: Fault) -> None:
    assert is_explained(cut(kind), OTHER_FAULT, REPLACED, after_ms=900)
    assert not is_explained(cut(kind), OTHER_FAULT, REPLACED, after_ms=1_020)
    assert not is_explained(REPLACED, later(cut(kind), 15), after_ms=100)


def test_one_that_has_passed_before_another_leader_was_elected() -> None:
    passed_ms = max(TRANSIENT_TTLS) * UNNOTICED_MS
    assert is_explained(cut(Fault.ISLAND), later(REPLACED, passed_ms - 20), after_ms=passed_ms)
    assert not is_explained(cut(Fault.ISLAND), later(REPLACED, passed_ms + 20), after_ms=passed_ms + 100)


def test_one_that_lasts() -> None:
    kind = LastingFault.ISLAND_WITHOUT_STORE
    assert is_explained(cut(kind), later(REPLACED, 10_000), after_ms=10_500)
    assert not is_explained(REPLACED, later(cut(kind), 15), after_ms=100)


def test_no_fault_and_others() -> None:
    assert not is_explained(REPLACED, after_ms=100)
    assert not is_explained(OTHER_FAULT, REPLACED, after_ms=100)
