"""Who uses the topic and the group that have quotas, each through a gateway of its own, and notes what was let in."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from tests.sim.clients import UNKNOWN_CODES, Surroundings
from tests.sim.cluster.admissions import Admission
from tests.sim.cluster.hardware import Hardware
from tests.sim.http_client import ConnectionLostError, HttpClient
from tests.sim.queue_label import LIMITED

GROUP = "limited-group"
SEND_QUOTA = f"topic/{LIMITED}/sendMessagesPerSecond"
RECEIVE_QUOTA = f"group/{GROUP}/receiveMessagesPerSecond"
BATCH_MAX = 3
RECEIVE_MAX = 10
PATIENCE_S = 15.0
LATER_MS = 200
RETRY_MS_MAX = 60_000


class LimitedClients:
    """One sender and one consumer per gateway, which wait as long as they are told."""

    def __init__(self, clients: Surroundings, hardware: Hardware, seed: int) -> None:
        self.violations: list[str] = []
        self.sent = 0
        self.codes: dict[int, str] = {}
        """Of each message by its number: what its send was answered with, "" where it was stored."""
        self.received: Counter[int] = Counter()
        self.sends: list[Admission] = []
        self.receives: list[Admission] = []
        self._around = clients
        self._hardware = hardware
        self._seed = seed

    async def use(self, until: Callable[[], bool], *, pause_s: float) -> None:
        """Both quotas, through every gateway at once."""
        senders = [self._go_on(self.send, number, until, pause_s) for number in range(self.gateways)]
        await asyncio.gather(*senders, self.receive_through_all(until))

    async def receive_through_all(self, until: Callable[[], bool]) -> None:
        await asyncio.gather(*(self._go_on(self._receive, number, until, 0.2) for number in range(self.gateways)))

    @property
    def gateways(self) -> int:
        return len(self._hardware.gateways)

    async def _go_on(
        self, doing: Callable[[int, int], Awaitable[int]], gateway: int, until: Callable[[], bool], pause_s: float
    ) -> None:
        rng = random.Random(f"limited client {doing.__name__} {gateway} {self._seed}")
        while not until():
            wait_ms = await doing(gateway, rng.randint(1, BATCH_MAX))
            await asyncio.sleep(wait_ms / 1000 + rng.uniform(0, pause_s))

    # --- sends -------------------------------------------------------------------------------------------------------

    async def send(self, gateway: int, count: int) -> int:
        """How long to wait before the next, in ms: 0 where it was stored."""
        http = self._hardware.gateways[gateway].http
        if http is None:
            return LATER_MS
        numbers = range(self.sent, self.sent + count)
        self.sent += count
        began_ms = self._around.now_ms()
        items = await self._post(http, numbers)
        codes = [self._code(item) for item in items]
        self.codes.update(zip(numbers, codes, strict=True))
        stored = codes.count("")
        if stored:
            self.sends.append(Admission(began_ms, self._around.now_ms(), stored, http.process.name))
            self._around.coverage["limited sends"] += stored
            return 0
        return self._refused(items[0], SEND_QUOTA) if codes[0] == "QUOTA_EXCEEDED" else LATER_MS

    async def _post(self, http: HttpClient, numbers: range) -> list[dict[str, Any]]:
        """The result of each."""
        bodies: list[dict[str, Any]] = [{"body": number, "key": f"key-{number % 5}"} for number in numbers]
        document = {"queue": LIMITED, **({"messages": bodies} if len(bodies) > 1 else bodies[0])}
        try:
            answer = await http.post("/messages", json.dumps(document).encode(), leave_after_s=PATIENCE_S)
        except ConnectionLostError:
            return [{"code": "OUTCOME_UNKNOWN"}] * len(bodies)
        answered = answer.json
        return list(answered["results"]) if "results" in answered else [answered] * len(bodies)

    # --- receives ----------------------------------------------------------------------------------------------------

    async def _receive(self, gateway: int, _count: int) -> int:
        """As `send`."""
        http = self._hardware.gateways[gateway].http
        if http is None:
            return LATER_MS
        query = {
            "queue": LIMITED,
            "group": GROUP,
            "consumer": f"c{gateway}",
            "max": str(RECEIVE_MAX),
            "visibilitySeconds": "2",
        }
        began_ms = self._around.now_ms()
        try:
            answer = await http.get("/messages", query, leave_after_s=PATIENCE_S)
            document = answer.json
            if document.get("code") == "QUOTA_EXCEEDED":
                return self._refused(document, RECEIVE_QUOTA)
            if self._code(document) or not document["messages"]:
                return LATER_MS
            messages = document["messages"]
            self.receives.append(Admission(began_ms, self._around.now_ms(), len(messages), http.process.name))
            self.received.update(message["body"] for message in messages)
            self._around.coverage["limited receives"] += len(messages)
            acks = json.dumps({"receipts": [message["receipt"] for message in messages]}).encode()
            await http.post("/ack", acks, leave_after_s=PATIENCE_S)
        except ConnectionLostError:
            return LATER_MS
        return 0

    # --- both --------------------------------------------------------------------------------------------------------

    def _refused(self, document: dict[str, Any], quota: str) -> int:
        self._around.coverage[f"refused for the quota of a {quota.split('/')[0]}"] += 1
        wait_ms: int = document.get("retryAfterMs", -1)
        if document.get("quota") != quota or not 0 < wait_ms <= RETRY_MS_MAX:
            self.violations.append(f"a refusal does not say of which quota, or until when: {document}")
        return wait_ms

    def _code(self, document: dict[str, Any]) -> str:
        code = str(document.get("code", ""))
        if code == "INTERNAL" or (code and code not in UNKNOWN_CODES and not document["retriable"]):
            self.violations.append(f"under a quota: {document}")
        return code
