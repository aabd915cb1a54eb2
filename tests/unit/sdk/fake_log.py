"""A server that keeps a log, as far as a producer can tell: results per message, idempotency keys, and faults."""

import asyncio
import json
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from acklog.client.call import Request, Response
from acklog.errors import CannotConnect, ConnectionFailed, DeadlineExceeded

Fault = Callable[["FakeLog", Request], Response | None]


@dataclass(slots=True)
class FakeLog:
    """`fault` may answer, or raise, before the request takes effect; `lose_answers` is how likely one that has taken
    effect is not heard of. Each message of a request may fail with OVERLOADED, `overloaded` is how likely."""

    seed: int = 0
    latency_s: float = 0.01
    fault: Fault | None = None
    unreachable: float = 0.0
    lose_answers: float = 0.0
    overloaded: float = 0.0
    messages: list[dict[str, Any]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    in_flight: int = 0
    in_flight_max: int = 0
    _places: dict[str, int] = field(default_factory=dict)
    _random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        self.requests.append(request)
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.sleep(self.latency_s * self._random.uniform(0.5, 2))
                return await self._answer(request)
        except TimeoutError:
            raise DeadlineExceeded("no answer in time") from None
        finally:
            self.in_flight -= 1

    async def close(self) -> None:
        pass

    async def _answer(self, request: Request) -> Response:
        if self._random.random() < self.unreachable:
            raise CannotConnect("nobody listens")
        if self.fault is not None:
            answer = self.fault(self, request)
            if answer is not None:
                return answer
        response = self.store(request)
        if self._random.random() < self.lose_answers:
            raise ConnectionFailed("the connection broke")
        return response

    def store(self, request: Request) -> Response:
        """What a healthy server does."""
        results = []
        for number, message in enumerate(envelope_of(request)["messages"]):
            place = f"{request.headers['Idempotency-Key']} {number}"
            if place not in self._places and self._random.random() < self.overloaded:
                results.append({"code": "OVERLOADED", "detail": "busy", "retriable": True})
                continue
            if place not in self._places:
                self._places[place] = len(self.messages)
                self.messages.append(message)
            offset = self._places[place]
            results.append({"messageId": f"m-{offset}", "partition": 0, "offset": offset})
        failed = sum("code" in result for result in results)
        status = 201 if not failed else 207 if failed < len(results) else 429
        if status == 429:
            return problem(429, "OVERLOADED", True, results=results, failed=failed)
        return answer(status, {"results": results, "failed": failed})

    def bodies(self) -> list[Any]:
        return [message["body"] for message in self.messages]


def envelope_of(request: Request) -> dict[str, Any]:
    body = request.body
    if request.headers.get("Content-Encoding") == "gzip":
        body = zlib.decompress(body, 16 + zlib.MAX_WBITS)
    document: dict[str, Any] = json.loads(body)
    return document


def answer(status: int, document: object) -> Response:
    return Response(status, json.dumps(document).encode(), {"content-type": "application/json"})


def problem(
    status: int, code: str, retriable: bool, *, headers: dict[str, str] | None = None, **extra: Any
) -> Response:
    document = {"code": code, "detail": f"it is {code}", "retriable": retriable, "status": status, **extra}
    response = answer(status, document)
    return Response(status, response.body, {"content-type": "application/problem+json", **(headers or {})})
