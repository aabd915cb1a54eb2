"""Starts again what ends by itself, or by somebody's `kill -9`: what an init system does."""

import asyncio
from dataclasses import dataclass

from app.local_cluster.cluster_process import ClusterProcess
from app.local_cluster.local_cluster import LocalCluster
from app.local_cluster.server_process import ServerFailedError


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperSettings:
    pause_s: float = 3.0
    """Between an end and the next start: long enough to see how the others get on without it."""

    failures_max: int = 5
    """Starts in a row that failed, after which a member is given up."""


class Keeper:
    """`run` until cancelled. A member that is being stopped, or was given up, is left alone."""

    def __init__(self, cluster: LocalCluster, settings: KeeperSettings | None = None) -> None:
        self._cluster = cluster
        self._settings = settings or KeeperSettings()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for member in self._cluster.members:
                tasks.create_task(self._keep(member))

    async def _keep(self, member: ClusterProcess) -> None:
        failures = 0
        exit_code = await member.process.ended()
        while True:
            await member.process.kill()
            self._cluster.note_end(member, exit_code)
            if failures >= self._settings.failures_max:
                break
            await asyncio.sleep(self._settings.pause_s)
            member.restarts += 1
            try:
                await self._cluster.start_member(member)
                failures = 0
                exit_code = await member.process.ended()
            except ServerFailedError:
                failures += 1
                exit_code = member.process.exit_code or 0
        self._cluster.give_up(member)
