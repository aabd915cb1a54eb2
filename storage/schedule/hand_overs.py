"""Messages of a partition's schedule that go to other partitions' schedules, and those that come from there: each once.
Sans-IO: told what is committed in the schedule log.

Whoever hands over notes which messages, and under which number, before anything leaves it; so who leads after it asks
the same again. Whoever takes over notes the number together with the messages: both or neither. Numbers to a partition
only rise, and one hand-over at a time is under way to it, so one that comes late is known by its number, whenever it
comes: nobody has to remember messages, and no window of time is involved.
"""

from collections.abc import Iterable
from itertools import count

from storage.schedule.changes import (
    Adopted,
    AdoptedBefore,
    Change,
    HandedOver,
    HandingOver,
    TakenBack,
    adoption_of,
)
from storage.schedule.entries import AdoptionEntry, HandOverEntry


class HandOvers:
    """From a partition, by one leader."""

    def __init__(self, leader_epoch: int) -> None:
        self._leader_epoch = leader_epoch
        self._numbers = count(1)
        self._busy: set[int] = set()

    def restore(self, entries: Iterable[HandOverEntry]) -> None:
        """What the leaders before have begun, and is not over."""
        self._busy.update(entry.partition for entry in entries)

    def is_busy(self, partition: int) -> bool:
        """Whether one is under way to it: the next one waits."""
        return partition in self._busy

    def begin(self, partition: int, ids: list[int]) -> HandingOver:
        """To be noted, and only then done. It is under way until `apply` says that it is over, or it is given up."""
        assert partition not in self._busy
        self._busy.add(partition)
        return HandingOver(partition, self._leader_epoch, next(self._numbers), ids)

    def give_up(self, partition: int) -> None:
        """It was not noted, for sure."""
        self._busy.discard(partition)

    def apply(self, changes: Iterable[Change]) -> None:
        for _, what in changes:
            if isinstance(what, HandedOver | TakenBack):
                self._busy.discard(what.partition)


class Adoptions:
    """To a partition: the last hand-over from each other one."""

    def __init__(self) -> None:
        self._last: dict[int, AdoptionEntry] = {}

    def restore(self, entries: Iterable[AdoptionEntry]) -> None:
        """What the log says, before anything else is told."""
        self._last = {entry.origin: entry for entry in entries}

    def last_of(self, origin: int) -> AdoptionEntry | None:
        return self._last.get(origin)

    def is_new(self, origin: int, epoch: int, number: int) -> bool:
        """Whether it came after all that are known."""
        last = self._last.get(origin)
        return last is None or (last.epoch, last.number) < (epoch, number)

    def apply(self, changes: Iterable[Change]) -> None:
        """In the order of the log."""
        for offset, what in changes:
            if isinstance(what, Adopted | AdoptedBefore) and self.is_new(what.origin, what.epoch, what.number):
                self._last[what.origin] = adoption_of(what, offset)

    def notes_anew(self) -> list[AdoptedBefore]:
        """All that has to be remembered."""
        return [
            AdoptedBefore(each.origin, each.epoch, each.number, each.at_epoch, each.offset)
            for each in self._last.values()
        ]
