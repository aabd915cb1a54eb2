"""A client that looks at an exclusive group's members again and again, and writes down who has which partition."""

import asyncio
import random
from collections.abc import Callable

from tests.sim.clients import LONGEST_WAIT_S, Surroundings
from tests.sim.history import PartitionOwned
from tests.sim.http_client import ConnectionLostError


class MemberWatcher:
    def __init__(self, group: str, around: Surroundings) -> None:
        self._group = group
        self._around = around
        self._random = random.Random(f"watcher of {group} {around.options.seed}")

    async def run(self, until: Callable[[], bool]) -> None:
        while not until():
            await asyncio.sleep(self._random.uniform(0.2, 2.0))
            await self._look()

    async def _look(self) -> None:
        around = self._around
        http, began_ms = around.http(), around.now_ms()
        if http is None:
            return
        try:
            answer = await http.get(f"/groups/{self._group}/members", {}, leave_after_s=LONGEST_WAIT_S)
        except ConnectionLostError:
            around.coverage["looks at members without an answer"] += 1
            return
        document = answer.json
        code = around.code_of(document, "a look at members")
        around.coverage[f"looks at members {code or 'OK'}"] += 1
        for member in document.get("members", []):
            for owned in member["assignment"]:
                around.history.add(
                    PartitionOwned(
                        began_ms=began_ms,
                        ended_ms=around.now_ms(),
                        group=self._group,
                        member=member["member"],
                        instance=member["instanceId"],
                        queue=owned["topic"],
                        partition=owned["partition"],
                        ownership=owned["ownership"],
                    )
                )
