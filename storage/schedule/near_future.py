"""Which messages of a partition are due now, and which are soon: a bounded part of what is pending, in memory.

Whatever is pending below `horizon` is here, but for what is on its way to the partition's messages; the host reads what
comes next from the index, in time. Sans-IO: it is told what is committed in the schedule log, in order, and what was
read; it never waits, and knows no clock.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from typing import NamedTuple

from storage.schedule.changes import (
    Added,
    Cancelled,
    Change,
    Fired,
    HandedOver,
    HandingOver,
    Moved,
    TakenBack,
)
from storage.schedule.entries import BEGINNING, END, Due, Key
from storage.schedule.schedule_settings import ScheduleSettings


class Wanted(NamedTuple):
    """What is to be read: pending messages from `since` on, that are due before `before_ms`, so many and no more."""

    since: Key
    before_ms: int
    messages_max: int
    bytes_max: int


IsHeld = Callable[[Due], bool]
"""Whether a message has to wait, though it is due; what is behind it does not."""


class NearFuture:
    """Of a partition, for one leader; empty at first, with everything beyond the horizon."""

    def __init__(self, settings: ScheduleSettings) -> None:
        self.horizon = BEGINNING
        self._settings = settings
        self._keys: list[Key] = []  # sorted; no two messages have the same
        self._near: dict[Key, Due] = {}
        self._key_of: dict[int, Key] = {}
        self._bytes = 0
        self._leaving: dict[int, Due] = {}  # on their way to the messages, until that is recorded
        self._elsewhere: set[int] = set()  # on their way to other partitions, until that is recorded
        self._changing: set[int] = set()  # on their way to be cancelled or moved

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def has_leaving(self) -> bool:
        """Whether something is on its way to the messages, and not recorded yet."""
        return bool(self._leaving)

    # --- what is committed -----------------------------------------------------------------------------------------

    def apply(self, changes: Iterable[Change], now_ms: int) -> None:
        """In the order of the log."""
        for offset, what in changes:
            match what:
                case Added():
                    self._added(Due(what.entry, what.record), now_ms)
                case Cancelled():
                    self._forget(what.id)
                case Moved():
                    self._moved(what, offset)
                case Fired():
                    for id_ in what.ids:
                        if self._leaving.pop(id_, None) is None:
                            self._remove(id_)
                case HandingOver():
                    self.hand_over(what.ids)
                case HandedOver():
                    self._elsewhere.difference_update(what.ids)
                case TakenBack():
                    self._elsewhere.difference_update(what.ids)
                    self._cut(BEGINNING)

    def _added(self, due: Due, now_ms: int) -> None:
        id_, key = due.entry.id, due.entry.key
        if self._is_known(id_):  # it was written anew, and is the same
            return
        if key >= self.horizon:
            return
        if due.entry.due_ms > now_ms + self._settings.near_window_ms:
            self._cut(key)
        else:
            self._put(due)

    def _moved(self, moved: Moved, order: int) -> None:
        due = self._remove(moved.id)
        key = Key(moved.due_ms, order)
        if key >= self.horizon:
            return
        if due is None:  # it is on disk only: to be read
            self._cut(key)
        else:
            self._put(Due(due.entry._replace(due_ms=moved.due_ms, order=order), due.record))

    def _forget(self, id_: int) -> None:
        self._remove(id_)
        self._leaving.pop(id_, None)

    # --- what was read ---------------------------------------------------------------------------------------------

    def wanted(self, now_ms: int) -> Wanted | None:
        """What is to be read now, if anything."""
        settings = self._settings
        read_at_ms = self.next_read()
        if read_at_ms is None or read_at_ms > now_ms:
            return None
        return Wanted(
            self.horizon,
            now_ms + settings.near_window_ms,
            settings.near_messages_max - len(self._keys),
            settings.near_bytes_max - self._bytes,
        )

    def loaded(self, found: Iterable[Due], since: Key, horizon: Key) -> bool:
        """All that is pending from `since` up to this horizon; nothing was applied meanwhile. False: the present one is
        not `since` any more, as something that was given back took its room, and nothing was taken over."""
        if self.horizon != since:
            return False
        self.horizon = horizon
        for due in found:
            if due.entry.key >= self.horizon:
                continue  # there is no room for it, nor for one that has to wait for it
            if not self._is_known(due.entry.id):
                self._put(due)
        return True

    def _is_known(self, id_: int) -> bool:
        return id_ in self._leaving or id_ in self._key_of or id_ in self._elsewhere

    # --- what is decided -------------------------------------------------------------------------------------------

    def take_due(self, now_ms: int, is_held: IsHeld | None = None) -> list[Due]:
        """What is to be appended to the messages now, in order, as much as goes into one batch. It is on its way until
        `apply` says that it is recorded, or until it is given back."""
        taken: list[Due] = []
        size_bytes = 0
        for key in self._keys:
            if key.due_ms > now_ms or len(taken) >= self._settings.due_messages_max:
                break
            due = self._near[key]
            if due.entry.id in self._changing or (is_held is not None and is_held(due)):
                continue
            size_bytes += due.entry.size_bytes
            if taken and size_bytes > self._settings.due_bytes_max:
                break
            taken.append(due)
        if taken and self._keys[len(taken) - 1] == taken[-1].entry.key:  # nothing in between is being changed
            del self._keys[: len(taken)]
            for due in taken:
                del self._near[self._key_of.pop(due.entry.id)]
                self._bytes -= due.entry.size_bytes
        else:
            for due in taken:
                self._remove(due.entry.id)
        self._leaving.update((due.entry.id, due) for due in taken)
        return taken

    def give_back(self, taken: Iterable[Due]) -> None:
        """They were not appended, for sure."""
        for due in taken:
            if self._leaving.pop(due.entry.id, None) is not None and due.entry.key < self.horizon:
                self._put(due)

    def leave(self, ids: Iterable[int]) -> None:
        """They are among the messages already, as was found there, and it will be recorded."""
        for id_ in ids:
            due = self._remove(id_)
            if due is not None:
                self._leaving[id_] = due

    def hand_over(self, ids: Iterable[int]) -> None:
        """They are on their way to another partition, as the log says; it will say when they are there."""
        for id_ in ids:
            self._leaving.pop(id_, None)
            self._elsewhere.add(id_)

    def begin_change(self, id_: int) -> bool:
        """Whether it may be cancelled or moved: it is not on its way to the messages, or to another partition, and will
        not be before `end_change`."""
        if id_ in self._leaving or id_ in self._elsewhere:
            return False
        self._changing.add(id_)
        return True

    def end_change(self, id_: int) -> None:
        self._changing.discard(id_)

    def next_due(self, is_held: IsHeld | None = None) -> int | None:
        """When there is something to append, by the wall clock; None while nothing is due soon."""
        for key in self._keys:
            due = self._near[key]
            if due.entry.id not in self._changing and (is_held is None or not is_held(due)):
                return key.due_ms
        return None

    def next_read(self) -> int | None:
        """When there is something to read; None while there is no room for it, or nothing."""
        settings = self._settings
        has_room = 2 * len(self._keys) <= settings.near_messages_max and 2 * self._bytes <= settings.near_bytes_max
        return self.horizon.due_ms - settings.look_ahead_ms if has_room and self.horizon != END else None

    # --- pieces ----------------------------------------------------------------------------------------------------

    def _put(self, due: Due) -> None:
        key = due.entry.key
        insort(self._keys, key)
        self._near[key] = due
        self._key_of[due.entry.id] = key
        self._bytes += due.entry.size_bytes
        settings = self._settings
        while len(self._keys) > 1 and (
            len(self._keys) > settings.near_messages_max or self._bytes > settings.near_bytes_max
        ):
            self._cut(self._keys[-1])

    def _cut(self, horizon: Key) -> None:
        """What is not below `horizon` is left to the disk."""
        self.horizon = min(self.horizon, horizon)
        while self._keys and self._keys[-1] >= self.horizon:
            self._remove(self._near[self._keys[-1]].entry.id)

    def _remove(self, id_: int) -> Due | None:
        key = self._key_of.pop(id_, None)
        if key is None:
            return None
        del self._keys[bisect_left(self._keys, key)]
        due = self._near.pop(key)
        self._bytes -= due.entry.size_bytes
        return due

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        assert self._keys == sorted(set(self._keys))
        assert set(self._keys) == set(self._near) == set(self._key_of.values())
        assert all(key < self.horizon for key in self._keys)
        assert self._bytes == sum(due.entry.size_bytes for due in self._near.values())
        assert len(self._keys) <= self._settings.near_messages_max
        assert not self._leaving.keys() & self._key_of.keys()
        assert not self._elsewhere & (self._leaving.keys() | self._key_of.keys())
