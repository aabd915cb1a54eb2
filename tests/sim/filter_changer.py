"""A client that gives a group another filter over HTTP, or none, and writes down what it asked and was told."""

import asyncio
import json
import random
from collections.abc import Coroutine
from typing import Any

from tests.sim.clients import LONGEST_WAIT_S, Surroundings, outcome_of
from tests.sim.filters import WANTED
from tests.sim.history import FilterChanged, Outcome
from tests.sim.http_client import ConnectionLostError
from tests.sim.options import Options


class FilterChanger:
    """One change after the other."""

    def __init__(self, group: str, around: Surroundings) -> None:
        self._group = group
        self._around = around
        self._random = random.Random(f"filters of {group} {around.options.seed}")

    async def run(self, *, first: str, times: int, duration_s: float) -> None:
        """At moments of the duration; `first` is what the group was created with."""
        self._note(0.0, first, Outcome.OK)
        began_s = self._around.now_ms() / 1000
        for at_s in sorted(self._random.uniform(0, duration_s) for _ in range(times)):
            await asyncio.sleep(max(0.0, began_s + at_s - self._around.now_ms() / 1000))
            await self._change(self._random.choice(list(WANTED)))

    async def _change(self, text: str) -> None:
        began_ms = self._around.now_ms()
        outcome = await self._ask({"settings": {"filter": text or None}})
        self._note(began_ms, text, outcome)

    def _note(self, began_ms: float, text: str, outcome: Outcome) -> None:
        changed = FilterChanged(
            began_ms=began_ms, ended_ms=self._around.now_ms(), group=self._group, filter=text, outcome=outcome
        )
        self._around.history.add(changed)

    async def _ask(self, document: dict[str, object]) -> Outcome:
        around = self._around
        http = around.http()
        if http is None:
            return Outcome.FAILED
        try:
            path = f"/groups/{self._group}"
            answer = await http.request("PATCH", path, json.dumps(document).encode(), leave_after_s=LONGEST_WAIT_S)
        except ConnectionLostError:
            around.coverage["changes of a filter without an answer"] += 1
            return Outcome.UNKNOWN
        code = around.code_of(answer.json, "a change of a filter")
        around.coverage[f"change of a filter {code or 'OK'}"] += 1
        return outcome_of(code)


def filter_changes(options: Options, around: Surroundings) -> list[Coroutine[Any, Any, None]]:
    """Of all groups of a seed with filters."""
    times, duration_s = options.filter_changes, options.duration_ms / 1000
    return [
        FilterChanger(group, around).run(first=first, times=times, duration_s=duration_s)
        for group, first in options.filters.items()
    ]
