"""Starts again what ends by itself, or by somebody's `kill -9`: what an init system does."""

import asyncio
from dataclasses import dataclass

from app.local_cluster.local_cluster import LocalCluster
from app.local_cluster.member import Life, Member
from app.local_cluster.server_process import ServerFailedError

LOOK_INTERVAL_S = 0.2


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

    async def _keep(self, member: Member) -> None:
        failures = 0
        while failures < self._settings.failures_max:
            exit_code = await self._end_of(member)
            self._cluster.note_end(member, exit_code)
            await asyncio.sleep(self._settings.pause_s)
            member.restarts += 1
            try:
                await member.process.kill()  # what is gone already: so that it may be started again
                await self._cluster.start_member(member)
                failures = 0
            except ServerFailedError:
                failures += 1
        self._cluster.give_up(member)

    async def _end_of(self, member: Member) -> int:
        while member.life not in {Life.READY, Life.STARTING} or member.process.exit_code is None:
            await asyncio.sleep(LOOK_INTERVAL_S)
        return member.process.exit_code
