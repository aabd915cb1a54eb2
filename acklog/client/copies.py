"""Backups and restores, without `await`. What it does stands with its twin in `async_copies`."""

from collections.abc import Callable

from acklog.client.async_copies import AsyncCopies
from acklog.client.background import Background
from acklog.client.call import Call, Result


class Copies:
    """`client.copies`."""

    def __init__(self, background: Background, twin: Callable[[], AsyncCopies]) -> None:
        self._run = background.run
        self._twin = twin

    def perform(self, call: Call[Result]) -> Result:
        """One of the calls of `acklog.client.copy_calls`. Raises AcklogError."""
        return self._run(lambda: self._twin().perform(call))
