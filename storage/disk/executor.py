"""The port through which the event loop runs blocking disk work."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

_Result = TypeVar("_Result")

Then = Callable[[Any, BaseException | None], None]
"""What a call's result is given to, or None and what it raised."""


class IoExecutor(Protocol):
    """Runs functions off the event loop: in threads for real, after a virtual delay in a simulation."""

    async def run(self, function: Callable[[], _Result]) -> _Result: ...

    def start(self, function: Callable[[], object], then: Then) -> None:
        """As `run`, for a caller that does not wait: `then` is called on the event loop, in the very turn in which
        the news arrives there."""
        ...

    def close(self) -> None: ...
