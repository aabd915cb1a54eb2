"""A share of the event loop for work that would take all of it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager


class LoopShare:
    """Such work is done by one at a time, in turns, and takes `percent` of the time at most: what its pieces took is
    followed by a rest before the next turn; of `rest_max_ms` at most, as a piece may have had to wait for the
    processor. Who has little to do notices nothing: what was not used for `rest_max_ms` is left over for him."""

    def __init__(self, *, percent: int, rest_max_ms: int) -> None:
        self._cost = 100 / percent
        self._rest_max_s = rest_max_ms / 1000
        self._turns = asyncio.Lock()
        self._paid_until_s = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Begins when nobody else has one, and what was done before is made up for."""
        async with self._turns:
            rest_s = self._paid_until_s - asyncio.get_running_loop().time()
            if rest_s > 0:
                await asyncio.sleep(min(rest_s, self._rest_max_s))
            yield

    @contextmanager
    def piece(self) -> Iterator[None]:
        """What keeps the loop for a moment, in a turn."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        try:
            yield
        finally:
            ended_s = loop.time()
            paid_s = max(self._paid_until_s, began_s - self._rest_max_s) + (ended_s - began_s) * self._cost
            self._paid_until_s = min(paid_s, ended_s + self._rest_max_s)
