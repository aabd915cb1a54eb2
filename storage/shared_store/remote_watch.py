"""One watch on the store of another process, for one reader: it asks for what comes next, and waits there."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from cluster.ports.coordination import CoordinationError, WatchBatch
from storage.rpc.coordination_messages import StoreWatchRequest
from storage.rpc.coordination_methods import STORE_WATCH
from storage.shared_store.store_events import batch_of

WAIT_MS = 20_000
"""How long the store is asked to wait for a change before it answers that there was none."""
MARGIN_MS = 10_000
"""How much later its answer may come."""

Ask = Callable[..., Awaitable[Any]]


class RemoteWatch:
    """`cluster.ports.coordination.Watch`. It keeps no queue, and a cancelled read loses nothing: what was not handed
    over is asked for again, by its revision."""

    def __init__(self, ask: Ask, prefix: str, start_revision: int, *, on_end: Callable[["RemoteWatch"], None]) -> None:
        self._ask = ask
        self._prefix = prefix
        self._revision = start_revision
        self._on_end = on_end
        self._asking: asyncio.Task[WatchBatch] | None = None
        self._is_closed = False

    def __aiter__(self) -> "RemoteWatch":
        return self

    async def __anext__(self) -> WatchBatch:
        if self._is_closed:
            raise StopAsyncIteration
        asking = self._asking = asyncio.create_task(self._next_batch(), name=f"watch {self._prefix}")
        try:
            batch = await asking
        except asyncio.CancelledError:
            reader = asyncio.current_task()
            if self._is_closed and reader is not None and not reader.cancelling():
                raise StopAsyncIteration from None
            raise
        except CoordinationError:
            self._on_end(self)
            raise
        self._revision = batch.revision + 1
        return batch

    async def aclose(self) -> None:
        self._is_closed = True
        self._on_end(self)
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    async def _next_batch(self) -> WatchBatch:
        while True:
            request = StoreWatchRequest(self._prefix, self._revision, WAIT_MS)
            answer = await self._ask(STORE_WATCH, request, timeout_ms=WAIT_MS + MARGIN_MS)
            if answer.revision:
                return batch_of(answer)
