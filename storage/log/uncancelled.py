"""Changes that may not end in their middle, whoever asked for them."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")


async def uncancelled(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run `work` to its end although the caller may be cancelled meanwhile; the cancellation is raised then.

    A log changes in several steps on the disk. An I/O thread cannot be stopped, so a caller that went away in the
    middle would give its locks back while the thread still works, and leave the other steps undone.
    """
    task = asyncio.get_running_loop().create_task(work)
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancellation = error
        except BaseException:
            break  # of the task, which is done: raised below
    if cancellation is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # nobody else will look at it
    raise cancellation
