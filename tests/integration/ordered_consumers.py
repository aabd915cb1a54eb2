"""Consumers of a group that keeps an order, beside those that share: who they are, and what judges them from outside.

A consumer stays for a while and then asks for nothing any more, without a word; another one takes its place. Meanwhile
it acks most of what it gets, gives some back, and now and then forgets the rest of an answer.
"""

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from cluster.model.values import GroupMode
from storage.replication.replication_settings import ReplicationSettings
from tests.sim.checkers import Checker
from tests.sim.history import MemberAsked, MemberGone, Outcome, PartitionOwned
from tests.sim.options import OrderedGroup
from tests.sim.order_checkers import KeysAreInOrder, PartitionsAreInOrder
from tests.sim.owner_checkers import (
    EarlierOwnersAreRefused,
    OneOwnerAtATime,
    OwnersAreWaitedFor,
    OwnershipsAreOneProcesses,
)

if TYPE_CHECKING:
    from tests.integration.traffic import Traffic

MESSAGES_MAX = 10
DRAINED_AT_ONCE = 1000
JUDGE = "judge"
NACK_PROBABILITY = 0.03
FORGET_PROBABILITY = 0.02  # of an answer: what is behind it waits until its lease is over
RETRY_PAUSE_S = 0.05
LOOK_PAUSE_S = 1.0

ORDERED_GROUPS = (
    OrderedGroup(GroupMode.KEY_ORDERED, consumers=2, stay_ms=8_000, session_timeout_ms=0, rebalance_timeout_ms=0),
    OrderedGroup(
        GroupMode.EXCLUSIVE, consumers=2, stay_ms=12_000, session_timeout_ms=6_000, rebalance_timeout_ms=6_000
    ),
)


def description(group: OrderedGroup) -> dict[str, object]:
    """The document by which the group is made."""
    if group.mode is not GroupMode.EXCLUSIVE:
        return {"mode": group.mode.value}
    timeouts = {"sessionTimeoutMs": group.session_timeout_ms, "rebalanceTimeoutMs": group.rebalance_timeout_ms}
    return {"mode": group.mode.value, "settings": timeouts}


def checkers_of_order(
    groups: Sequence[OrderedGroup],
    *,
    max_attempts: Mapping[str, float],
    dead_letter_queues: Mapping[tuple[str, str], str],
) -> list[Checker]:
    """None where there are no such groups. All clocks are one machine's."""
    keyed = [group.name for group in groups if group.mode is GroupMode.KEY_ORDERED]
    exclusive = {group.name: group for group in groups if group.mode is GroupMode.EXCLUSIVE}
    order: dict[str, Any] = {
        "max_attempts": max_attempts,
        "dead_letter_queues": dead_letter_queues,
        "unnoticed_ms": ReplicationSettings().contact_ms,
    }
    checkers: list[Checker] = []
    if keyed:
        checkers.append(KeysAreInOrder(keyed, **order))
    if exclusive:
        checkers += [
            PartitionsAreInOrder(exclusive, **order),
            OneOwnerAtATime(exclusive, unnoticed_ms=order["unnoticed_ms"]),
            EarlierOwnersAreRefused(exclusive, max_attempts=max_attempts, dead_letter_queues=dead_letter_queues),
            OwnersAreWaitedFor(exclusive),
            OwnershipsAreOneProcesses(),
        ]
    return checkers


class OrderedConsumers:
    """Of one group of the traffic's topic."""

    def __init__(self, traffic: "Traffic", group: OrderedGroup, *, seed: int) -> None:
        self._traffic = traffic
        self._group = group
        self._random = random.Random(f"{group.name} {seed}")

    async def run(self, stop: asyncio.Event) -> None:
        seats = [self._fill(seat, stop) for seat in range(self._group.consumers)]
        if self._group.mode is GroupMode.EXCLUSIVE:
            seats.append(self._watch(stop))
        await asyncio.gather(*seats)

    async def drain(self) -> bool:
        """Take all that comes, as the only one who asks; whether there was nothing. A small answer is no end of it:
        a group gives what it has found, and looks for the rest the next time."""
        had_any = False
        while messages := await self._receive(JUDGE, DRAINED_AT_ONCE):
            had_any = True
            await self._settle("ack", messages)
        return messages == [] and not had_any

    async def _fill(self, seat: int, stop: asyncio.Event) -> None:
        """One consumer after the other."""
        for life in count():
            if stop.is_set():
                return
            name = f"{self._group.mode.value}-{seat}-{life}"
            goes_ms = _now_ms() + self._random.expovariate(1 / self._group.stay_ms)
            while _now_ms() < goes_ms and not stop.is_set():
                await self._consume(name)
            now_ms = _now_ms()
            self._traffic.history.add(MemberGone(began_ms=now_ms, ended_ms=now_ms, group=self._group.name, member=name))

    async def _consume(self, name: str) -> None:
        messages = await self._receive(name, self._random.randint(1, MESSAGES_MAX))
        if not messages:
            await asyncio.sleep(RETRY_PAUSE_S)
            return
        if self._random.random() < FORGET_PROBABILITY:
            del messages[self._random.randrange(len(messages)) :]
        returned = [message for message in messages if self._random.random() < NACK_PROBABILITY]
        await self._settle("ack", [message for message in messages if message not in returned])
        await self._settle("nack", returned)

    async def _receive(self, name: str, maximum: int) -> list[dict[str, Any]] | None:
        """None when it failed."""
        began_ms, group = _now_ms(), self._group
        messages = await self._traffic.receive(name, maximum=maximum, group=group.name, mode=group.mode)
        if group.mode is GroupMode.EXCLUSIVE:
            outcome = Outcome.UNKNOWN if messages is None else Outcome.OK
            self._traffic.history.add(
                MemberAsked(began_ms=began_ms, ended_ms=_now_ms(), group=group.name, member=name, outcome=outcome)
            )
        return messages

    async def _settle(self, action: str, messages: list[dict[str, Any]]) -> None:
        await self._traffic.settle(action, messages, group=self._group.name)

    async def _watch(self, stop: asyncio.Event) -> None:
        """Write down whose each partition is, as the group's coordinator tells it."""
        while not stop.is_set():
            reply = await self._traffic.request("GET", f"/groups/{self._group.name}/members")
            for member in reply.document.get("members", []):
                for owned in member["assignment"]:
                    self._traffic.history.add(
                        PartitionOwned(
                            began_ms=reply.began_ms,
                            ended_ms=reply.ended_ms,
                            group=self._group.name,
                            member=member["member"],
                            instance=member["instanceId"],
                            queue=owned["topic"],
                            partition=owned["partition"],
                            ownership=owned["ownership"],
                        )
                    )
            await asyncio.sleep(self._random.uniform(0, LOOK_PAUSE_S))


def _now_ms() -> float:
    return time.monotonic() * 1000
