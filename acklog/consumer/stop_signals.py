"""SIGTERM and SIGINT as a request to end well. A second signal does what it always does."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_on_signals_of_loop(
    loop: asyncio.AbstractEventLoop, stop: Callable[[], None], *, signals: Sequence[signal.Signals] = STOP_SIGNALS
) -> Iterator[None]:
    """Have the loop call `stop` at the first of the `signals`. Does nothing where a loop takes no signals: in another
    thread than the main one, and on Windows."""
    added: list[signal.Signals] = []

    def remove() -> None:
        while added:
            with suppress(ValueError, RuntimeError):
                loop.remove_signal_handler(added.pop())

    def stop_once() -> None:
        remove()
        stop()

    try:
        for number in signals:
            loop.add_signal_handler(number, stop_once)
            added.append(number)
    except (ValueError, RuntimeError, NotImplementedError):
        remove()
    try:
        yield
    finally:
        remove()


@contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first signal, in the main thread between two steps of whatever it does: `stop` must take no
    lock. Does nothing in other threads."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.getsignal(number) for number in STOP_SIGNALS}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    def stop_once(_number: int, _frame: FrameType | None) -> None:
        restore()
        stop()

    for number in STOP_SIGNALS:
        signal.signal(number, stop_once)
    try:
        yield
    finally:
        restore()
