"""A process that somebody wants to end before it serves: while its modules are loaded, while it waits for etcd, while
it recovers what it has on disk. Nothing is lost by it: a start may be killed at any time.

As the first process of a container it gets no signal that it does not handle: the kernel spares that one. So there is
always somebody who does, from the first line on (`acklog.command.early_end`) until the process is gone.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from acklog.command.early_end import ENDING, early_end_text, end_at_signals, end_now, ignore_signals


class EndedEarlyError(Exception):
    """The text says by which signal."""

    def __init__(self, number: int) -> None:
        super().__init__(early_end_text(number))


@contextmanager
def ending_at_signals() -> Iterator[None]:
    """A signal ends the process until an event loop heeds them (`on_ending_signals`). Behind it they mean nothing any
    more, if the process is the command's own, and else what they meant before. On the main thread."""
    before = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGHUP)}
    end_at_signals()
    try:
        yield
    finally:
        ignore_signals()
        if before[signal.SIGTERM] is not end_now:
            for number, handler in before.items():
                signal.signal(number, handler)


def on_ending_signals(end: Callable[[int], None]) -> None:
    def came(number: int, _frame: FrameType | None) -> None:
        end(number)

    for number in ENDING:
        signal.signal(number, came)
