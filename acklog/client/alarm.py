"""Something that a task waits for: rung by others, or going off at its time."""

import asyncio

TIMER_SLACK_MS = 0.01
"""A loop's timer may go off a hair before its time. Who asks what is due adds this, or would ask again and again."""


class Alarm:
    """For one task at a time. A ring while nobody waits is remembered."""

    def __init__(self) -> None:
        self._is_rung = False
        self._waiter: asyncio.Future[None] | None = None

    def ring(self) -> None:
        """On the loop's thread."""
        self._is_rung = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, until_s: float | None) -> None:
        """Until it rings, or until the loop's clock shows `until_s`."""
        if not self._is_rung:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = None if until_s is None else loop.call_at(until_s, self.ring)
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        self._is_rung = False
