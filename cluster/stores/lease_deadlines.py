"""When leases end: one sleeping task per lease, nothing polls."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cluster.ports.clock import Clock
from cluster.ports.coordination import LeaseLostError, StoreLease


@dataclass(slots=True)
class _Running:
    lease: StoreLease
    deadline_ms: int
    task: asyncio.Task[None] | None = None
    is_expiring: bool = False


class LeaseDeadlines:
    """Calls `expire(lease_id)` when a lease's deadline has passed; `forget` must follow when it has ended."""

    def __init__(self, clock: Clock, expire: Callable[[int], Awaitable[None]]) -> None:
        self._clock = clock
        self._expire = expire
        self._running: dict[int, _Running] = {}

    def start(self, lease: StoreLease) -> None:
        running = _Running(lease, self._clock.monotonic_ms() + lease.ttl_ms)
        self._running[lease.lease_id] = running
        running.task = asyncio.create_task(self._wait(running), name=f"lease {lease.lease_id}")

    def keep_alive(self, lease_id: int) -> None:
        """Raises LeaseLostError once the deadline has passed, even where the keys are not deleted yet."""
        running = self._running.get(lease_id)
        now_ms = self._clock.monotonic_ms()
        if running is None or now_ms >= running.deadline_ms:
            raise LeaseLostError(f"lease {lease_id} has ended")
        running.deadline_ms = now_ms + running.lease.ttl_ms

    def forget(self, lease_id: int) -> None:
        running = self._running.pop(lease_id, None)
        if running is not None and running.task is not None and not running.is_expiring:
            running.task.cancel()

    async def close(self) -> None:
        tasks = [running.task for running in self._running.values() if running.task is not None]
        self._running.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait(self, running: _Running) -> None:
        while (left_ms := running.deadline_ms - self._clock.monotonic_ms()) > 0:
            await self._clock.sleep(left_ms)
        running.is_expiring = True
        await self._expire(running.lease.lease_id)
