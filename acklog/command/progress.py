"""How far a command has come: the port, and the one that says nothing."""

from typing import Protocol


class Progress(Protocol):
    """Counts what is done. `describe` changes the words before the bar."""

    def advance(self, count: int = 1) -> None: ...

    def describe(self, text: str) -> None: ...


class SilentProgress:
    """For pipes, files and --quiet."""

    def advance(self, count: int = 1) -> None:
        return

    def describe(self, text: str) -> None:
        return
