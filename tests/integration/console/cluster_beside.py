"""A cluster for tests that have a browser."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from threading import Thread

from tests.support.real_cluster import RealCluster, RealClusterOptions, running_real_cluster

START_SECONDS = 240


@contextmanager
def cluster_beside(directory: Path, etcd: Path, options: RealClusterOptions) -> Iterator[RealCluster]:
    """On a loop of its own, in a thread: the browser's has this one."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    stack = AsyncExitStack()
    try:
        entered = stack.enter_async_context(running_real_cluster(directory, etcd, options))
        yield asyncio.run_coroutine_threadsafe(entered, loop).result(START_SECONDS)
    finally:
        asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result(START_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(START_SECONDS)
        loop.close()
