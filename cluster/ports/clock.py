"""The clock port. Everything that needs time gets a Clock; nothing else in the server may look at one."""

from typing import Protocol


class Clock(Protocol):
    """Time in whole milliseconds."""

    def now_ms(self) -> int:
        """Wall-clock time (Unix epoch) that never jumps: see `cluster.ports.runtime.SteadyClock`."""
        ...

    def monotonic_ms(self) -> int:
        """Time since some fixed moment; never falls. Leases, deadlines and waits go by it."""
        ...

    async def sleep(self, duration_ms: float) -> None: ...
