"""`acklog serve` in whose event loop a task of the test's notes how long it is kept waiting.

`python -m tests.support.watched_server serve ...`: every time that the loop was held for longer than NOTED_SECONDS a
line with the monotonic time and the seconds is added to the file that STALLS_VARIABLE names.
"""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import uvloop

STALLS_VARIABLE = "STALLS_FILE"  # not ACKLOG_...: that is for the server's own settings
NOTED_SECONDS = 0.01
_TICK_SECONDS = 0.002


def stalls_since(path: Path, begin: float) -> list[float]:
    """Seconds of each stall that ended after `begin` of the monotonic clock."""
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    pairs = [line.split() for line in lines]
    return [float(seconds) for at, seconds in pairs if float(at) >= begin]


async def _watch(file: int) -> None:
    """Held is what the process worked while the task was not called: where others have the processor it did not."""
    while True:
        begin, worked = time.monotonic(), time.process_time()
        await asyncio.sleep(_TICK_SECONDS)
        held = min(time.monotonic() - begin, time.process_time() - worked)
        if held > NOTED_SECONDS:
            os.write(file, f"{time.monotonic():.4f} {held:.4f}\n".encode())


def _watched(new_event_loop: Callable[[], asyncio.AbstractEventLoop], file: int) -> asyncio.AbstractEventLoop:
    loop = new_event_loop()
    watching: list[asyncio.Task[None]] = []  # or it would be collected
    loop.call_soon(lambda: watching.append(loop.create_task(_watch(file))))
    return loop


def main() -> None:
    file = os.open(os.environ[STALLS_VARIABLE], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    new_event_loop = uvloop.new_event_loop
    uvloop.new_event_loop = lambda: _watched(new_event_loop, file)
    from acklog.command.program import main as command

    command()


if __name__ == "__main__":
    main()
