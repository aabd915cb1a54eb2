"""A local cluster from its start to its end: kept alive, and shown, until somebody stops it."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Protocol

from app.local_cluster.cluster_process import ClusterProcess
from app.local_cluster.condition import Condition, Examiner
from app.local_cluster.keeper import Keeper, KeeperSettings
from app.local_cluster.local_cluster import LocalCluster

REFRESH_S = 1.0


class ClusterDisplay(Protocol):
    """`changed` is called with each change of a member's life, `refresh` about once a second."""

    def changed(self, member: ClusterProcess) -> None: ...

    def refresh(self, members: Sequence[ClusterProcess], conditions: Sequence[Condition]) -> None: ...


async def keep_up(
    cluster: LocalCluster,
    display: ClusterDisplay,
    *,
    on_ready: Callable[[], None],
    keeping: KeeperSettings | None = None,
) -> None:
    """Start everything, keep it and show it until cancelled; then stop it in order. Raises ServerFailedError when it
    cannot be started, or did not stop."""
    try:
        starting = asyncio.create_task(_show(cluster, display), name="table")
        try:
            await cluster.start()
            on_ready()
            await Keeper(cluster, keeping).run()
        finally:
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
    finally:
        await _uncancelled(cluster.stop())
        display.refresh(cluster.members, [Condition()] * len(cluster.members))


async def _show(cluster: LocalCluster, display: ClusterDisplay) -> None:
    examiner = Examiner()
    try:
        while True:
            display.refresh(cluster.members, await examiner.examine(cluster.members))
            await asyncio.sleep(REFRESH_S)
    finally:
        await examiner.close()


async def _uncancelled(stopping: Coroutine[None, None, None]) -> None:
    """A second Ctrl-C does not leave processes behind."""
    task = asyncio.ensure_future(stopping)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
    task.result()
