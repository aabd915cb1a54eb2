"""An append that a test writes as a coroutine, as the coalescer calls it."""

import asyncio
from collections.abc import Awaitable
from typing import Protocol

from acklog.wire.record import Record
from app.batching.coalescer import Append
from storage.rpc.messages import ProduceResponse
from storage.rpc.node_api import ProduceWaiter


class _Append(Protocol):
    def __call__(
        self, topic_id: str, partition: int, acks: int, records: list[Record], *, deadline_ms: int
    ) -> Awaitable[ProduceResponse]: ...


def telling(append: _Append) -> Append:
    """Runs `append` as a task, and tells the waiter how it ended."""
    tasks: set[asyncio.Task[None]] = set()

    def begin(
        topic_id: str, partition: int, acks: int, records: list[Record], waiter: ProduceWaiter, *, deadline_ms: int
    ) -> None:
        async def tell() -> None:
            try:
                response = await append(topic_id, partition, acks, records, deadline_ms=deadline_ms)
            except Exception as error:
                waiter.set_exception(error)
            else:
                waiter.set_result(response)

        task = asyncio.get_running_loop().create_task(tell())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    return begin
