"""What signals do to a process of Acklog once it has an event loop."""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager

import uvloop

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
def heeding_hang_ups(*, reload: Callable[[], None], stop: Callable[[], None]) -> Iterator[None]:
    """While a server serves, SIGHUP asks for a reload. Where it says that the terminal has gone in which somebody had
    started the server, it stops, or it would go on without anybody who knows of it."""
    had_terminal = _has_terminal()
    loop = asyncio.get_running_loop()

    def came() -> None:
        if had_terminal and not _has_terminal():
            stop()
        else:
            reload()

    loop.add_signal_handler(signal.SIGHUP, came)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
