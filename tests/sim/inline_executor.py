"""An I/O executor without threads and without time, for property tests."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from storage.disk.executor import Then

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

    def start(self, function: Callable[[], object], then: Then) -> None:
        if self._is_closed:
            raise RuntimeError("the executor is closed")
        self.calls += 1
        asyncio.get_running_loop().call_soon(_run, function, then)

    def close(self) -> None:
        self._is_closed = True


def _run(function: Callable[[], object], then: Then) -> None:
    try:
        result = function()
    except BaseException as error:  # a power loss, too
        then(None, error)
    else:
        then(result, None)
