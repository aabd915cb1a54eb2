"""The port behind which a replica keeps what is pending, in the order of time: derived from the committed part of the
schedule log and never an authority. Where it is not there, or damaged, it is made anew from the log.

Calls block, and come one at a time. Each raises IndexFailedError where the index cannot be used any more.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from storage.log.keys import LogKey
from storage.schedule.changes import Change
from storage.schedule.entries import (
    AdoptionEntry,
    HandOverEntry,
    Key,
    RecurringEntry,
    ScheduledEntry,
    SettledEntry,
)

_Result = TypeVar("_Result")

SCHEDULES_DIRECTORY = "schedules"
"""Where those on disk are, in a data directory."""


class IndexFailedError(Exception):
    """It has to be made anew."""


class IndexState(NamedTuple):
    """Everything below `applied` is in the index; the record before it is of `applied_epoch` (-1: there is none).
    `messages_end`: see `storage.schedule.changes.Passed`. `pending` counts entries, `pending_bytes` their messages.
    Something of the log up to `lost_end` could not be read (0: all could)."""

    applied: int
    applied_epoch: int = -1
    messages_end: int = 0
    pending: int = 0
    pending_bytes: int = 0
    lost_end: int = 0


class ScheduleIndex(Protocol):
    @property
    def state(self) -> IndexState: ...

    def apply(self, changes: Sequence[Change], *, applied: int, applied_epoch: int) -> None:
        """Take over what follows `state.applied`, all of it or nothing."""
        ...

    def after(self, since: Key, *, before_ms: int, limit: int) -> list[ScheduledEntry]:
        """Those from `since` on that are due before `before_ms`, in order."""
        ...

    def find(self, id_: int) -> ScheduledEntry | SettledEntry | None: ...

    def oldest(self, limit: int) -> list[ScheduledEntry]:
        """Those that stand first in the log, by position."""
        ...

    def recurring(self) -> list[RecurringEntry]:
        """What is known of recurring schedules, in no order."""
        ...

    def hand_overs(self) -> list[HandOverEntry]:
        """Those that are under way to other partitions, in no order."""
        ...

    def adoptions(self) -> list[AdoptionEntry]:
        """The last of each partition that some came from, in no order."""
        ...

    def find_adopted(self, name: str) -> ScheduledEntry | None:
        """The pending message that came from another partition, by the name that it was given first."""
        ...

    def forget_settled(self, log_start: int) -> None:
        """What the log below `log_start` said of messages that are settled, of recurring schedules, and of what came
        from other partitions, is not known any more."""
        ...

    def clear(self, log_start: int) -> None:
        """Nothing is known; the log begins at `log_start`."""
        ...

    def close(self) -> None: ...


class ScheduleIndexes(Protocol):
    """Of one node. `open` and `remove` block, as the calls of an index do: `run` is for all of them."""

    async def run(self, call: Callable[[], _Result]) -> _Result: ...

    def open(self, key: LogKey) -> ScheduleIndex: ...

    def remove(self, key: LogKey) -> None:
        """It need not be there, and must not be open."""
        ...
