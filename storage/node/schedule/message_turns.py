"""One decision about a scheduled message at a time: to deliver it, or to cancel, move or write it anew."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from storage.schedule.near_future import NearFuture


class MessageTurns:
    """`on_free`: there may be something to deliver again."""

    def __init__(self, near: NearFuture, on_free: Callable[[], None]) -> None:
        self._near = near
        self._on_free = on_free
        self._changing: dict[int, asyncio.Future[None]] = {}

    def hold(self, id_: int) -> bool:
        """Whether nobody delivers or changes the message, or will before `release`."""
        if id_ in self._changing or not self._near.begin_change(id_):
            return False
        self._changing[id_] = asyncio.get_running_loop().create_future()
        return True

    def release(self, id_: int) -> None:
        """After `hold`."""
        self._near.end_change(id_)
        self._changing.pop(id_).set_result(None)
        self._on_free()

    @asynccontextmanager
    async def changing(self, id_: int) -> AsyncIterator[None]:
        """Whoever wants to cancel or move a message waits for who came before."""
        while (before := self._changing.get(id_)) is not None:
            await asyncio.shield(before)
        done = self._changing[id_] = asyncio.get_running_loop().create_future()
        try:
            yield
        finally:
            del self._changing[id_]
            done.set_result(None)
