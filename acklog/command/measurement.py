"""What `acklog bench` does: workers in a closed loop, each with one request at a time, for so many seconds."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from acklog.command.latencies import Latencies

if TYPE_CHECKING:
    from acklog import AsyncClient
    from acklog.messages import OutgoingMessage

RECEIVE_MAX = 1000
LEASE_S = 60.0
ERRORS_MAX = 100
PERCENTILES = (50.0, 95.0, 99.0)


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """`size_bytes` is that of a message's body; `seconds` is for each of the three phases."""

    topic: str
    group: str
    seconds: float
    workers: int
    size_bytes: int
    batch: int


@dataclass(slots=True)
class Phase:
    """One kind of request. `messages` per second and the latency of a request are the result.

    `errors` counts requests that failed, with an example; a worker goes on after one, and the phase ends at ERRORS_MAX.
    """

    name: str
    messages: int = 0
    duration_s: float = 0.0
    errors: int = 0
    error: str = ""
    latencies: Latencies = field(default_factory=Latencies)

    @property
    def rate(self) -> float:
        """Messages per second."""
        return self.messages / self.duration_s if self.duration_s else 0.0

    def document(self) -> dict[str, object]:
        """For --json."""
        document: dict[str, object] = {
            "phase": self.name,
            "messages": self.messages,
            "requests": self.latencies.count,
            "seconds": round(self.duration_s, 3),
            "messagesPerSecond": round(self.rate, 1),
            "latencyMs": {f"p{percent:g}": round(self.latencies.percentile_ms(percent), 3) for percent in PERCENTILES}
            | {"max": round(self.latencies.greatest_ms, 3)},
            "errors": self.errors,
        }
        return {**document, "error": self.error} if self.error else document


class Measurement:
    """`advanced` is called after every request with the number of its messages."""

    def __init__(self, client: "AsyncClient", plan: BenchPlan, *, advanced: Callable[[int], None]) -> None:
        self._client = client
        self._plan = plan
        self._advanced = advanced
        self._sent = 0
        self._settled = 0

    async def singles(self) -> Phase:
        """One message per request."""
        phase, body = Phase("send one by one"), self._body()

        async def send(number: int) -> int:
            await self._client.send(self._plan.topic, body, key=str(number))
            self._sent += 1
            return 1

        return await self._run(phase, send)

    async def batches(self) -> Phase:
        """Many messages per request."""
        plan = self._plan
        phase, messages = Phase(f"send batches of {plan.batch:,}"), self._messages()

        async def send(_number: int) -> int:
            from acklog.errors import AcklogError

            results = await self._client.send_many(plan.topic, messages)
            fault = next((each for each in results if isinstance(each, AcklogError)), None)
            if fault is not None:
                raise fault
            self._sent += len(results)
            return len(results)

        return await self._run(phase, send)

    async def deliveries(self) -> Phase:
        """Receive and acknowledge what was sent, until nothing is left or the time is over."""
        plan = self._plan

        async def receive(_number: int) -> int:
            received = await self._client.receive(
                plan.topic, group=plan.group, max_messages=min(RECEIVE_MAX, plan.batch), visibility_s=LEASE_S
            )
            if not received.messages:
                return 0
            settled = await self._client.ack(received.messages)
            fault = next((each.error for each in settled if each.error is not None), None)
            if fault is not None:
                raise fault
            self._settled += len(settled)
            return len(settled)

        return await self._run(Phase("receive and ack"), receive, is_over=lambda: self._settled >= self._sent)

    # --- the closed loop ---------------------------------------------------------------------------------------------

    async def _run(
        self, phase: Phase, request: Callable[[int], Awaitable[int]], *, is_over: Callable[[], bool] = lambda: False
    ) -> Phase:
        now_s = asyncio.get_running_loop().time
        started_s = now_s()
        end_s = started_s + self._plan.seconds

        async def work(worker: int) -> None:
            from acklog.errors import AcklogError

            number = worker
            while now_s() < end_s and not is_over() and phase.errors < ERRORS_MAX:
                begun_s = now_s()
                try:
                    count = await request(number)
                except AcklogError as error:
                    phase.errors += 1
                    phase.error = phase.error or str(error)
                    continue
                number += self._plan.workers
                if not count:
                    return  # others have what is left
                phase.latencies.add((now_s() - begun_s) * 1000)
                phase.messages += count
                self._advanced(count)

        async with asyncio.TaskGroup() as group:
            for worker in range(self._plan.workers):
                group.create_task(work(worker))
        phase.duration_s = now_s() - started_s
        return phase

    def _body(self) -> str:
        """JSON text of `size_bytes`, its quotes included."""
        return "x" * max(0, self._plan.size_bytes - 2)

    def _messages(self) -> "Sequence[OutgoingMessage]":
        from acklog import OutgoingMessage

        body = self._body()
        return [OutgoingMessage(body, key=str(number)) for number in range(self._plan.batch)]
