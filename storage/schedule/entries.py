"""What a partition's schedule knows of a message, beside the message itself."""

import sys
from typing import NamedTuple

from acklog.wire.record import Record


class Key(NamedTuple):
    """The order in which messages become visible: by time, those of the same time by `order`, the offset in the
    schedule log of whatever gave it that time."""

    due_ms: int
    order: int


BEGINNING = Key(-1, -1)
END = Key(sys.maxsize, sys.maxsize)


class ScheduledEntry(NamedTuple):
    """One that is pending. `id` is its first offset in the schedule log, which with `epoch` names it for ever;
    `position` is the offset at which the log has it now."""

    id: int
    epoch: int
    due_ms: int
    order: int
    position: int
    size_bytes: int

    @property
    def key(self) -> Key:
        return Key(self.due_ms, self.order)


class SettledEntry(NamedTuple):
    """One that is pending no more: it is at `message_offset` of the partition's messages, or (-1) was cancelled.
    `position` is where the schedule log says so.

    With `partition` (-1: not) it was handed over to that one's schedule: there `message_offset` and `message_epoch`
    name it."""

    id: int
    epoch: int
    message_offset: int
    message_epoch: int
    position: int
    partition: int = -1


class RecurringEntry(NamedTuple):
    """A recurring schedule is dealt with up to `due_ms`; with `let_go_moves` (-1: not) it was another partition's, see
    `storage.schedule.changes.LetGo`. `position` is where the schedule log says so."""

    id: str
    due_ms: int
    let_go_moves: int
    position: int


class HandOverEntry(NamedTuple):
    """Messages that are on their way to another partition, see `storage.schedule.changes.HandingOver`."""

    partition: int
    epoch: int
    number: int
    ids: list[int]


class AdoptionEntry(NamedTuple):
    """The last messages that were taken over from partition `origin`, see `storage.schedule.changes.Adopted`: here the
    first of them is named by `offset` and `at_epoch`. `position` is where the schedule log says so."""

    origin: int
    epoch: int
    number: int
    offset: int
    at_epoch: int
    position: int


class Due(NamedTuple):
    """A message, with what is known of it."""

    entry: ScheduledEntry
    record: Record
