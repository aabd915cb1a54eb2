"""Kills the server in the middle of the work, and starts it again on the same directory and port."""

import time
from dataclasses import dataclass, field

from examples.flights.work import Work
from examples.server_process import ServerProcess


@dataclass(frozen=True, slots=True)
class Restart:
    """`away_s` is from the SIGKILL until the server was ready again."""

    at_steps: int
    away_s: float


@dataclass(slots=True)
class Killer:
    server: ServerProcess
    work: Work
    kills: int
    restarts: list[Restart] = field(default_factory=list)

    async def run(self) -> None:
        """Kill number i of n comes when i / (n + 1) of all steps are done."""
        for number in range(1, self.kills + 1):
            await self.work.reached(self.work.steps_total * number // (self.kills + 1))
            steps = self.work.steps
            killed = time.perf_counter()
            await self.server.kill()
            await self.server.start()
            self.restarts.append(Restart(steps, time.perf_counter() - killed))
