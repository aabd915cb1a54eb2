"""Kills the server in the middle of the work, and starts it again on the same directory and port."""

import asyncio
from dataclasses import dataclass, field

from app.demo.journal import Journal
from app.demo.server_process import ServerProcess
from app.demo.work import Work


@dataclass(frozen=True, slots=True)
class Restart:
    """`away_s` is from the SIGKILL until the server was ready again, `resumed_s` until it had confirmed something."""

    at_steps: int
    away_s: float
    resumed_s: float


@dataclass(slots=True)
class Killer:
    server: ServerProcess
    work: Work
    kills: int
    journal: Journal
    restarts: list[Restart] = field(default_factory=list)

    async def run(self) -> None:
        """Kill number i of n comes when i / (n + 1) of all steps are done."""
        for number in range(1, self.kills + 1):
            await self.work.reached(self.work.steps_total * number // (self.kills + 1))
            self.restarts.append(await self._kill(number))

    async def _kill(self, number: int) -> Restart:
        now_s = asyncio.get_running_loop().time
        steps = self.work.steps
        killed_s = now_s()
        self.journal.killed(f"kill -9 no. {number}: {self.work.describe()}")
        await self.server.kill()
        await self.server.start()
        away_s = now_s() - killed_s
        await self.work.reached(min(self.work.steps + 1, self.work.steps_total))
        resumed_s = now_s() - killed_s
        self.journal.came_back(f"ready again {away_s:.2f} s after the kill, at work again after {resumed_s:.2f} s")
        return Restart(steps, away_s, resumed_s)
