"""Room for what was read for tails and is larger than a page: it waits here for its client, for as long as that takes.

Pages are small, and bounded by the places that there are for streams. A batch that is larger than a page is read whole,
and whoever has many such batches would fill the gateway's memory by listening slowly.
"""

import asyncio
from collections import deque
from types import TracebackType

from acklog.wire.limits import BATCH_BYTES_MAX

LARGE_BYTES_MAX = 4 * BATCH_BYTES_MAX
"""Of all tails of a gateway. There is room for the largest batch, or it could never be said."""


class TailMemory:
    """Who comes first gets room first."""

    def __init__(self, limit_bytes: int = LARGE_BYTES_MAX) -> None:
        self._limit_bytes = limit_bytes
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.held_bytes = 0

    def hold(self) -> "TailHold":
        return TailHold(self)

    def take(self, size_bytes: int) -> bool:
        """Whether there is room, which is taken then."""
        self._wake()
        is_there = not self._waiting and self._has_room(size_bytes)
        self.held_bytes += size_bytes if is_there else 0
        return is_there

    async def wait_for(self, size_bytes: int) -> None:
        """Take so much as soon as it is there."""
        if self.take(size_bytes):
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size_bytes, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back(size_bytes)  # its turn had come
            else:
                turn.cancel()
                self._wake()
            raise

    def give_back(self, size_bytes: int) -> None:
        self.held_bytes -= size_bytes
        self._wake()

    def _wake(self) -> None:
        while self._waiting:
            size_bytes, turn = self._waiting[0]
            if not turn.done():
                if not self._has_room(size_bytes):
                    return
                self.held_bytes += size_bytes
                turn.set_result(None)
            self._waiting.popleft()

    def _has_room(self, size_bytes: int) -> bool:
        return not self.held_bytes or self.held_bytes + size_bytes <= self._limit_bytes


class TailHold:
    """Of one reader, for one page; given back at the end of its `with` block."""

    def __init__(self, memory: TailMemory) -> None:
        self._memory = memory
        self.size_bytes = 0

    def grow_to(self, size_bytes: int) -> bool:
        """Whether there is room for a page of that size."""
        more = size_bytes - self.size_bytes
        if more > 0 and not self._memory.take(more):
            return False
        self.size_bytes = max(size_bytes, self.size_bytes)
        return True

    async def wait_for(self, size_bytes: int) -> None:
        await self._memory.wait_for(size_bytes)
        self.size_bytes = size_bytes

    def __enter__(self) -> "TailHold":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.size_bytes:
            self._memory.give_back(self.size_bytes)
