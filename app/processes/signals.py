"""What signals do to a process of Acklog once it has an event loop."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType

import uvloop

from acklog.command.early_end import ignore_signals
from app.processes.early_end import EndedEarlyError, on_ending_signals


def run_process(serving: Coroutine[None, None, None]) -> None:
    """On an event loop of its own (uvloop). Raises what `serving` raises, and EndedEarlyError for a signal that came
    before it served: from then on uvicorn heeds them, see `app.http.protocol.server`."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_cancelled_by_signals(serving))


async def _cancelled_by_signals(serving: Coroutine[None, None, None]) -> None:
    process = asyncio.create_task(serving, name="process")
    came: list[int] = []

    def end(number: int) -> None:
        came.append(number)
        process.cancel()

    on_ending_signals(end)
    try:
        await process
    except asyncio.CancelledError:
        if came:
            raise EndedEarlyError(came[0]) from None
        raise


@contextmanager
def heeding_signals(*, reload: Callable[[], None], stop: Callable[[], None]) -> Iterator[None]:
    """While a server serves, SIGHUP asks for a reload. Where it says that the terminal has gone in which somebody had
    started the server, it stops, or it would go on without anybody who knows of it. SIGTERM and SIGINT `stop` it, where
    uvicorn does not have them yet or any more. Behind it all of them mean nothing: the process is about to end.

    (The event loop's own handlers are not for this: when one is taken away a signal kills the process.)
    """
    had_terminal = has_terminal()
    loop = asyncio.get_running_loop()

    def hung_up() -> None:
        if had_terminal and not has_terminal():
            stop()
        else:
            reload()

    def came(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(hung_up)

    on_ending_signals(lambda _number: stop())
    signal.signal(signal.SIGHUP, came)
    try:
        yield
    finally:
        ignore_signals()


def has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
