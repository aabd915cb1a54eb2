"""A client that sends a group back and forth over HTTP, and writes down what it asked and was told."""

import asyncio
import json
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from tests.sim.clients import LONGEST_WAIT_S, Surroundings, outcome_of
from tests.sim.history import Outcome, ProgressRead, Sought
from tests.sim.http_client import Answer, ConnectionLostError
from tests.sim.options import Options

END = 1 << 60
DRY_RUN_PROBABILITY = 0.2


@dataclass(frozen=True, slots=True)
class _Target:
    """`to` as it is asked for; `partition` None: all. `lowest` and `highest` say what is known of the position
    without an answer."""

    to: Any
    lowest: int
    highest: int
    partition: int | None = None


class Seeker:
    """`partitions` tells how many the topic has. One seek after the other; a dry run changes nothing, and is not
    written down."""

    def __init__(self, name: str, group: str, queue: str, around: Surroundings, partitions: Callable[[], int]) -> None:
        self._group = group
        self._queue = queue
        self._around = around
        self._partitions = partitions
        self._random = random.Random(f"{name} {around.options.seed}")

    async def run(self, *, times: int, duration_s: float) -> None:
        """At moments of the duration."""
        began_s = self._around.now_ms() / 1000
        for at_s in sorted(self._random.uniform(0, duration_s) for _ in range(times)):
            await asyncio.sleep(max(0.0, began_s + at_s - self._around.now_ms() / 1000))
            await self._seek(self._target())

    def _target(self) -> _Target:
        choice = self._random.random()
        if choice < 0.4:
            return _Target("earliest", 0, 0)  # nothing is removed by retention
        if choice < 0.55:
            return _Target("latest", 0, END)  # as of when it was asked for; it may take effect later
        if choice < 0.75:
            ago_ms = self._random.randint(0, 20_000)
            return _Target({"time": max(0, self._around.clock.wall_ms() - ago_ms)}, 0, END)
        partition = self._random.randrange(self._partitions())
        offset = self._random.randint(0, self._seen_end(partition))
        return _Target({"offset": offset}, offset, offset, partition)

    def _seen_end(self, partition: int) -> int:
        reads = self._around.history.of(ProgressRead)
        mine = [read for read in reads if (read.queue, read.partition) == (self._queue, partition)]
        return max((read.high_watermark for read in mine), default=0)

    async def _seek(self, target: _Target) -> None:
        around = self._around
        http = around.http()
        if http is None:
            return
        is_dry_run = self._random.random() < DRY_RUN_PROBABILITY
        document = {"topic": self._queue, "to": target.to, "dryRun": is_dry_run}
        if target.partition is not None:
            document["partition"] = target.partition
        began_ms = around.now_ms()
        try:
            path = f"/groups/{self._group}/offsets"
            answer = await http.request("PUT", path, json.dumps(document).encode(), leave_after_s=LONGEST_WAIT_S)
        except ConnectionLostError:
            around.coverage["seeks without an answer"] += 1
            items = self._alike({"code": "OUTCOME_UNKNOWN"}, target)
        else:
            items = self._items(answer, target)
        for item in items:
            code = around.code_of(item.get("problem", {}), f"a seek to {target.to}")
            around.coverage[f"{'dry seek' if is_dry_run else 'seek'} {code or 'OK'}"] += 1
            if not is_dry_run:
                self._note(item, code, target, began_ms)

    def _items(self, answer: Answer, target: _Target) -> list[dict[str, Any]]:
        document = answer.json
        return list(document["partitions"]) if "partitions" in document else self._alike(document, target)

    def _alike(self, problem: dict[str, Any], target: _Target) -> list[dict[str, Any]]:
        """One problem of all partitions that were meant."""
        numbers = range(self._partitions()) if target.partition is None else [target.partition]
        return [{"partition": number, "problem": problem} for number in numbers]

    def _note(self, item: dict[str, Any], code: str, target: _Target, began_ms: float) -> None:
        outcome = outcome_of(code)
        is_known = outcome is Outcome.OK
        self._around.history.add(
            Sought(
                began_ms=began_ms,
                ended_ms=self._around.now_ms(),
                group=self._group,
                queue=self._queue,
                partition=item["partition"],
                lowest=item["offset"] if is_known else target.lowest,
                highest=item["offset"] if is_known else target.highest,
                outcome=outcome,
                code=code,
            )
        )
        self._around.coverage["seeks back"] += is_known and item["offset"] < item["previous"]
        self._around.coverage["seeks past messages"] += is_known and item["offset"] > item["previous"]


def seeking(
    options: Options, queue: str, around: Surroundings, partitions: Callable[[], int]
) -> list[Coroutine[Any, Any, None]]:
    """Of all groups of a seed with seeks."""
    times, duration_s = options.seeks, options.duration_ms / 1000
    return [
        Seeker(f"seeker of {group}", group, queue, around, partitions).run(times=times, duration_s=duration_s)
        for group in options.group_names
        if times
    ]
