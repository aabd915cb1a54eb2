"""A process within the simulation: its tasks and timers can all be ended at once, as `kill -9` ends them."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar

from tests.sim.loop import Hold, SimLoop, SimTask

_Result = TypeVar("_Result")
_PROCESS: ContextVar["Process | None"] = ContextVar("process", default=None)


class ProcessDiedError(Exception):
    """Whoever was asked is no more; what was asked may or may not have taken effect."""


class Process:
    """Everything that starts within it belongs to it: tasks, their tasks, timers."""

    def __init__(self, loop: SimLoop, name: str) -> None:
        self.name = name
        self.is_dead = False
        self._loop = loop
        self._context = copy_context()
        self._context.run(_PROCESS.set, self)
        self._callers: dict[asyncio.Future[Any], None] = {}
        self._hold: Hold | None = None

    @property
    def is_paused(self) -> bool:
        return self._hold is not None

    async def call(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run `work` within the process, from outside. Raises ProcessDiedError when the process ends first; leaving
        does not stop the work."""
        if self.is_dead:
            work.close()
            raise ProcessDiedError(self.name)
        answer: asyncio.Future[_Result] = self._loop.create_future()
        self._callers[answer] = None
        self.spawn(work, lambda task: _pass_on(task, answer))
        try:
            return await answer
        finally:
            del self._callers[answer]

    def run(self, function: Callable[[], None]) -> None:
        """Call `function` within the process, if that is still alive: an event from outside."""
        if not self.is_dead:
            self._context.copy().run(function)

    def post(self, function: Callable[..., None], *arguments: Any) -> None:
        """Have `function` called within the process soon, or when it goes on: what an operating system hands over."""
        if not self.is_dead:
            self._loop.call_soon(function, *arguments, context=self._context.copy())

    def pause(self) -> None:
        """It stands still, as after SIGSTOP: nothing of it runs until `resume`; the world goes on."""
        if self._hold is None and not self.is_dead:
            self._hold = self._loop.hold(self._is_mine)

    def resume(self) -> None:
        """Whatever came due meanwhile happens now, at once."""
        if self._hold is not None:
            self._loop.release(self._hold)
            self._hold = None

    def spawn(
        self, work: Coroutine[Any, Any, _Result], on_done: Callable[["asyncio.Task[_Result]"], None]
    ) -> "asyncio.Task[_Result]":
        task = self._loop.create_task(work, context=self._context.copy())
        task.add_done_callback(on_done)  # in the caller's context: it must be heard when the process dies
        return task

    def kill(self) -> None:
        """End it here and now. Its tasks see a cancellation, but can reach nothing any more that matters."""
        self.is_dead = True
        self.resume()
        self._loop.cancel_callbacks(self._is_mine)
        for task in self._loop.tasks():
            if isinstance(task, SimTask) and self._is_mine(task.own_context):
                task.cancel()
        for answer in self._callers:
            if not answer.done():
                answer.set_exception(ProcessDiedError(self.name))

    def _is_mine(self, context: Context) -> bool:
        return context.get(_PROCESS) is self


def current_process() -> "Process | None":
    """Whose code runs now; None outside of all."""
    return _PROCESS.get()


async def outside(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run `work` as nobody's: it outlives the process that asks for it."""
    return await asyncio.shield(begin_outside(work))


def begin_outside(work: Coroutine[Any, Any, _Result]) -> "asyncio.Task[_Result]":
    """The same for who does not wait for it."""
    context = copy_context()
    context.run(_PROCESS.set, None)
    task = asyncio.get_running_loop().create_task(work, context=context)
    task.add_done_callback(_heard, context=context)  # nobody's either: a kill cancels what the process would call
    return task


def _heard(task: "asyncio.Task[Any]") -> None:
    """Its failure is the caller's to handle, and a caller that is dead cannot."""
    if not task.cancelled():
        task.exception()


def _pass_on(task: "asyncio.Task[_Result]", answer: "asyncio.Future[_Result]") -> None:
    if task.cancelled():
        if not answer.done():
            answer.set_exception(ProcessDiedError("its task was cancelled"))
        return
    error = task.exception()
    if answer.done():
        return
    if error is None:
        answer.set_result(task.result())
    elif isinstance(error, Exception):
        answer.set_exception(error)
    else:  # SimulatedPowerLoss and the like
        answer.set_exception(ProcessDiedError(repr(error)))
