"""The I/O executor on real threads: the only module that takes work off the event loop.

Not `concurrent.futures`: a lone call through that costs the process 60 to 70 microseconds more (two futures chained to
each other, locks and conditions around them), and every round of the group commit is such a call.
"""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from storage.disk.executor import Then

_Result = TypeVar("_Result")


class _Call(NamedTuple):
    function: Callable[[], object]
    loop: asyncio.AbstractEventLoop
    then: Then


class ThreadExecutor:
    """`storage.disk.executor.IoExecutor` on `threads` threads; with one thread, calls run in the order they came.

    Cancelling a wait does not stop a call. Callers bound what they have waiting here.
    """

    def __init__(self, threads: int, *, name: str = "acklog-io") -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._is_closed = False
        self._threads = [
            threading.Thread(target=_serve, args=(self._calls,), name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, function: Callable[[], _Result]) -> _Result:
        """What `function()` returns or raises. Raises RuntimeError after `close`."""
        outcome: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()
        self.start(function, partial(_settle, outcome))
        return await outcome

    def start(self, function: Callable[[], object], then: Then) -> None:
        """As the port says. Raises RuntimeError after `close`."""
        if self._is_closed:
            raise RuntimeError("the executor is closed")
        self._calls.put(_Call(function, asyncio.get_running_loop(), then))

    def close(self) -> None:
        """Take no new calls; returns once the waiting ones are done, so nothing writes afterwards."""
        self._is_closed = True
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join()


def _serve(calls: "SimpleQueue[_Call | None]") -> None:
    while (call := calls.get()) is not None:
        function, loop, then = call
        try:
            result = function()
        except BaseException as error:
            _report(loop, then, None, error)
        else:
            _report(loop, then, result, None)
            del result
        del call, function, then  # what was written must not stay in memory until the next call comes


def _report(loop: asyncio.AbstractEventLoop, then: Then, result: object, error: BaseException | None) -> None:
    try:
        loop.call_soon_threadsafe(then, result, error)
    except RuntimeError:
        return  # the loop is closed: nobody waits any more


def _settle(outcome: "asyncio.Future[Any]", result: object, error: BaseException | None) -> None:
    if outcome.done():
        return
    if error is None:
        outcome.set_result(result)
    else:
        outcome.set_exception(error)
