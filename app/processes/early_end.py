"""A process that somebody wants to end before it serves: while its modules are loaded, while it waits for etcd, while
it recovers what it has on disk. Nothing is lost by it: a start may be killed at any time.

As the first process of a container it gets no signal that it does not handle: the kernel spares that one. So there is
always somebody who does, from the first line on.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGINT)


class EndedEarlyError(Exception):
    """The text says by which signal."""

    def __init__(self, number: int) -> None:
        super().__init__(f"{signal.Signals(number).name} came before it served: it has ended")


@contextmanager
def ending_at_signals() -> Iterator[None]:
    """Raises EndedEarlyError where one comes, until an event loop heeds them (`on_ending_signals`). SIGHUP, which asks
    for a reload once there is something to reload, means nothing before. On the main thread."""
    before = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    on_ending_signals(_end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def on_ending_signals(end: Callable[[int], None]) -> None:
    def came(number: int, _frame: FrameType | None) -> None:
        end(number)

    for number in ENDING:
        signal.signal(number, came)


def _end(number: int) -> None:
    raise EndedEarlyError(number)
