"""A client that sends messages for later over HTTP, cancels and moves some, and writes down what it was told."""

import asyncio
import json
import random
from datetime import UTC, datetime
from typing import Any

from acklog.wire.identifiers import parse_schedule_id
from tests.sim.clients import LONGEST_WAIT_S, Surroundings, outcome_of
from tests.sim.history import Outcome, Rescheduled, ScheduledFor, Sent
from tests.sim.http_client import Answer, ConnectionLostError, HttpClient
from tests.sim.queue_label import queue_label

DELAYS_S = (0.05, 0.5, 2.0, 6.0)
CANCEL_PROBABILITY = 0.15
MOVE_PROBABILITY = 0.15


class Scheduler:
    """One message after the other, each sent once: what is unknown stays so."""

    def __init__(self, name: str, queue: str, around: Surroundings) -> None:
        self._name = name
        self._queue = queue
        self._around = around
        self._random = random.Random(f"{name} {around.options.seed}")

    async def run(self, messages: int, duration_s: float) -> None:
        """At moments of the duration, some of them close together."""
        began_s = self._around.now_ms() / 1000
        moments = sorted(round(self._random.uniform(0, duration_s), 1) for _ in range(messages))
        for number, at_s in enumerate(moments, 1):
            if self._around.stopping:
                return
            await asyncio.sleep(max(0.0, began_s + at_s - self._around.now_ms() / 1000))
            await self._schedule(f"{self._name}-{number}", number)

    async def _schedule(self, uid: str, number: int) -> None:
        around = self._around
        http = around.http()
        if http is None:
            return
        delay_s = self._random.choice(DELAYS_S)
        body = json.dumps({"uid": uid, "pad": ""})
        key = f"key-{self._random.randrange(around.options.keys)}"
        when: dict[str, Any] = {"delaySeconds": delay_s}
        if self._random.random() < 0.3:
            at = datetime.fromtimestamp(around.clock.wall_ms() / 1000 + delay_s, UTC)
            when = {"deliverAt": at.isoformat(timespec="milliseconds")}
        began_ms = around.now_ms()
        answer = await self._ask(
            http, "POST", "/messages", f'{{"queue":"{self._queue}","key":"{key}","body":{body},{json.dumps(when)[1:]}'
        )
        code = around.code_of(answer, f"a send of {uid} for later")
        outcome = outcome_of(code)
        named = parse_schedule_id(answer["scheduleId"]) if answer.get("scheduleId") else None
        around.history.add(
            Sent(
                began_ms=began_ms,
                ended_ms=around.now_ms(),
                sender=self._name,
                request=number,
                index=0,
                uid=uid,
                queue=self._queue if named is None else queue_label(self._queue, named.topic_id),
                body=body,
                outcome=outcome,
                code=code,
                key=key,
            )
        )
        if named is None or outcome is not Outcome.OK:
            return
        around.coverage["messages scheduled"] += 1
        around.history.add(
            ScheduledFor(
                began_ms=began_ms,
                ended_ms=around.now_ms(),
                uid=uid,
                queue=queue_label(self._queue, named.topic_id),
                due_ms=answer["deliverAt"],
                schedule_id=answer["scheduleId"],
            )
        )
        await self._change_its_mind(uid, f"/topics/{self._queue}/scheduled/{answer['scheduleId']}")

    async def _change_its_mind(self, uid: str, path: str) -> None:
        around = self._around
        choice = self._random.random()
        http = around.http()
        if choice > CANCEL_PROBABILITY + MOVE_PROBABILITY or http is None:
            return
        began_ms = around.now_ms()
        is_cancelled = choice < CANCEL_PROBABILITY
        if is_cancelled:
            answer = await self._ask(http, "DELETE", path)
        else:
            answer = await self._ask(http, "PATCH", path, f'{{"delaySeconds":{self._random.choice(DELAYS_S)}}}')
        code = str(answer.get("code", ""))
        if code != "SCHEDULE_OVER":
            around.code_of(answer, f"a change of {uid}")
        around.coverage[f"{'cancels' if is_cancelled else 'moves'} in time {code or 'OK'}"] += 1
        around.history.add(
            Rescheduled(
                began_ms=began_ms,
                ended_ms=around.now_ms(),
                uid=uid,
                outcome=Outcome.FAILED if code == "SCHEDULE_OVER" else outcome_of(code),
                due_ms=-1 if is_cancelled else answer.get("deliverAt", 0),
            )
        )

    async def _ask(self, http: HttpClient, method: str, path: str, body: str = "") -> dict[str, Any]:
        try:
            answer: Answer = await http.request(method, path, body.encode(), leave_after_s=LONGEST_WAIT_S)
        except ConnectionLostError:
            return {"code": "OUTCOME_UNKNOWN"}
        document: dict[str, Any] = answer.json
        return document
