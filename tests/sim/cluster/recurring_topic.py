"""Schedules that send again and again, while things go wrong: each time once, never early, none left out.

A topic has some, and grows meanwhile; some of them are paused and let go on. When all is calm each has to go on. Then
the topic is read.
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.schedule.schedule_settings import ScheduleSettings
from tests.sim.clients import Surroundings
from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.machines import Surrounding
from tests.sim.http_client import Answer
from tests.sim.options import Fault
from tests.sim.queue_label import TICKS

GROWTHS_MAX = 2
EACH_MS = (400, 1_000, 1_700, 3_300)
GOES_ON_WITHIN_S = 60.0
"""After all is calm, where the clocks of leaders are not too far apart."""
CLOCKS_APART_MS_MAX = 10_000


@dataclass(slots=True)
class _Schedule:
    """`is_steady`: it is never paused, so that every time has its message."""

    name: str
    key: str
    every_ms: int
    is_steady: bool
    since_ms: int = 0


class RecurringTopic:
    """`violations` is complete once `run` has returned."""

    def __init__(self, machines: Surrounding, clients: Surroundings, administrator: Administrator) -> None:
        self.violations: list[str] = []
        self._around = clients
        self._options = machines.options
        self._coverage = machines.coverage
        self._administrator = administrator
        self._random = random.Random(f"recurring {machines.options.seed}")
        self._partitions = self._random.randint(1, 2)
        self._schedules: list[_Schedule] = []
        # What rots on the only disk says nothing any more; elsewhere it comes back from the others.
        self._is_judged = Fault.BIT_ROT not in self._options.faults or self._options.replication_factor > 1

    async def run(self) -> None:
        """Returns once all is calm, and every schedule has gone on and is gone, or that is a violation."""
        await self._until_done(
            "PUT",
            f"/topics/{TICKS}",
            {
                "partitions": self._partitions,
                "replicationFactor": self._options.replication_factor,
                "config": {
                    "minInsyncReplicas": self._options.min_insync_replicas,
                    "maxReplicaLagMs": self._options.max_replica_lag_ms,
                },
            },
        )
        for number in range(self._options.recurring):
            await self._create(number)
        end_ms, growths = self._around.now_ms() + self._options.duration_ms, self._random.randint(0, GROWTHS_MAX)
        while self._around.now_ms() < end_ms and not self._around.calm:
            if growths and self._random.random() < 0.3:
                growths -= 1
                await self._grow()
            if self._random.random() < 0.3:
                await self._pause_or_resume()
            await asyncio.sleep(self._random.uniform(0.2, 2.0))
        while not self._around.calm:
            await self._administrator.pause()
        await self._go_on()
        for schedule in self._schedules:
            await self._until_done("DELETE", f"/topics/{TICKS}/schedules/{schedule.name}")
        if self._is_judged:
            pending = await self._pending() if self._are_clocks_apart else Counter[tuple[str, int]]()
            self._judge(await self._read(), pending)

    # --- doing -------------------------------------------------------------------------------------------------------

    async def _create(self, number: int) -> None:
        schedule = _Schedule(
            f"tick-{number}", f"key-{self._random.randrange(9)}", self._random.choice(EACH_MS) + 600, number % 2 == 0
        )
        terms = {"everySeconds": schedule.every_ms / 1000, "missed": "all"}
        message = {"body": number, "key": schedule.key}
        made = await self._until_done("PUT", self._path(schedule), {**terms, "message": message})
        schedule.since_ms = made["createdAt"]
        self._schedules.append(schedule)

    async def _grow(self) -> None:
        self._partitions += 1
        answer = await self._administrator.ask("PATCH", f"/topics/{TICKS}", {"partitions": self._partitions})
        self._coverage["recurring topics grown"] += answer is not None and answer.status == 200

    async def _pause_or_resume(self) -> None:
        unsteady = [each for each in self._schedules if not each.is_steady]
        if unsteady:
            change = {"paused": self._random.random() < 0.5}
            await self._administrator.ask("PATCH", self._path(self._random.choice(unsteady)), change)

    async def _go_on(self) -> None:
        """All is well now: each has a time more, in its present home."""
        for schedule in self._schedules:
            if not schedule.is_steady:
                await self._until_done("PATCH", self._path(schedule), {"paused": False})
        if self._are_clocks_apart:
            return  # by a leader's clock that is behind, the next time may be far away
        before = Counter(_name_of(each) for each in await self._read())
        deadline_ms = self._around.now_ms() + GOES_ON_WITHIN_S * 1000
        while True:
            await asyncio.sleep(1)
            now = Counter(_name_of(each) for each in await self._read())
            waiting = [each.name for each in self._schedules if now[each.name] < before[each.name] + 2]
            if not waiting:
                return
            if self._around.now_ms() > deadline_ms:
                if self._is_judged:
                    self.violations.append(f"nothing is sent any more: {waiting}")
                return

    @property
    def _are_clocks_apart(self) -> bool:
        return self._options.clock_skew_ms > CLOCKS_APART_MS_MAX

    async def _until_done(self, method: str, path: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        while True:
            answer = await self._administrator.ask(method, path, document)
            if answer is not None and not self._code(answer):
                found: dict[str, Any] = answer.json if answer.status != 204 else {}
                return found
            await self._administrator.pause()

    def _code(self, answer: Answer) -> str:
        code = "" if answer.status < 300 else str(answer.json["code"])
        if code == "INTERNAL":
            self.violations.append(f"about recurring schedules: {answer.json}")
        return code

    @staticmethod
    def _path(schedule: _Schedule) -> str:
        return f"/topics/{TICKS}/schedules/{schedule.name}"

    # --- judging -----------------------------------------------------------------------------------------------------

    def _judge(self, messages: list[dict[str, Any]], pending: Counter[tuple[str, int]]) -> None:
        """`pending` are times that a leader whose clock is behind has yet to come to, by their schedules."""
        self._coverage["recurring messages"] += len(messages)
        for schedule in self._schedules:
            mine = [each for each in messages if _name_of(each) == schedule.name]
            times = Counter(_time_of(each) for each in mine)
            self.violations += [
                f"{schedule.name} sent {time} {count} times" for time, count in times.items() if count > 1
            ]
            self.violations += [
                f"{schedule.name} sent {_time_of(each)} early, at {each['appendTime']}"
                for each in mine
                if each["appendTime"] < _time_of(each)
            ]
            numbers = [(time - schedule.since_ms) / schedule.every_ms for time in sorted(times)]
            if any(number != int(number) for number in numbers):
                self.violations.append(f"{schedule.name} sent times that are none of its own: {sorted(times)}")
            elif schedule.is_steady and numbers != list(range(1, len(numbers) + 1)):
                last = int(max(numbers, default=0))
                missing = [
                    number
                    for number in sorted(set(range(1, last + 1)) - set(map(int, numbers)))
                    if not pending[schedule.name, schedule.since_ms + number * schedule.every_ms]
                ]
                # A clock that was set on by more than so many times leaves out those before.
                if missing and missing[-1] + ScheduleSettings().missed_runs_max > last:
                    self.violations.append(f"{schedule.name} never sent its times number {missing}")

    async def _pending(self) -> Counter[tuple[str, int]]:
        """What is scheduled, and for when. To be asked before the messages are read: what is sent meanwhile is in
        both."""
        path, cursor = f"/topics/{TICKS}/scheduled?limit=1000", ""
        found: Counter[tuple[str, int]] = Counter()
        while True:
            page = await self._until_done("GET", path + cursor)
            found.update((_name_of(each), _time_of(each)) for each in page["messages"])
            if not page.get("next"):
                break
            cursor = f"&cursor={page['next']}"
        self._coverage["recurring messages that wait for a slow clock"] += found.total()
        return found

    async def _read(self) -> list[dict[str, Any]]:
        described = await self._until_done("GET", f"/topics/{TICKS}")
        found: list[dict[str, Any]] = []
        for partition in range(described["partitions"]):
            offset = 0
            while True:
                page = await self._until_done("GET", f"/topics/{TICKS}/partitions/{partition}/records?offset={offset}")
                found += page["records"]
                if page["nextOffset"] == offset:
                    break
                offset = page["nextOffset"]
        return found


def _name_of(message: dict[str, Any]) -> str:
    name: str = message["headers"]["acklog-schedule"]
    return name


def _time_of(message: dict[str, Any]) -> int:
    return round(datetime.fromisoformat(message["headers"]["acklog-schedule-time"]).timestamp() * 1000)
