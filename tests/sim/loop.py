"""A deterministic asyncio: a seeded event loop on virtual time.

The loop never blocks and never looks at the machine: when nothing is ready, time goes on to the next timer's own
deadline (adding up timeouts would gather float errors). Equal seeds run equal programs in equal order, which the trace
hash proves; other seeds run them in other orders that asyncio would allow as well. `asyncio.TaskGroup` cancels its
children in the order of a set, that is of memory addresses, so ready handles are sorted by their task's serial number
before they are shuffled.

Leans on `_ready`, `_run_once` and `_selector` of asyncio's own base class; `test_loop.py` pins what it needs of them.
"""

import asyncio
import hashlib
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, TypeVar

_Result = TypeVar("_Result")

ITERATIONS_AT_ONE_MOMENT_MAX = 200_000
LEFTOVERS_END_SECONDS = 600
"""Of simulated time: what was cancelled may have an orderly end, with waits of its own."""
PLAIN_CALLBACK = 0
LEFTOVERS_END_SECONDS = 600
"""Of simulated time: what is cancelled may have an orderly end, with waits of its own."""


class Deadlock(Exception):  # noqa: N818 - a verdict on the program, not an error of the loop
    """Every task waits and no timer is set: nothing can ever happen again."""


class Livelock(Exception):  # noqa: N818
    """The program goes round and round while no time passes."""


class LeftoversError(RuntimeError):
    """A task swallowed its cancellation: the program would never end."""


class LeavesSimulationError(RuntimeError):
    """The program tried to use a thread; nothing of that is deterministic."""


class SimTask(asyncio.Task[Any]):
    """A task that knows how many were made before it, and the context that it runs in."""

    serial: int = 0
    own_context: Context


class Hold:
    """Made by `SimLoop.hold`: what is due meanwhile, in its order."""

    def __init__(self, is_meant: Callable[[Context], bool]) -> None:
        self.is_meant = is_meant
        self.handles: list[asyncio.Handle] = []


class _NoSelector:
    """Where a real loop waits for sockets, this one lets time pass."""

    def __init__(self, loop: "SimLoop") -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None:
            raise Deadlock(self._loop.describe_tasks())
        if timeout > 0:
            self._loop.advance_to_next_timer()
        return []

    def close(self) -> None:
        pass


