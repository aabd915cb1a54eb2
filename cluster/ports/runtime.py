"""The real clock and entropy: the only module of the server that reads the machine's."""

import asyncio
import random
import secrets
import time


class SteadyClock:
    """Wall-clock time that follows the machine's clock but never jumps.

    A jump of the machine's clock (a wrong NTP answer, an operator's typo) must not expire a week of messages at once
    or run retention backwards. Small differences are followed at once; a large one is approached by letting time run
    at half or double speed until both agree again. Append times therefore never fall within a process.
    """

    FOLLOW_LIMIT_MS = 1000

    def __init__(self) -> None:
        self._last_monotonic_ms = self.monotonic_ms()
        self._last_wall_ms = time.time_ns() // 1_000_000

    def now_ms(self) -> int:
        monotonic_ms = self.monotonic_ms()
        elapsed_ms = monotonic_ms - self._last_monotonic_ms
        if elapsed_ms <= 0:
            return self._last_wall_ms
        machine_ms = time.time_ns() // 1_000_000
        wall_ms = steady_step(self._last_wall_ms, elapsed_ms, machine_ms, follow_limit_ms=self.FOLLOW_LIMIT_MS)
        if wall_ms > self._last_wall_ms:  # else half a millisecond would be lost, and at each call all of it
            self._last_wall_ms = wall_ms
            self._last_monotonic_ms = monotonic_ms
        return wall_ms

    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000

    async def sleep(self, duration_ms: float) -> None:
        await asyncio.sleep(duration_ms / 1000)


def steady_step(last_ms: int, elapsed_ms: int, machine_ms: int, *, follow_limit_ms: int) -> int:
    """The steady time `elapsed_ms` after `last_ms`, given what the machine's clock says now."""
    expected_ms = last_ms + elapsed_ms
    difference_ms = machine_ms - expected_ms
    if abs(difference_ms) <= follow_limit_ms:
        return max(last_ms, machine_ms)
    if difference_ms > 0:
        return min(expected_ms + elapsed_ms, machine_ms)
    return last_ms + elapsed_ms // 2


class SystemEntropy:
    """Identifiers from the operating system, jitter from a generator of its own."""

    def __init__(self) -> None:
        self._jitter = random.Random(secrets.randbits(64))

    def bits64(self) -> int:
        return secrets.randbits(64)

    def fraction(self) -> float:
        return self._jitter.random()
