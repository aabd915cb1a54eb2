"""The index of a schedule in memory: what a model of the one on disk looks like, and enough where there is no disk."""

from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from typing import TypeVar

from storage.log.keys import LogKey
from storage.schedule.changes import (
    Added,
    Adopted,
    AdoptedBefore,
    Cancelled,
    Change,
    Fired,
    HandedOver,
    HandingOver,
    LetGo,
    LostNotes,
    Moved,
    Passed,
    Recurred,
    TakenBack,
    adoption_of,
    first_name,
)
from storage.schedule.entries import (
    AdoptionEntry,
    HandOverEntry,
    Key,
    RecurringEntry,
    ScheduledEntry,
    SettledEntry,
)
from storage.schedule.schedule_index import IndexState, ScheduleIndex

_Result = TypeVar("_Result")


class MemoryScheduleIndex:
    """One partition's."""

    def __init__(self) -> None:
        self.state = IndexState(0)
        self._entries: dict[int, ScheduledEntry] = {}
        self._settled: dict[int, SettledEntry] = {}
        self._recurring: dict[str, RecurringEntry] = {}
        self._hand_overs: dict[int, HandOverEntry] = {}
        self._adoptions: dict[int, AdoptionEntry] = {}
        self._adopted: dict[str, int] = {}
        self._order: list[tuple[Key, int]] = []
        self._bytes = 0

    def apply(self, changes: Sequence[Change], *, applied: int, applied_epoch: int) -> None:
        messages_end, lost_end = self.state.messages_end, self.state.lost_end
        for offset, what in changes:
            match what:
                case Added():
                    self._remove(what.entry.id)
                    self._add(what.entry)
                    if name := first_name(what.record):
                        self._adopted[name] = what.entry.id
                case Cancelled():
                    self._settle(what.id, offset, -1, -1)
                case Moved():
                    entry = self._remove(what.id)
                    if entry is not None:
                        self._add(entry._replace(due_ms=what.due_ms, order=offset))
                case Fired():
                    for at, id_ in enumerate(what.ids, what.offset):
                        self._settle(id_, offset, at, what.epoch)
                    messages_end = what.offset + len(what.ids)
                case Passed():
                    messages_end = what.messages_end
                case Recurred() | LetGo():
                    self._recur(what, offset)
                case HandingOver():
                    self._hand_overs[what.partition] = HandOverEntry(what.partition, what.epoch, what.number, what.ids)
                case HandedOver():
                    self._hand_overs.pop(what.partition, None)
                    for at, id_ in enumerate(what.ids, what.offset):
                        self._settle(id_, offset, at, what.at_epoch, what.partition)
                case TakenBack():
                    self._hand_overs.pop(what.partition, None)
                case Adopted() | AdoptedBefore():
                    self._adopt(adoption_of(what, offset))
                case LostNotes():
                    lost_end = what.end
        self.state = IndexState(applied, applied_epoch, messages_end, len(self._entries), self._bytes, lost_end)

    def after(self, since: Key, *, before_ms: int, limit: int) -> list[ScheduledEntry]:
        at = bisect_left(self._order, (since, -1))
        return [self._entries[id_] for key, id_ in self._order[at : at + limit] if key.due_ms < before_ms]

    def find(self, id_: int) -> ScheduledEntry | SettledEntry | None:
        return self._entries.get(id_) or self._settled.get(id_)

    def oldest(self, limit: int) -> list[ScheduledEntry]:
        return sorted(self._entries.values(), key=lambda entry: entry.position)[:limit]

    def recurring(self) -> list[RecurringEntry]:
        return list(self._recurring.values())

    def hand_overs(self) -> list[HandOverEntry]:
        return list(self._hand_overs.values())

    def adoptions(self) -> list[AdoptionEntry]:
        return list(self._adoptions.values())

    def find_adopted(self, name: str) -> ScheduledEntry | None:
        return self._entries.get(self._adopted.get(name, -1))

    def forget_settled(self, log_start: int) -> None:
        self._adoptions = {at: each for at, each in self._adoptions.items() if each.position >= log_start}
        self._adopted = {name: id_ for name, id_ in self._adopted.items() if id_ >= log_start or id_ in self._entries}
        self._recurring = {id_: each for id_, each in self._recurring.items() if each.position >= log_start}
        self._settled = {id_: each for id_, each in self._settled.items() if each.position >= log_start}

    def clear(self, log_start: int) -> None:
        self._entries.clear()
        self._settled.clear()
        self._recurring.clear()
        self._hand_overs.clear()
        self._adoptions.clear()
        self._adopted.clear()
        self._order.clear()
        self._bytes = 0
        self.state = IndexState(log_start)

    def close(self) -> None:
        pass

    def _add(self, entry: ScheduledEntry) -> None:
        self._entries[entry.id] = entry
        self._bytes += entry.size_bytes
        insort(self._order, (entry.key, entry.id))

    def _remove(self, id_: int) -> ScheduledEntry | None:
        entry = self._entries.pop(id_, None)
        if entry is not None:
            self._bytes -= entry.size_bytes
            del self._order[bisect_left(self._order, (entry.key, id_))]
        return entry

    def _recur(self, what: Recurred | LetGo, position: int) -> None:
        _, due_ms, let_go_moves, _ = self._recurring.get(what.schedule_id, RecurringEntry("", -1, -1, -1))
        if isinstance(what, LetGo):
            let_go_moves = max(let_go_moves, what.moves)
        self._recurring[what.schedule_id] = RecurringEntry(
            what.schedule_id, max(due_ms, what.due_ms), let_go_moves, position
        )

    def _adopt(self, found: AdoptionEntry) -> None:
        known = self._adoptions.get(found.origin)
        if known is None or (known.epoch, known.number) < (found.epoch, found.number):
            self._adoptions[found.origin] = found
        elif known.offset == found.offset:
            self._adoptions[found.origin] = known._replace(position=max(known.position, found.position))

    def _settle(self, id_: int, position: int, message_offset: int, message_epoch: int, partition: int = -1) -> None:
        entry = self._remove(id_)
        if entry is not None:
            self._settled[id_] = SettledEntry(id_, entry.epoch, message_offset, message_epoch, position, partition)


class MemoryScheduleIndexes:
    """Gone with the process, and made anew from the log by the next one."""

    async def run(self, call: Callable[[], _Result]) -> _Result:
        return call()

    def open(self, key: LogKey) -> ScheduleIndex:
        return MemoryScheduleIndex()

    def remove(self, key: LogKey) -> None:
        pass


IN_MEMORY = MemoryScheduleIndexes()
