"""A clock that stands still until a test moves it."""

import asyncio
import heapq

FIRST_WALL_MS = 1_700_000_000_000
_SETTLE_ROUNDS = 20


class ManualClock:
    """`cluster.ports.clock.Clock` for unit tests: sleepers wake when `advance_ms` passes their deadline, in its
    order."""

    def __init__(self, *, first_wall_ms: int = FIRST_WALL_MS, first_monotonic_ms: int = 0) -> None:
        self._wall_offset_ms = first_wall_ms - first_monotonic_ms
        self._monotonic_ms = first_monotonic_ms
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._serial = 0

    def now_ms(self) -> int:
        return self._monotonic_ms + self._wall_offset_ms

    def monotonic_ms(self) -> int:
        return self._monotonic_ms

    async def sleep(self, duration_ms: float) -> None:
        if duration_ms <= 0:
            await asyncio.sleep(0)
            return
        awake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._serial += 1
        heapq.heappush(self._sleepers, (self._monotonic_ms + duration_ms, self._serial, awake))
        await awake

    @property
    def sleeping(self) -> int:
        """How many tasks sleep on this clock now."""
        return sum(not awake.done() for _, _, awake in self._sleepers)

    async def advance_ms(self, duration_ms: int) -> None:
        """Let time pass. Each sleeper wakes at its own deadline and runs until it waits again before time goes on, so
        one that sleeps in a loop wakes as often as it would for real."""
        end_ms = self._monotonic_ms + duration_ms
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end_ms:
            deadline_ms, _, awake = heapq.heappop(self._sleepers)
            self._monotonic_ms = max(self._monotonic_ms, -int(-deadline_ms // 1))
            if not awake.done():
                awake.set_result(None)
                await settle()
        self._monotonic_ms = end_ms
        await settle()


async def settle(rounds: int = _SETTLE_ROUNDS) -> None:
    """Let every task that can run do so, `rounds` times."""
    for _ in range(rounds):
        await asyncio.sleep(0)
