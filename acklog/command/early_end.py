"""Signals to a server's command that come before anything is there which could heed them, or after.

Of what the command imports this comes first, so it imports next to nothing itself: until it has begun a signal ends the
process as it ends any, and the first process of a container does not even get it. (The kernel spares that one what it
does not handle.) An end before a server serves costs nothing: a start may be killed at any time.
"""

import os
import signal
from collections.abc import Sequence
from types import FrameType

SERVERS = frozenset({"serve", "node", "gateway"})
ENDING = (signal.SIGTERM, signal.SIGINT)


def is_a_server(arguments: Sequence[str]) -> bool:
    """Whether this command line runs one. (With options before the command's name only `serve` itself finds it out.)"""
    return bool(arguments) and arguments[0] in SERVERS


def end_at_signals() -> None:
    """SIGTERM and SIGINT end the process from now on, with a line and the exit code 0; SIGHUP, which asks for a reload
    once there is something to reload, means nothing. On the main thread."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    for number in ENDING:
        signal.signal(number, end_now)


def end_now(number: int, _frame: FrameType | None) -> None:
    """A handler. It raises nothing: imports may be under way, and who imports may go on after any exception."""
    try:
        os.write(2, f"acklog: {early_end_text(number)}.\n".encode())
    finally:
        os._exit(0)


def early_end_text(number: int) -> str:
    return f"{signal.Signals(number).name} came before it served: it has ended"


def ignore_signals() -> None:
    """Who ends already need not be told, and is not to be killed in its last moments, which would look like a failure.
    Python's own end leaves this as it is, where it takes handlers away."""
    for number in (signal.SIGHUP, *ENDING):
        signal.signal(number, signal.SIG_IGN)
