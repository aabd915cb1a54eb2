"""The wall clock that never jumps, on a machine whose clock does."""

from types import SimpleNamespace

import pytest

from cluster.ports import runtime
from cluster.ports.runtime import SteadyClock

HOUR_MS = 3_600_000


@pytest.mark.parametrize("step_ms", [1, 2, 3, 1000])
def test_after_a_jump_back_time_goes_at_half_speed_however_often_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, step_ms: int
) -> None:
    machine = SimpleNamespace(now_ms=0, skew_ms=10 * HOUR_MS)
    clock_of_the_machine = SimpleNamespace(
        time_ns=lambda: (machine.now_ms + machine.skew_ms) * 1_000_000,
        monotonic_ns=lambda: machine.now_ms * 1_000_000,
    )
    monkeypatch.setattr(runtime, "time", clock_of_the_machine)
    clock = SteadyClock()
    first_ms = last_ms = clock.now_ms()
    machine.skew_ms -= HOUR_MS
    for _ in range(6000 // step_ms):
        machine.now_ms += step_ms
        now_ms = clock.now_ms()
        assert now_ms >= last_ms
        last_ms = now_ms
    assert last_ms - first_ms == pytest.approx(machine.now_ms / 2, rel=0.34)
    assert last_ms > first_ms
