"""Consumers of a group that keeps an order: they come, stop, die or stand still, and others come in their place."""

import asyncio
import math
import random
from collections.abc import Callable

from cluster.model.values import GroupMode
from tests.sim.clients import LONGEST_WAIT_S, Surroundings
from tests.sim.consumer import Consumer, Life
from tests.sim.explicit_member import ExplicitMember
from tests.sim.history import MemberGone
from tests.sim.http_client import ConnectionLostError
from tests.sim.options import OrderedGroup

DEATH_PROBABILITY = 0.5
STILLNESS_PROBABILITY = 0.3
LEAVING_PROBABILITY = 0.8
NEW_NAME_PROBABILITY = 0.7
STEPPING_OUT_PROBABILITY = 0.7
TRIES_TO_LEAVE = 5


class Seat:
    """One consumer after the other. Whoever comes may have the name of who was there before."""

    def __init__(self, name: str, group: OrderedGroup, queue: str, around: Surroundings) -> None:
        self._name = name
        self._group = group
        self._queue = queue
        self._around = around
        self._random = random.Random(f"{name} {around.options.seed}")
        self._of_members = random.Random(f"members of {name} {around.options.seed}")

    async def run(self, until: Callable[[], bool]) -> None:
        name, lives = self._name, 0
        while not until():
            await self._live(name, lives, until)
            await asyncio.sleep(self._random.uniform(0, 1))
            lives += 1
            if self._random.random() < NEW_NAME_PROBABILITY:
                name = f"{self._name}.{lives}"

    async def _live(self, name: str, lives: int, until: Callable[[], bool]) -> None:
        around = self._around
        stay_ms = self._random.expovariate(1 / self._group.stay_ms)
        ends_ms = around.now_ms() + stay_ms
        dies = self._random.random() < DEATH_PROBABILITY
        stands_still = self._random.random() < STILLNESS_PROBABILITY
        life = Life(
            dies_ms=ends_ms if dies else math.inf,
            stands_still_ms=ends_ms - stay_ms / 2 if stands_still else math.inf,
            still_for_ms=self._random.uniform(0, 2 * self._group.session_timeout_ms),
        )
        if around.calm:  # whoever is there now stays
            ends_ms, life = math.inf, Life()
        is_explicit = self._of_members.random() < self._group.explicit_share
        is_static = is_explicit and self._of_members.random() < self._group.static_share
        name = f"{self._name}-static" if is_static else name
        member = self._member(name, f"{name}-{lives}" if is_static else "", life) if is_explicit else None
        consumer = Consumer(
            name, self._group.name, self._queue, around, mode=self._group.mode, life=life, member=member
        )

        def is_over() -> bool:
            return until() or around.now_ms() >= min(ends_ms, life.dies_ms)

        beside = [] if member is None else [member.run(is_over)]
        if is_static:
            beside.append(self._try_to_take(name, f"{name}-{lives}-rival", is_over))
        await asyncio.gather(consumer.run(is_over), *beside)
        if until():
            return
        around.coverage["consumers that died" if dies else "consumers that stopped"] += 1
        if member is not None and is_static and (dies or self._of_members.random() < STEPPING_OUT_PROBABILITY):
            if not dies:  # the next process of the name has its partitions as if nothing had been
                await member.leave_name()
        elif self._group.mode is GroupMode.EXCLUSIVE:
            now_ms = around.now_ms()
            around.history.add(MemberGone(began_ms=now_ms, ended_ms=now_ms, group=self._group.name, member=name))
            if not dies and self._random.random() < LEAVING_PROBABILITY:
                await self._leave(name)

    def _member(self, name: str, instance: str, life: Life) -> ExplicitMember:
        return ExplicitMember(name, self._group, self._queue, self._around, instance=instance, dies_ms=life.dies_ms)

    async def _try_to_take(self, name: str, instance: str, until: Callable[[], bool]) -> None:
        """Another process of a static name, while the first one lives: it is refused, unless that one is silent."""
        await asyncio.sleep(self._of_members.uniform(0, self._group.stay_ms / 1000))
        if not until() and not self._around.calm:
            await self._member(name, instance, Life()).join()

    async def _leave(self, name: str) -> None:
        """Where nobody hears it, its session ends by itself."""
        for _ in range(TRIES_TO_LEAVE):
            http = self._around.http()
            if http is not None:
                try:
                    path = f"/groups/{self._group.name}/members/{name}"
                    answer = await http.request("DELETE", path, leave_after_s=LONGEST_WAIT_S)
                except ConnectionLostError:
                    self._around.coverage["leaves without an answer"] += 1
                else:
                    code = self._around.code_of(answer.json, f"{name} leaving") if answer.body else ""
                    self._around.coverage[f"leave {code or 'OK'}"] += 1
                    if code in {"", "MEMBER_UNKNOWN"}:
                        return
            await asyncio.sleep(self._random.uniform(0, 0.5))


def seats_of(group: OrderedGroup, queue: str, around: Surroundings) -> list[Seat]:
    return [Seat(f"{group.name}-consumer-{number}", group, queue, around) for number in range(group.consumers)]
