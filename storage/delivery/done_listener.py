"""What a group's state tells its selection, and asks it."""

from collections.abc import Sequence
from typing import Protocol


class DoneListener(Protocol):
    """Who keeps something of messages that are not done: the group's selection."""

    def behind(self, offset: int) -> Sequence[int]:
        """What is out and may not be with anybody once this one has come back: it waits until this one is done."""
        ...

    def before(self, offset: int) -> Sequence[int]:
        """What is out and has to be done before this one."""
        ...

    def may_revive(self) -> bool:
        """Whether a lease that ran out can be taken up again by whoever had it."""
        ...

    def done(self, start: int, end: int) -> None:
        """These are done just now."""
        ...

    def forget(self) -> None:
        """Nothing of before is true."""
        ...
