"""Who waits until a partition's messages are committed up to somewhere."""

import asyncio

from cluster.ports.clock import Clock


class CommitWaiters:
    """`high_watermark` is exclusive: everything below it is committed."""

    def __init__(self, high_watermark: int, clock: Clock) -> None:
        self.high_watermark = high_watermark
        self._clock = clock
        self._waiters: dict[asyncio.Future[None], None] = {}
        self._is_over = False

    def __len__(self) -> int:
        return len(self._waiters)

    def advance(self, high_watermark: int) -> None:
        self.high_watermark = high_watermark
        self._wake()

    def end(self) -> None:
        """Nobody waits any more: the node stops, or another leads."""
        self._is_over = True
        self._wake()

    async def wait_beyond(self, offset: int, timeout_ms: int) -> bool:
        """Until the high watermark has passed `offset`, or the time is up, or it is over. Whether it has passed."""
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        while self.high_watermark <= offset and not self._is_over:
            left_ms = deadline_ms - self._clock.monotonic_ms()
            if left_ms <= 0:
                break
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters[future] = None
            try:
                async with asyncio.timeout(left_ms / 1000):
                    await future
            except TimeoutError:
                break
            finally:
                self._waiters.pop(future, None)
        return self.high_watermark > offset

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, {}
        for future in waiters:
            if not future.done():
                future.set_result(None)
