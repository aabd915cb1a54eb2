"""A server that leases messages to a group, as far as a consumer can tell, in the loop's own time."""

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from acklog.client.call import Request, Response
from acklog.errors import CannotConnect, ConnectionFailed
from tests.unit.sdk.fake_log import answer, problem

POLL_S = 0.005
Fault = Callable[["FakeQueue", Request], Response | None]


@dataclass(slots=True)
class Item:
    body: Any
    attempt: int = 0
    leased_until_s: float = -1.0
    due_s: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    is_done: bool = False


@dataclass(slots=True)
class FakeQueue:
    """`delivered` is the index and attempt of every delivery; `double_deliveries` counts those that came while an
    earlier one's work had been acked or was still leased: never, unless a lease ran out."""

    items: list[Item] = field(default_factory=list)
    latency_s: float = 0.002
    answer_latency_s: float = 0.0
    fault: Fault | None = None
    lose_answers: float = 0.0
    is_down: bool = False
    seed: int = 0
    requests: list[Request] = field(default_factory=list)
    delivered: list[tuple[int, int]] = field(default_factory=list)
    nacks: list[tuple[int, float | None]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    @classmethod
    def of(cls, *bodies: Any, **options: Any) -> "FakeQueue":
        return cls([Item(body) for body in bodies], **options)

    @property
    def done(self) -> list[Any]:
        return [item.body for item in self.items if item.is_done]

    def calls(self, path: str) -> list[Request]:
        return [request for request in self.requests if urlsplit(request.target).path == path]

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        self.requests.append(request)
        await asyncio.sleep(self.latency_s)
        if self.is_down:
            raise CannotConnect("nobody listens")
        if self.fault is not None:
            response = self.fault(self, request)
            if response is not None:
                return response
        response = await self._receive(request) if request.method == "GET" else self._settle(request)
        await asyncio.sleep(self.answer_latency_s)
        if self.is_down or self._random.random() < self.lose_answers:
            raise ConnectionFailed("the connection broke")
        return response

    async def close(self) -> None:
        pass

    async def _receive(self, request: Request) -> Response:
        query = parse_qs(urlsplit(request.target).query)
        now_s = asyncio.get_running_loop().time
        deadline_s = now_s() + float(query.get("waitSeconds", ["0"])[0])
        while True:
            ready = [
                (index, item)
                for index, item in enumerate(self.items)
                if not item.is_done and item.leased_until_s <= now_s() and item.due_s <= now_s()
            ]
            if ready or now_s() >= deadline_s or self.is_down:
                break
            await asyncio.sleep(POLL_S)
        messages = []
        for index, item in ready[: int(query["max"][0])]:
            item.attempt += 1
            item.leased_until_s = now_s() + float(query["visibilitySeconds"][0])
            item.is_done = "autoAck" in query
            self.delivered.append((index, item.attempt))
            messages.append(
                {
                    "messageId": f"m-{index}",
                    "receipt": f"r-{index}-{item.attempt}",
                    "queue": query["queue"][0],
                    "partition": 0,
                    "offset": index,
                    "attempt": item.attempt,
                    "headers": item.headers,
                    "body": item.body,
                    "timestamp": 1,
                    "appendTime": 1,
                }
            )
        return answer(200, {"messages": messages} if messages else {"messages": [], "reason": "EMPTY"})

    def _settle(self, request: Request) -> Response:
        document = json.loads(request.body)
        results: list[dict[str, Any]] = [
            self._settle_one(request.target, receipt, document) for receipt in document["receipts"]
        ]
        failed = sum("code" in result for result in results)
        if failed == len(results):
            return problem(409, results[0]["code"], False, results=results, failed=failed)
        return answer(207 if failed else 200, {"results": results, "failed": failed})

    def _settle_one(self, action: str, receipt: str, document: dict[str, Any]) -> dict[str, Any]:
        now_s = asyncio.get_running_loop().time()
        _, index, attempt = receipt.split("-")
        item = self.items[int(index)]
        if item.is_done and action == "/ack":
            return {"status": "acknowledged"}
        if item.is_done or item.attempt != int(attempt):
            return {"code": "RECEIPT_STALE", "detail": "leased again", "retriable": False}
        if action == "/ack":
            item.is_done = True
            return {"status": "acknowledged"}
        if action == "/nack":
            delay_s = document.get("delaySeconds")
            self.nacks.append((int(index), delay_s))
            self.reasons.append(document.get("reason", ""))
            item.leased_until_s = -1.0
            item.due_s = now_s + (1.0 if delay_s is None else delay_s)
            return {"status": "returned"}
        item.leased_until_s = now_s + document["visibilitySeconds"]
        return {"status": "extended"}
