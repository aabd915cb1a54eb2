"""A timer for a machine that says when it has to be looked at again."""

import asyncio
from collections.abc import Callable

from cluster.ports.clock import Clock


class DeadlineTimer:
    """`next_deadline` is asked at `arm`; `on_due` is called when it has come. A timer that goes off too early, as the
    deadline has moved on, looks again and is set anew: cheaper than one for every move."""

    def __init__(self, next_deadline: Callable[[], int | None], on_due: Callable[[int], None], *, clock: Clock) -> None:
        self._next_deadline = next_deadline
        self._on_due = on_due
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._is_closed = False

    def arm(self) -> None:
        deadline_ms = self._next_deadline()
        if deadline_ms is None or self._is_closed or (self._timer is not None and self._timer_ms <= deadline_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ms = deadline_ms
        wait_ms = max(deadline_ms - self._clock.monotonic_ms(), 1)
        self._timer = asyncio.get_running_loop().call_later(wait_ms / 1000, self._ring)

    def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self._timer = None
        now_ms = self._clock.monotonic_ms()
        deadline_ms = self._next_deadline()
        if deadline_ms is not None and deadline_ms <= now_ms:
            self._on_due(now_ms)
        self.arm()