class SimLoop(asyncio.BaseEventLoop):
    """`shuffle=False` keeps asyncio's documented order, for code that leans on it."""

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]
    _timer_cancelled_count: int

    def __init__(self, seed: int, *, shuffle: bool = True) -> None:
        super().__init__()
        self._now = 0.0
        self._random = random.Random(f"loop {seed}")
        self._shuffle = shuffle
        self._task_serial = PLAIN_CALLBACK
        self._trace = hashlib.sha256()
        self._iterations_at_now = 0
        self._holds: list[Hold] = []
        self._observers: list[Callable[[], None]] = []
        self._selector = _NoSelector(self)
        self._clock_resolution = 1e-9
        self.set_task_factory(self._make_task)  # type: ignore[arg-type]

    # --- time ---

    def time(self) -> float:
        return self._now

    def advance_to_next_timer(self) -> None:
        self._now = max(self._now, self._scheduled[0]._when)  # type: ignore[attr-defined]
        self._iterations_at_now = 0

    # --- order ---

    def _make_task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], **options: Any
    ) -> SimTask:
        self._task_serial += 1
        if options.get("name") is None:  # asyncio's own names count over all loops of the process
            options["name"] = f"task-{self._task_serial}"
        if options.get("context") is None:
            options["context"] = copy_context()
        task = SimTask(coroutine, loop=loop, **options)
        task.own_context = options["context"]
        task.serial = self._task_serial
        return task

    def _run_once(self) -> None:
        self._iterations_at_now += 1
        if self._iterations_at_now > ITERATIONS_AT_ONE_MOMENT_MAX:
            raise Livelock(self.describe_tasks())
        if self._holds:
            self._hold_back()
        if self._ready:
            self._order_ready()
        super()._run_once()  # type: ignore[misc]
        for observe in self._observers:
            observe()

    def after_each_turn(self, observe: Callable[[], None]) -> None:
        """Have `observe` look at what came of all that was ready at once. It must change nothing."""
        self._observers.append(observe)

    # --- standing still ---

    def hold(self, is_meant: Callable[[Context], bool]) -> Hold:
        """From now on no callback, timer or step of a task runs whose context `is_meant`."""
        hold = Hold(is_meant)
        self._holds.append(hold)
        return hold

    def release(self, hold: Hold) -> None:
        """What was held runs now, in its order. Nothing happens where that was done already."""
        if hold in self._holds:
            self._holds.remove(hold)
        self._ready.extend(hold.handles)
        hold.handles.clear()

    def release_all(self) -> None:
        for hold in list(self._holds):
            self.release(hold)

    def _hold_back(self) -> None:
        """Time goes on until there is something that may run: asyncio itself would run whatever comes due."""
        self._sift()
        while not self._ready and not self._stopping and self._scheduled:  # type: ignore[attr-defined]
            if self._scheduled[0]._when > self._now:  # type: ignore[attr-defined]
                self.advance_to_next_timer()
            self._sift()

    def _sift(self) -> None:
        while self._scheduled and self._scheduled[0]._when < self._now + self._clock_resolution:  # type: ignore[attr-defined]
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False  # type: ignore[attr-defined]
            if timer.cancelled():
                self._timer_cancelled_count -= 1
            else:
                self._ready.append(timer)
        for _ in range(len(self._ready)):
            handle = self._ready.popleft()
            context: Context = handle._context  # type: ignore[attr-defined]
            hold = next((hold for hold in self._holds if hold.is_meant(context)), None)
            (self._ready if hold is None else hold.handles).append(handle)

    def _order_ready(self) -> None:
        turns = [_owner(handle) for handle in self._ready]
        if self._shuffle and len(turns) > 1:
            by_owner: dict[int, deque[asyncio.Handle]] = {}
            for owner, handle in zip(turns, self._ready, strict=True):
                by_owner.setdefault(owner, deque()).append(handle)
            turns.sort()
            self._random.shuffle(turns)
            self._ready.clear()
            self._ready.extend(by_owner[owner].popleft() for owner in turns)
        self._trace.update(repr((self._now, turns)).encode())

    # --- the end of a part of the program ---

    def tasks(self) -> list[SimTask]:
        """The unfinished ones, oldest first."""
        tasks = [task for task in asyncio.all_tasks(self) if isinstance(task, SimTask)]
        return sorted(tasks, key=lambda task: task.serial)

    def cancel_callbacks(self, is_meant: Callable[[Context], bool]) -> None:
        """Cancel timers and plain callbacks by the context that they would run in; steps of tasks are left alone."""
        for handle in [*self._ready, *self._scheduled]:
            context: Context = handle._context  # type: ignore[attr-defined]
            if _owner(handle) == PLAIN_CALLBACK and is_meant(context):
                handle.cancel()

    # --- evidence ---

    def note(self, event: object) -> None:
        """Add something that happened to the trace, so that a difference shows early."""
        self._trace.update(repr(event).encode())

    @property
    def trace_hash(self) -> str:
        """Equal for two runs that did the same in the same order at the same times."""
        return self._trace.hexdigest()

    def describe_tasks(self) -> str:
        """What every unfinished task waits at, one a line."""
        lines = [f"at {self._now:.6f} s, {len(self._scheduled)} timers"]
        for task in self.tasks():
            stack = task.get_stack(limit=1)
            place = f"{stack[0].f_code.co_filename}:{stack[0].f_lineno}" if stack else "?"
            lines.append(f"  {task.serial} {task.get_name()} at {place}")
        return "\n".join(lines)

    # --- nothing may leave the simulation ---

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        raise LeavesSimulationError("call_soon_threadsafe: there are no threads in a simulation")

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> Any:
        raise LeavesSimulationError(f"run_in_executor: {func!r} would run in a thread")


def _owner(handle: asyncio.Handle) -> int:
    """The serial of the task that the handle steps or wakes."""
    owner = getattr(handle._callback, "__self__", None)  # type: ignore[attr-defined]
    return owner.serial if isinstance(owner, SimTask) else PLAIN_CALLBACK


def simulate(
    seed: int, main: Callable[[SimLoop], Coroutine[Any, Any, _Result]], *, shuffle: bool = True
) -> tuple[_Result, str]:
    """Run `main(loop)` to its end; returns its result and the trace hash. Tasks that are left are cancelled. What
    draws from the process's own generator of `random` meanwhile, as the SDK's pauses do, draws by the seed too."""
    loop = SimLoop(seed, shuffle=shuffle)
    asyncio.set_event_loop(loop)
    state_outside = random.getstate()
    random.seed(seed)
    try:
        result = loop.run_until_complete(main(loop))
        trace_hash = loop.trace_hash
        return result, trace_hash
    finally:
        _cancel_leftovers(loop)
        random.setstate(state_outside)
        asyncio.set_event_loop(None)
        loop.close()


def _cancel_leftovers(loop: SimLoop) -> None:
    """Also of processes that stand still: who waits for the end of such a one would wait for ever.

    Raises LeftoversError for a task that goes on after its cancellation.
    """
    loop.release_all()
    tasks = loop.tasks()
    for task in tasks:
        task.cancel()
    if tasks:
        ended, going_on = loop.run_until_complete(asyncio.wait(tasks, timeout=LEFTOVERS_END_SECONDS))
        for task in ended:
            _ = task.cancelled() or task.exception()  # what they died of is nobody's business any more
        if going_on:
            raise LeftoversError(f"cancelled, and do not end: {going_on}")
    loop.run_until_complete(loop.shutdown_asyncgens())
