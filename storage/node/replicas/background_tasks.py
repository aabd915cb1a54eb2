"""Tasks that somebody began and is answerable for."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class BackgroundTasks:
    """`on_crashed` hears of an exception that none of them should have let out."""

    def __init__(self, on_crashed: Callable[[BaseException], None]) -> None:
        self._on_crashed = on_crashed
        self._tasks: dict[asyncio.Task[None], None] = {}

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    async def wait(self) -> None:
        """Until all of them have ended."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def cancel(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await self.wait()

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._on_crashed(error)
