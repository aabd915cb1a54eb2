"""Long computations on the event loop, a step at a time.

Parsing 16 MiB takes a second in the worst case. In a thread it would hold up the loop as well, since C code keeps the
interpreter for as long as a call lasts. So such work is a generator that yields after every few milliseconds of it, and
others get their turn between two steps. The steps of several such requests alternate, one per turn of the loop, however
many there are.
"""

import asyncio
from collections.abc import Generator
from typing import TypeVar

_Result = TypeVar("_Result")

Steps = Generator[None, None, _Result]


class Turns:
    """One for all requests of a process. Who waits here is bounded by the allowance for request bodies."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()

    async def take(self, steps: Steps[_Result]) -> _Result:
        """What the generator returns; raises what it raises."""
        result: _Result
        try:
            next(steps)  # most are done with it
        except StopIteration as end:
            result = end.value
            return result
        while True:
            async with self._one_at_a_time:
                await asyncio.sleep(0)
                try:
                    next(steps)
                except StopIteration as end:
                    result = end.value
                    return result


def at_once(steps: Steps[_Result]) -> _Result:
    """The same result without letting anybody between: for what is small."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: _Result = end.value
            return result
