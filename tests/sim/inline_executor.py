"""An I/O executor without threads and without time, for property tests."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")


class InlineExecutor:
    """`storage.disk.executor.IoExecutor`: other tasks may run before the function does, never during it."""

    def __init__(self) -> None:
        self._is_closed = False
        self.calls = 0

    async def run(self, function: Callable[[], _Result]) -> _Result:
        if self._is_closed:
            raise RuntimeError("the executor is closed")
        self.calls += 1
        await asyncio.sleep(0)
        return function()

    def close(self) -> None:
        self._is_closed = True
