"""A person who looks at what is blocked in a group, and releases or skips it; all of it over HTTP, and written down."""

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any

from tests.sim.clients import LONGEST_WAIT_S, Surroundings, outcome_of
from tests.sim.history import BlockedListed, Decided
from tests.sim.http_client import ConnectionLostError

DECISION_PROBABILITY = 0.5
RELEASE_PROBABILITY = 0.6


class Decider:
    """While it `is_resting` it only looks; when `calm`, it decides about all that it sees."""

    def __init__(self, group: str, queue: str, around: Surroundings) -> None:
        self.is_resting = False
        self._group = group
        self._queue = queue
        self._around = around
        self._random = random.Random(f"decider of {group} {around.options.seed}")

    async def run(self, until: Callable[[], bool]) -> None:
        while not until():
            await asyncio.sleep(self._random.uniform(0.2, 2.0))
            for message in await self.look() or ():
                probability = 1.0 if self._around.calm else DECISION_PROBABILITY
                if not self.is_resting and self._random.random() < probability:
                    await self._decide(message)

    async def look(self) -> list[dict[str, Any]] | None:
        """What is blocked, as far as it is known; None where it is not known of every partition."""
        around = self._around
        http, began_ms = around.http(), around.now_ms()
        if http is None:
            return None
        try:
            path = f"/groups/{self._group}/keys"
            answer = await http.get(path, {"topic": self._queue}, leave_after_s=LONGEST_WAIT_S)
        except ConnectionLostError:
            around.coverage["looks at what is blocked without an answer"] += 1
            return None
        document = answer.json
        code = around.code_of(document, "a look at what is blocked")
        around.coverage[f"looks at what is blocked {code or 'OK'}"] += 1
        if code:
            return None
        for message in document["keys"]:
            around.coverage["blocked messages seen"] += 1
            around.history.add(
                BlockedListed(
                    began_ms=began_ms,
                    ended_ms=around.now_ms(),
                    group=self._group,
                    queue=message["topic"],
                    partition=message["partition"],
                    offset=message["offset"],
                    key=message["key"],
                )
            )
        return None if document["unknown"] else list(document["keys"])

    async def _decide(self, message: dict[str, Any]) -> None:
        around = self._around
        http, began_ms = around.http(), around.now_ms()
        if http is None:
            return
        action = "release" if self._random.random() < RELEASE_PROBABILITY else "skip"
        place = {name: message[name] for name in ("topic", "partition", "offset")}
        is_by_id = message["messageId"] is not None and self._random.random() < 0.5
        body = json.dumps({"messageId": message["messageId"]} if is_by_id else place).encode()
        try:
            path = f"/groups/{self._group}/keys/{action}"
            answer = await http.request("POST", path, body, leave_after_s=LONGEST_WAIT_S)
        except ConnectionLostError:
            around.coverage[f"{action}s without an answer"] += 1
            code = "OUTCOME_UNKNOWN"
        else:
            code = around.code_of(answer.json, f"a {action} of {message}")
        around.coverage[f"{action} {code or 'OK'}"] += 1
        around.history.add(
            Decided(
                began_ms=began_ms,
                ended_ms=around.now_ms(),
                action=action,
                group=self._group,
                queue=message["topic"],
                partition=message["partition"],
                offset=message["offset"],
                outcome=outcome_of(code),
                code=code,
            )
        )
