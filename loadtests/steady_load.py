"""Single requests at a fixed rate for as long as a block runs, each counted from when it was due."""

import asyncio
from collections.abc import Sequence
from time import perf_counter

from examples.latencies import percentile
from loadtests.http_connection import Answer, HttpConnection
from loadtests.pace import Pace

DRAIN_PAUSE_S = 0.005


class SteadyLoad:
    """`async with SteadyLoad(...) as steady`; at its end requests that are open are waited for, for a while.

    A request that finds no free connection waits for one. A lost connection is an error, and is not used again.
    """

    def __init__(
        self,
        connections: Sequence[HttpConnection],
        requests: Sequence[bytes],
        *,
        rate: float,
        drain_timeout_s: float = 5.0,
        expected_status: int = 201,
    ) -> None:
        self._free = list(connections)
        self._requests = requests
        self._rate = rate
        self._drain_timeout_s = drain_timeout_s
        self._expected_status = expected_status
        self._sent = 0
        self._open = 0
        self._began_s = 0.0
        self._pace: Pace | None = None
        self._latencies: list[float] = []
        self.errors = 0

    @property
    def answers(self) -> int:
        return len(self._latencies)

    @property
    def p99_ms(self) -> float | None:
        """Of the answers that were as expected; None without any."""
        return percentile(sorted(self._latencies), 99) * 1000 if self._latencies else None

    async def __aenter__(self) -> "SteadyLoad":
        self._began_s = perf_counter()
        self._pace = Pace(self._began_s, 1 / self._rate, self._send_what_is_due)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._pace is not None
        self._pace.close()
        deadline_s = perf_counter() + self._drain_timeout_s
        while self._open and perf_counter() < deadline_s:
            await asyncio.sleep(DRAIN_PAUSE_S)
        self.errors += self._open
        self._open = 0

    def _send_what_is_due(self) -> None:
        due = int((perf_counter() - self._began_s) * self._rate) + 1
        while self._sent < due and self._free:
            self._send(self._free.pop(), self._began_s + self._sent / self._rate)

    def _send(self, connection: HttpConnection, due_s: float) -> None:
        request = self._requests[self._sent % len(self._requests)]
        self._sent += 1
        self._open += 1

        def answered(answer: Answer) -> None:
            if not self._open:
                return  # given up
            self._open -= 1
            if answer.status == self._expected_status:
                self._latencies.append(perf_counter() - due_s)
            else:
                self.errors += 1
            if answer.status:
                self._free.append(connection)

        connection.send(request, answered)
