"""A client that pauses a group and lets it go on over HTTP, and writes down what it asked and was told."""

import asyncio
import json
import random
from collections.abc import Callable, Coroutine
from typing import Any

from tests.sim.clients import LONGEST_WAIT_S, Surroundings, outcome_of
from tests.sim.history import Outcome, Paused, Resumed
from tests.sim.http_client import ConnectionLostError
from tests.sim.options import Options

LASTS_MS = (300, 3_000, 15_000)


class Pauser:
    """`partitions` tells how many the topic has. One pause after the other, each resumed: nothing stays paused."""

    def __init__(self, group: str, queue: str, around: Surroundings, partitions: Callable[[], int]) -> None:
        self._group = group
        self._queue = queue
        self._around = around
        self._partitions = partitions
        self._random = random.Random(f"pauser of {group} {around.options.seed}")

    async def run(self, *, times: int, duration_s: float) -> None:
        """At moments of the duration."""
        began_s = self._around.now_ms() / 1000
        for at_s in sorted(self._random.uniform(0, duration_s) for _ in range(times)):
            await asyncio.sleep(max(0.0, began_s + at_s - self._around.now_ms() / 1000))
            await self._pause()
            await asyncio.sleep(self._random.choice(LASTS_MS) / 1000)
            while not await self._resume():
                await asyncio.sleep(self._random.uniform(0, 0.5))

    async def _pause(self) -> None:
        queue, partitions = "", list[int]()
        if self._random.random() < 0.6:
            queue = self._queue
            if self._random.random() < 0.6:
                partitions = [self._random.randrange(self._partitions())]
        document = {"topic": queue, **({"partitions": partitions} if partitions else {})} if queue else {}
        began_ms = self._around.now_ms()
        outcome = await self._ask("pause", document)
        self._around.history.add(
            Paused(
                began_ms=began_ms,
                ended_ms=self._around.now_ms(),
                group=self._group,
                queue=queue,
                partitions=partitions,
                outcome=outcome,
            )
        )

    async def _resume(self) -> bool:
        began_ms = self._around.now_ms()
        outcome = await self._ask("resume", {})
        self._around.history.add(
            Resumed(began_ms=began_ms, ended_ms=self._around.now_ms(), group=self._group, outcome=outcome)
        )
        return outcome is Outcome.OK

    async def _ask(self, what: str, document: dict[str, object]) -> Outcome:
        around = self._around
        http = around.http()
        if http is None:
            return Outcome.FAILED
        try:
            path = f"/groups/{self._group}/{what}"
            answer = await http.request("POST", path, json.dumps(document).encode(), leave_after_s=LONGEST_WAIT_S)
        except ConnectionLostError:
            around.coverage[f"{what}s without an answer"] += 1
            return Outcome.UNKNOWN
        code = around.code_of(answer.json, f"a {what}")
        around.coverage[f"{what} {code or 'OK'}"] += 1
        return outcome_of(code)


def pauses(
    options: Options, queue: str, around: Surroundings, partitions: Callable[[], int]
) -> list[Coroutine[Any, Any, None]]:
    """Of all groups of a seed with pauses."""
    times, duration_s = options.pauses, options.duration_ms / 1000
    return [
        Pauser(group, queue, around, partitions).run(times=times, duration_s=duration_s)
        for group in options.group_names
        if times
    ]
