"""How far the run is: what is shown, what the kills are timed by, and what a stall is seen by."""

import asyncio
from collections.abc import Sequence


class StalledError(RuntimeError):
    """Nothing has moved for too long."""


class Work:
    """`total` messages to send, and to do once per group. At the end they are read back, which is no step."""

    def __init__(self, total: int, groups: Sequence[str]) -> None:
        self.total = total
        self.sent = 0
        self.done = dict.fromkeys(groups, 0)
        self.read_back = 0
        self._waiting: list[tuple[int, asyncio.Event]] = []
        self._finished = {group: asyncio.Event() for group in groups}

    @property
    def steps(self) -> int:
        return self.sent + sum(self.done.values())

    @property
    def steps_total(self) -> int:
        return self.total * (1 + len(self.done))

    def is_done(self, group: str) -> bool:
        return self.done[group] >= self.total

    def add_sent(self, count: int) -> None:
        self.sent += count
        self._wake()

    def add_done(self, group: str, count: int) -> None:
        self.done[group] += count
        if self.is_done(group):
            self._finished[group].set()
        self._wake()

    async def reached(self, steps: int) -> None:
        """Return as soon as that many steps are done."""
        if self.steps < steps:
            event = asyncio.Event()
            self._waiting.append((steps, event))
            await event.wait()

    async def finished(self, group: str) -> None:
        """Return as soon as the group has done everything."""
        await self._finished[group].wait()

    def describe(self) -> str:
        """How far each part is, on one line."""
        groups = ", ".join(f"{group} has done {count:,}" for group, count in self.done.items())
        return f"{self.sent:,} of {self.total:,} sent, {groups}"

    def _wake(self) -> None:
        for steps, event in self._waiting:
            if self.steps >= steps:
                event.set()
        self._waiting = [each for each in self._waiting if not each[1].is_set()]


async def watch_for_stalls(work: Work, *, stall_s: float) -> None:
    """Run until cancelled; raises StalledError when no step is made for `stall_s`."""
    steps = -1
    while steps != work.steps:
        steps = work.steps
        await asyncio.sleep(stall_s)
    raise StalledError(f"nothing has moved for {stall_s:.0f} s: {work.describe()}")
