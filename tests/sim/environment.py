"""The ports of a simulated machine: clock, entropy and I/O threads, all on virtual time and drawn from a seed."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from cluster.ports.runtime import SteadyClock, steady_step
from storage.disk.executor import Then

_Result = TypeVar("_Result")

FIRST_WALL_MS = 1_700_000_000_000
_ROUNDING_MS = 1e-6  # a timer of 570 ms fires at 569.9999999999999


class MachineClock:
    """The clocks of one machine. Wall-clock time, as `time.time()` would tell it, may be wrong, and jump; `rate` is
    how fast the machine's second is."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, first_wall_ms: int = FIRST_WALL_MS, rate: float = 1.0
    ) -> None:
        self._loop = loop
        self._first_wall_ms = first_wall_ms
        self._rate = rate
        self._skew_ms = 0

    def jump(self, by_ms: int) -> None:
        self._skew_ms += by_ms

    def correct(self) -> None:
        """Take every jump back."""
        self._skew_ms = 0

    def wall_ms(self) -> int:
        return self._first_wall_ms + self.monotonic_ms() + self._skew_ms

    def monotonic_ms(self) -> int:
        return int(self._loop.time() * 1000 * self._rate + _ROUNDING_MS)

    def virtual_s(self, duration_ms: float) -> float:
        """How long the machine's `duration_ms` take."""
        return duration_ms / 1000 / self._rate


class SimClock:
    """`cluster.ports.clock.Clock` of one process: follows its machine's clock as `SteadyClock` does, without its jumps.

    A new process (another SimClock on the same machine) starts with what the machine says, right or wrong.
    """

    def __init__(self, machine: MachineClock) -> None:
        self._machine = machine
        self._last_monotonic_ms = machine.monotonic_ms()
        self._last_wall_ms = machine.wall_ms()

    def now_ms(self) -> int:
        monotonic_ms = self.monotonic_ms()
        elapsed_ms = monotonic_ms - self._last_monotonic_ms
        if elapsed_ms > 0:
            wall_ms = steady_step(
                self._last_wall_ms,
                elapsed_ms,
                self._machine.wall_ms(),
                follow_limit_ms=SteadyClock.FOLLOW_LIMIT_MS,
            )
            if wall_ms > self._last_wall_ms:
                self._last_wall_ms = wall_ms
                self._last_monotonic_ms = monotonic_ms
        return self._last_wall_ms

    def monotonic_ms(self) -> int:
        return self._machine.monotonic_ms()

    async def sleep(self, duration_ms: float) -> None:
        await asyncio.sleep(self._machine.virtual_s(duration_ms))


class SimEntropy:
    """`cluster.ports.entropy.Entropy` from a seed."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(f"entropy {seed}")

    def bits64(self) -> int:
        return self._random.getrandbits(64)

    def fraction(self) -> float:
        return self._random.random()


@dataclass(frozen=True, slots=True)
class DiskSpeed:
    """Mean delays in milliseconds; one call in `1 / stall_probability` takes up to `stall_ms`."""

    mean_ms: float = 0.5
    stall_probability: float = 0.0
    stall_ms: float = 500.0


class ExecutorKilledError(Exception):
    """The process of this executor is dead; nothing of it may run any more."""


class SimExecutor:
    """`storage.disk.executor.IoExecutor` without threads.

    A call takes effect at one moment within its delay and reports later, so a crash may fall between the two. As with
    a real thread, cancelling the wait does not always stop the work. `on_crash` hears of a PowerLost-like exception
    (`crash_types`) that a simulated disk raised within a call; that call never reports.
    """

    def __init__(
        self,
        seed: int | str,
        speed: DiskSpeed | None = None,
        *,
        crash_types: tuple[type[BaseException], ...] = (),
        on_crash: Callable[[BaseException], None] | None = None,
    ) -> None:
        self._random = random.Random(f"executor {seed}")
        self.speed = speed or DiskSpeed()
        self._crash_types = crash_types
        self._on_crash = on_crash
        self._is_killed = False
        self._is_closed = False
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._serial = 0
        self.calls = 0

    async def run(self, function: Callable[[], _Result]) -> _Result:
        done: asyncio.Future[_Result] = asyncio.get_running_loop().create_future()
        self._begin(function, partial(_settle, done), done)
        return await done

    def start(self, function: Callable[[], object], then: Then) -> None:
        self._begin(function, then, None)

    def _begin(self, function: Callable[[], object], then: Then, waits: "asyncio.Future[Any] | None") -> None:
        if self._is_killed:
            raise ExecutorKilledError
        if self._is_closed:
            raise RuntimeError("the executor is closed")
        self.calls += 1
        self._later(self._delay_s(), self._execute, function, then, waits)

    def close(self) -> None:
        """No new calls; those that began still end, as threads do."""
        self._is_closed = True

    def kill(self) -> None:
        """The process is gone: whatever has not taken effect never will, and nothing reports."""
        self._is_killed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _execute(self, function: Callable[[], Any], then: Then, waits: "asyncio.Future[Any] | None") -> None:
        if waits is not None and waits.cancelled() and self._random.random() < 0.5:  # it was still in the queue
            return
        try:
            result = function()
        except self._crash_types as crash:
            if self._on_crash is None:
                raise
            self._on_crash(crash)
        except Exception as error:
            self._later(self._delay_s() / 4, then, None, error)
        else:
            self._later(self._delay_s() / 4, then, result, None)

    def _delay_s(self) -> float:
        delay_ms = self._random.expovariate(1 / self.speed.mean_ms) if self.speed.mean_ms > 0 else 0.0
        if self._random.random() < self.speed.stall_probability:
            delay_ms += self._random.uniform(0, self.speed.stall_ms)
        return delay_ms / 1000

    def _later(self, delay_s: float, callback: Callable[..., None], *arguments: Any) -> None:
        self._serial += 1
        serial = self._serial

        def fire() -> None:
            del self._timers[serial]
            callback(*arguments)

        self._timers[serial] = asyncio.get_running_loop().call_later(delay_s, fire)


def _settle(done: "asyncio.Future[Any]", result: object, error: BaseException | None) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(result)
    else:
        done.set_exception(error)
