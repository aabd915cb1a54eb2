"""The I/O executor on real threads: the only module that takes work off the event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Result = TypeVar("_Result")


class ThreadExecutor:
    """`storage.disk.executor.IoExecutor` on `threads` threads; with one thread, calls run in the order they came.

    Cancelling a wait does not stop a call that has begun. Callers bound what they have waiting here.
    """

    def __init__(self, threads: int, *, name: str = "acklog-io") -> None:
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix=name)

    async def run(self, function: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._pool, function)

    def close(self) -> None:
        """Take no new calls; returns once the waiting ones are done, so nothing writes afterwards."""
        self._pool.shutdown(wait=True)
