"""Kills in the middle of the work, and starts what was killed again."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from app.demo.pauses import Pauses
from app.demo.run_journal import RunJournal
from app.demo.scene import Victim
from app.demo.work import Work

SETTLE_S = 1.0


@dataclass(frozen=True, slots=True)
class VictimRestart:
    """`away_s` is from the SIGKILL until the victim was ready again, `resumed_s` until something was confirmed after
    that. `victim` is "" where there is only one server. `waited_s` is the longest that a partition waited for its next
    confirmed send meanwhile; None where nothing but the victim could confirm any."""

    at_steps: int
    away_s: float
    resumed_s: float
    victim: str = ""
    waited_s: float | None = None


@dataclass(slots=True)
class Killer:
    """`on_over` is called when a victim is back."""

    victims: Sequence[Victim]
    work: Work
    journal: RunJournal
    pauses: Pauses
    on_over: Callable[[], None] = lambda: None
    restarts: list[VictimRestart] = field(default_factory=list)

    async def run(self) -> None:
        """Kill number i of n comes when i / (n + 1) of all steps are done."""
        for number, victim in enumerate(self.victims, 1):
            await self.work.reached(self.work.steps_total * number // (len(self.victims) + 1))
            self.restarts.append(await self._kill(number, victim))
            self.on_over()

    async def _kill(self, number: int, victim: Victim) -> VictimRestart:
        now_s = asyncio.get_running_loop().time
        name = await victim.find()
        steps = self.work.steps
        killed_s = now_s()
        self.pauses.begin()
        self.journal.killed(f"kill -9 no. {number}{f', {name}' if name else ''}: {self.work.describe()}")
        await victim.kill()
        await victim.start()
        away_s = now_s() - killed_s
        await self.work.reached(min(self.work.steps + 1, self.work.steps_total))
        resumed_s = now_s() - killed_s
        if not name:
            self.journal.came_back(f"ready again {away_s:.2f} s after the kill, at work again after {resumed_s:.2f} s")
            return VictimRestart(steps, away_s, resumed_s)
        await asyncio.sleep(SETTLE_S)
        waited_s = self.pauses.longest_s(is_sending=self.work.sent < self.work.total)
        self.journal.came_back(f"back {away_s:.2f} s after the kill; no partition waited longer than {waited_s:.2f} s")
        return VictimRestart(steps, away_s, resumed_s, name, waited_s)
