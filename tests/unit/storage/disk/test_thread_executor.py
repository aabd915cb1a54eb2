import asyncio
import threading
from functools import partial

import pytest

from storage.disk.thread_executor import ThreadExecutor


async def test_functions_run_in_named_threads_and_return_or_raise() -> None:
    executor = ThreadExecutor(threads=2, name="disk")
    assert (await executor.run(lambda: threading.current_thread().name)).startswith("disk")
    with pytest.raises(ZeroDivisionError):
        await executor.run(lambda: 1 // 0)
    executor.close()
    with pytest.raises(RuntimeError):
        await executor.run(lambda: None)


async def test_one_thread_keeps_the_order() -> None:
    executor = ThreadExecutor(threads=1, name="disk")
    seen: list[int] = []
    await asyncio.gather(*(executor.run(partial(seen.append, number)) for number in range(50)))
    assert seen == list(range(50))
    executor.close()


async def test_close_waits_for_what_has_begun() -> None:
    executor = ThreadExecutor(threads=1, name="disk")
    begun, release, done = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        release.wait(10)
        done.set()

    task = asyncio.create_task(executor.run(work))
    while not begun.is_set():
        await asyncio.sleep(0)
    release.set()
    executor.close()
    assert done.is_set()
    await task
