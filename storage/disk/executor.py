"""The port through which the event loop runs blocking disk work."""

from collections.abc import Callable
from typing import Protocol, TypeVar

_Result = TypeVar("_Result")


class IoExecutor(Protocol):
    """Runs functions off the event loop: in threads for real, after a virtual delay in a simulation."""

    async def run(self, function: Callable[[], _Result]) -> _Result: ...

    def close(self) -> None: ...
