"""Load in two shapes. A closed loop has one open request per connection and finds the highest rate; an open loop sends
at a fixed rate, whatever the server does, and measures from the moment at which a request should have gone out, so
that a stall counts for all the requests that it delayed (no coordinated omission)."""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from time import perf_counter

from examples.latencies import percentile
from loadtests.http_connection import Answer, HttpConnection
from loadtests.pace import Pace

DRAIN_TIMEOUT_S = 10.0
BACKLOG_MAX = 100_000


class LoadFailedError(RuntimeError):
    """The load could not be brought to its end."""


class LoadNotFinishedError(LoadFailedError):
    """Requests were still open when the time was up."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """`answers` have the expected status, `errors` another one or none in time. `latencies` (seconds, ascending) are
    those of the answers and, in an open loop, the ages of what was never answered: leaving the slowest out would make
    a server look better the worse it is. `lateness` (seconds, ascending; open loop) says by how much this process was
    behind its own schedule when it came to each request; `latencies` count it in."""

    answers: int
    errors: int
    seconds: float
    latencies: list[float]
    lateness: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.answers / self.seconds if self.seconds else 0.0

    def latency_ms(self, percent: float) -> float:
        return percentile(self.latencies, percent) * 1000


async def closed_loop(
    connections: Sequence[HttpConnection],
    requests: Sequence[bytes],
    *,
    seconds: float,
    warm_up_s: float,
    answers_max: int,
    expected_status: int = 201,
) -> LoadResult:
    """Each connection sends the next request as soon as its answer is there. Only what is answered after the warm-up
    and before the end counts; the end comes early when `answers_max` were counted."""
    begin = perf_counter() + warm_up_s
    window = _Window(begin, begin + seconds, answers_max)
    loops = [
        _ClosedLoop(connection, requests, number, window, expected_status)
        for number, connection in enumerate(connections)
    ]
    for each in loops:
        each.send()
    await _finish([each.finished for each in loops], warm_up_s + seconds)
    latencies = sorted(latency for each in loops for latency in each.latencies)
    return LoadResult(len(latencies), sum(each.errors for each in loops), window.end - begin, latencies)


@dataclass(slots=True)
class _Window:
    """When answers count, and how many more may."""

    begin: float
    end: float
    answers_left: int

    def counts(self, now: float) -> bool:
        if not self.begin <= now < self.end:
            return False
        self.answers_left -= 1
        if not self.answers_left:
            self.end = now
        return True


class _ClosedLoop:
    def __init__(
        self,
        connection: HttpConnection,
        requests: Sequence[bytes],
        number: int,
        window: _Window,
        expected_status: int,
    ) -> None:
        self._connection = connection
        self._requests = requests
        self._next = number * 7919 % len(requests)  # connections start at different requests
        self._window = window
        self._expected_status = expected_status
        self._sent_at = 0.0
        self.latencies: list[float] = []
        self.errors = 0
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def send(self) -> None:
        request = self._requests[self._next]
        self._next = self._next + 1 if self._next + 1 < len(self._requests) else 0
        self._sent_at = perf_counter()
        self._connection.send(request, self._answered)

    def _answered(self, answer: Answer) -> None:
        now = perf_counter()
        if answer.status != self._expected_status:
            self.errors += 1
        elif self._window.counts(now):
            self.latencies.append(now - self._sent_at)
        if now < self._window.end and answer.status:
            self.send()
        elif not self.finished.done():
            self.finished.set_result(None)


async def open_loop(
    connections: Sequence[HttpConnection],
    requests: Sequence[bytes],
    *,
    rate: float,
    seconds: float,
    warm_up_s: float,
    is_spinning: bool,
    expected_status: int = 201,
) -> LoadResult:
    """`is_spinning` polls without pause, which needs a core of its own; else the kernel's timer wakes the process."""
    run = _OpenLoop(connections, requests, rate, warm_up_s, seconds, expected_status)
    try:
        if is_spinning:
            run.spin()
            await _finish([run.finished], warm_up_s + seconds)
        else:
            with closing(run.begin()):
                await _finish([run.finished], warm_up_s + seconds)
    except LoadNotFinishedError:
        run.give_up()
    return LoadResult(run.answers, run.errors, seconds, sorted(run.latencies), sorted(run.lateness))


class _OpenLoop:
    def __init__(
        self,
        connections: Sequence[HttpConnection],
        requests: Sequence[bytes],
        rate: float,
        warm_up_s: float,
        seconds: float,
        expected_status: int,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._free = list(connections)
        self._backlog: deque[int] = deque()
        self._requests = requests
        self._interval = 1 / rate
        self._start = perf_counter()
        self._first_counted = int(warm_up_s * rate)
        self._count = int((warm_up_s + seconds) * rate)
        self._next = 0
        self._open: dict[int, None] = {}
        self._expected_status = expected_status
        self.latencies: list[float] = []
        self.lateness: list[float] = []
        self.answers = 0
        self.errors = 0
        self.finished: asyncio.Future[None] = self._loop.create_future()

    def give_up(self) -> None:
        """Count what has no answer. The connections must not be used again."""
        now = perf_counter()
        missing = [*self._open, *self._backlog, *range(self._next, self._count)]
        self.errors += len(missing)
        self.latencies += [now - self._due_at(number) for number in missing if number >= self._first_counted]
        self._open.clear()
        self._backlog.clear()
        self._next = self._count
        self.finished.cancel()

    def spin(self) -> None:
        self._send_what_is_due()
        if not self.finished.done():
            self._loop.call_soon(self.spin)

    def begin(self) -> Pace:
        """Send whenever something is due, until the pace is closed."""
        return Pace(self._start, self._interval, self._send_what_is_due)

    def _send_what_is_due(self) -> None:
        now = perf_counter()
        due = min(int((now - self._start) / self._interval) + 1, self._count)
        while self._next < due:
            self._backlog.append(self._next)
            if self._next >= self._first_counted:
                self.lateness.append(max(0.0, now - self._due_at(self._next)))
            self._next += 1
        if len(self._backlog) > BACKLOG_MAX and not self.finished.done():
            self.finished.set_exception(LoadFailedError(f"{BACKLOG_MAX:,} requests wait to be sent: too slow"))
            return
        while self._backlog and self._free:
            self._send(self._free.pop(), self._backlog.popleft())
        if self._next == self._count and not self._open and not self._backlog and not self.finished.done():
            self.finished.set_result(None)

    def _due_at(self, number: int) -> float:
        return self._start + number * self._interval

    def _send(self, connection: HttpConnection, number: int) -> None:
        self._open[number] = None

        def answered(answer: Answer) -> None:
            if self.finished.done():
                return
            del self._open[number]
            if answer.status != self._expected_status:
                self.errors += 1
            elif number >= self._first_counted:
                self.answers += 1
                self.latencies.append(perf_counter() - self._due_at(number))
            if answer.status:
                self._free.append(connection)
            else:
                self.finished.set_exception(LoadFailedError("the server closed a connection"))

        connection.send(self._requests[number % len(self._requests)], answered)


async def _finish(futures: Sequence["asyncio.Future[None]"], seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds + DRAIN_TIMEOUT_S):
            for future in futures:
                await future
    except TimeoutError:
        raise LoadNotFinishedError(f"requests were still open {DRAIN_TIMEOUT_S:.0f} s after the end") from None
