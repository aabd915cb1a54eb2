"""The port through which the coordination store runs blocking calls; storage's I/O executor fits it."""

from collections.abc import Callable
from typing import Protocol, TypeVar

_Result = TypeVar("_Result")


class BlockingCalls(Protocol):
    async def run(self, function: Callable[[], _Result]) -> _Result: ...
