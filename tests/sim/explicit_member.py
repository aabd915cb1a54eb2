"""A member of an exclusive group by calls of its own: it joins, sends heartbeats beside what its consumer does, and
leaves."""

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any

from tests.sim.clients import LONGEST_WAIT_S, Surroundings, outcome_of
from tests.sim.history import MemberAsked, Outcome, StaticAsked
from tests.sim.http_client import Answer, ConnectionLostError
from tests.sim.options import OrderedGroup

HEARTBEATS_PER_SESSION = 3
HEARTBEAT_WAIT_S_MAX = 2.0
IS_NO_MEMBER = frozenset({"MEMBER_UNKNOWN", "MEMBER_FENCED"})


class ExplicitMember:
    """`epoch` is 0 while it is no member, as far as it knows. `instance` is the process of a static name, "" for a name
    that ends with its process; `dies_ms` when that dies, in the clients' milliseconds."""

    def __init__(
        self, name: str, group: OrderedGroup, queue: str, around: Surroundings, *, instance: str, dies_ms: float
    ) -> None:
        self.epoch = 0
        self.name = name
        self._group = group
        self._queue = queue
        self._around = around
        self._instance = instance
        self._dies_ms = dies_ms
        self._random = random.Random(f"member {name} {instance} {around.options.seed} {around.now_ms()}")

    async def run(self, until: Callable[[], bool]) -> None:
        while not until():
            if not self.epoch:
                await self.join()
                await asyncio.sleep(self._random.uniform(0, 0.3))
            else:
                await self._beat()
                pause_ms = self._random.uniform(0, self._group.session_timeout_ms / HEARTBEATS_PER_SESSION)
                await asyncio.sleep(self._patience_s(pause_ms / 1000))

    async def join(self) -> None:
        document: dict[str, object] = {"topics": [self._queue]}
        if self._instance:
            document |= {"static": True, "instanceId": self._instance}
        await self._ask("join", "PUT", "", document)

    async def _beat(self) -> None:
        document: dict[str, object] = {"memberEpoch": self.epoch, "instanceId": self._instance}
        if self._random.random() < 0.5:
            document["waitSeconds"] = round(self._random.uniform(0, HEARTBEAT_WAIT_S_MAX), 3)
        await self._ask("heartbeat", "POST", "/heartbeat", document)

    async def leave_name(self) -> None:
        """To the next process of a static name; once, as a process that stops does."""
        await self._ask("step out", "DELETE", f"?comesBack=true&instanceId={self._instance}", None)

    def hear_refusal(self, code: str) -> None:
        """It joins again where it is none any more: its partitions may be others' by now."""
        if code in IS_NO_MEMBER:
            self.epoch = 0

    def _patience_s(self, patience_s: float) -> float:
        return max(0.0, min(patience_s, (self._dies_ms - self._around.now_ms()) / 1000))

    async def _ask(self, what: str, method: str, path: str, document: dict[str, object] | None) -> None:
        around = self._around
        http, began_ms = around.http(), around.now_ms()
        if http is None:
            return
        body = b"" if document is None else json.dumps(document).encode()
        target = f"/groups/{self._group.name}/members/{self.name}{path}"
        try:
            answer = await http.request(method, target, body, leave_after_s=self._patience_s(LONGEST_WAIT_S))
        except ConnectionLostError:
            around.coverage[f"{what}s without an answer"] += 1
            self._note(what, began_ms, Outcome.UNKNOWN)
            return
        told = _told(answer)
        code = around.code_of(told, f"{what} of {self.name}")
        around.coverage[f"{what} {code or 'OK'}"] += 1
        self._note(what, began_ms, outcome_of(code))
        self.hear_refusal(code)
        if not code and method != "DELETE":
            self.epoch = told["memberEpoch"]

    def _note(self, what: str, began_ms: float, outcome: Outcome) -> None:
        ended_ms, group = self._around.now_ms(), self._group.name
        if what != "step out":
            self._around.history.add(
                MemberAsked(began_ms=began_ms, ended_ms=ended_ms, group=group, member=self.name, outcome=outcome)
            )
        if self._instance:
            self._around.history.add(
                StaticAsked(
                    began_ms=began_ms,
                    ended_ms=ended_ms,
                    group=group,
                    member=self.name,
                    instance=self._instance,
                    what=what,
                    outcome=outcome,
                )
            )


def _told(answer: Answer) -> dict[str, Any]:
    return answer.json if answer.body else {}
