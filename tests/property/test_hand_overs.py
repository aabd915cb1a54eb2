"""Messages that move between the schedules of a topic's partitions, against a model that knows where each is.

Partitions hear of changes of the topic at their own pace; leaders die between any two steps; what one asks another
comes late, comes again, or is answered to nobody. Whatever happens each message is among the messages once at most, and
never elsewhere than where its sender wants it; and when all is well all of them are where their keys belong.
"""

from collections import Counter
from typing import NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from acklog.wire.batch import encode_batch, read_header, stamp
from acklog.wire.identifiers import ScheduleId
from acklog.wire.record import Record, Schedule
from cluster.model.values import Topic
from storage.schedule.changes import (
    Added,
    Adopted,
    Fired,
    HandedOver,
    HandingOver,
    Note,
    TakenBack,
    changes_of,
    encode_notes,
)
from storage.schedule.entries import BEGINNING, END, HandOverEntry, ScheduledEntry
from storage.schedule.hand_overs import Adoptions, HandOvers
from storage.schedule.memory_index import MemoryScheduleIndex
from storage.schedule.places import ANYWHERE, place_of

PARTITIONS_MAX = 5
BATCH_MAX = 3


class Asked(NamedTuple):
    target: int
    origin: int
    epoch: int
    number: int
    mapping: int
    records: tuple[Record, ...]


class Schedules:
    """One partition's log and index, and the machines of whoever leads it."""

    def __init__(self, topic: Topic, number: int) -> None:
        self.topic = topic
        self.number = number
        self.epoch = 1
        self.end = 0
        self.index = MemoryScheduleIndex()
        self.records: dict[int, Record] = {}
        self.messages: list[str] = []
        self.begin_leading()

    def begin_leading(self) -> None:
        self.hand_overs, self.adoptions = HandOvers(self.epoch), Adoptions()
        self.hand_overs.restore(self.index.hand_overs())
        self.adoptions.restore(self.index.adoptions())

    def commit(self, *notes: Note) -> None:
        self._append(encode_notes(list(notes)))

    def schedule(self, record: Record) -> None:
        self._append(encode_batch([record]))

    def _append(self, batch: bytearray) -> None:
        stamp(batch, base_offset=self.end, leader_epoch=self.epoch, append_time_ms=0)
        header = read_header(batch)
        changes = list(changes_of(header, batch))
        self.end = header.next_offset
        for change in changes:
            if isinstance(change.what, Added):
                self.records[change.what.entry.id] = change.what.record
        self.index.apply(changes, applied=self.end, applied_epoch=self.epoch)
        self.hand_overs.apply(changes)
        self.adoptions.apply(changes)

    def pending(self) -> list[ScheduledEntry]:
        return self.index.after(BEGINNING, before_ms=END.due_ms, limit=1000)

    def free(self) -> list[ScheduledEntry]:
        """What nothing is decided about."""
        away = {id_ for each in self.index.hand_overs() for id_ in each.ids}
        return [entry for entry in self.pending() if entry.id not in away]

    def named(self, entry: ScheduledEntry) -> Record:
        record = self.records[entry.id]
        when = record.schedule or Schedule()
        name = when.id or str(ScheduleId(self.topic.id, self.number, entry.epoch, entry.id))
        return Record(record.body, record.key, schedule=Schedule(entry.due_ms, id=name, is_bound=when.is_bound))


class Model(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.topic = Topic("0123456789abc", "orders", 1, 1, 0)
        self.parts = [Schedules(self.topic, 0)]
        self.asked: list[Asked] = []
        self.sent: dict[str, tuple[str | None, int]] = {}
        """Of each message the key, and the partition that its sender chose (-1: none)."""

    @rule(key=st.none() | st.sampled_from("abcdef"), is_bound=st.booleans(), place=st.integers(0, 9))
    def send(self, key: str | None, is_bound: bool, place: int) -> None:
        uid = f"m{len(self.sent)}"
        record = Record(uid.encode(), key, schedule=Schedule(delay_ms=5, is_bound=is_bound))
        proper = place_of(record, self.topic)
        number = place % len(self.parts) if proper == ANYWHERE else proper
        self.sent[uid] = (key, number if is_bound and key is not None else -1)
        self.parts[number].schedule(record)

    @precondition(lambda self: len(self.parts) < PARTITIONS_MAX)
    @rule()
    def grow(self) -> None:
        partitions = len(self.parts) + 1
        self.topic = replace(self.topic, partitions=partitions, mapping=self.topic.mapping + 1)
        self.parts.append(Schedules(self.topic, partitions - 1))

    @rule(number=st.integers(0, 9))
    def decommission(self, number: int) -> None:
        number %= len(self.parts)
        gone = tuple(sorted({*self.topic.decommissioned, number}))
        if len(gone) < len(self.parts):
            self.topic = replace(self.topic, decommissioned=gone, mapping=self.topic.mapping + 1)

    @rule(number=st.integers(0, 9))
    def hear(self, number: int) -> None:
        self.parts[number % len(self.parts)].topic = self.topic

    @rule(number=st.integers(0, 9), steps=st.integers(1, 3))
    def take(self, number: int, steps: int) -> None:
        """What is due there, batch by batch; after so few steps its leader dies."""
        part = self.parts[number % len(self.parts)]
        for target, entries in self.shares(part).items():
            if target in {part.number, ANYWHERE}:
                if part.topic.mapping == self.topic.mapping or target == ANYWHERE:  # else the gate refuses it
                    self.fire(part, entries)
            elif not part.hand_overs.is_busy(target):
                note = part.hand_overs.begin(target, [entry.id for entry in entries])
                if steps == 1:
                    part.hand_overs.give_up(target)
                    return
                part.commit(note)
                self.ask(part, HandOverEntry(target, note.epoch, note.number, note.ids))
        if steps == 2:
            self.die(part.number)

    def shares(self, part: Schedules) -> dict[int, list[ScheduledEntry]]:
        found: dict[int, list[ScheduledEntry]] = {}
        for entry in part.free():
            some = found.setdefault(place_of(part.records[entry.id], part.topic), [])
            if len(some) < BATCH_MAX:
                some.append(entry)
        return found

    def fire(self, part: Schedules, entries: list[ScheduledEntry]) -> None:
        offset = len(part.messages)
        part.messages += [part.records[entry.id].body.decode() for entry in entries]
        part.commit(Fired([entry.id for entry in entries], offset, part.epoch))

    def ask(self, part: Schedules, entry: HandOverEntry) -> None:
        found = [part.index.find(id_) for id_ in entry.ids]
        records = tuple(part.named(each) for each in found if isinstance(each, ScheduledEntry))
        assert len(records) == len(entry.ids)
        self.asked.append(Asked(entry.partition, part.number, entry.epoch, entry.number, part.topic.mapping, records))

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), is_heard=st.booleans())
    def answer(self, data: st.DataObject, is_heard: bool) -> None:
        """Any that was ever asked, whatever came of it."""
        asked = data.draw(st.sampled_from(self.asked))
        self.adopt(asked, is_heard=is_heard)

    def adopt(self, asked: Asked, *, is_heard: bool) -> None:
        part, origin = self.parts[asked.target], self.parts[asked.origin]
        if part.topic.mapping < asked.mapping:
            return
        if part.adoptions.is_new(asked.origin, asked.epoch, asked.number):
            part.commit(
                *(Adopted(asked.origin, asked.epoch, asked.number, part.epoch, 5, record) for record in asked.records)
            )
        last = part.adoptions.last_of(asked.origin)
        assert last is not None
        waiting = [each for each in origin.index.hand_overs() if each.partition == asked.target]
        if (last.epoch, last.number) != (asked.epoch, asked.number) or not is_heard or not waiting:
            return
        [entry] = waiting
        if (entry.epoch, entry.number) == (asked.epoch, asked.number):
            origin.commit(HandedOver(entry.partition, entry.ids, last.offset, last.at_epoch))
            for at, id_ in enumerate(entry.ids):
                there = part.index.find(last.offset + at)
                assert there is not None, f"{id_} is not where it went"

    @rule(number=st.integers(0, 9))
    def die(self, number: int) -> None:
        """Another one leads, and asks again what was under way."""
        part = self.parts[number % len(self.parts)]
        part.epoch += 1
        part.begin_leading()
        for entry in part.index.hand_overs():
            assert part.hand_overs.is_busy(entry.partition)
            self.ask(part, entry)

    @rule(number=st.integers(0, 9))
    def shorten_log(self, number: int) -> None:
        """What is over is forgotten; what has to be remembered is written anew before."""
        part = self.parts[number % len(self.parts)]
        pending = [entry.position for entry in part.pending()]
        end = min(pending, default=part.end)
        if notes := part.adoptions.notes_anew():
            part.commit(*notes)
        part.index.forget_settled(end)

    @invariant()
    def each_is_where_it_belongs_and_once(self) -> None:
        if not hasattr(self, "parts"):
            return
        fired = Counter(uid for part in self.parts for uid in part.messages)
        assert max(fired.values(), default=1) == 1, "twice"
        for part in self.parts:
            for uid in part.messages:
                assert self.sent[uid][1] in {-1, part.number}, "its sender chose another partition"

    def teardown(self) -> None:
        """All is well: in a few rounds everything is where it belongs."""
        if not hasattr(self, "parts"):
            return
        for _ in range(3 * len(self.sent) + 3 * PARTITIONS_MAX):
            for part in self.parts:
                part.topic = self.topic
                before = len(part.messages)
                self.take(part.number, 3)
                for entry in part.index.hand_overs():
                    self.ask(part, entry)
                    self.adopt(self.asked[-1], is_heard=True)
                for uid in part.messages[before:]:
                    key, chosen = self.sent[uid]
                    proper = place_of(Record(b"", key), self.topic)
                    assert chosen >= 0 or proper in {ANYWHERE, part.number}, "not where its key belongs"
        assert sorted(uid for part in self.parts for uid in part.messages) == sorted(self.sent), "lost"


TestModel = Model.TestCase
TestModel.settings = settings(
    max_examples=100, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_what_was_under_way_to_a_partition_that_is_gone_is_pending_again() -> None:
    part = Schedules(Topic("0123456789abc", "orders", 1, 1, 0), 0)
    part.schedule(Record(b"x", "a", schedule=Schedule(delay_ms=5)))
    part.commit(HandingOver(1, 1, 1, [0]))
    assert part.free() == []
    part.commit(TakenBack(1, [0]))
    part.begin_leading()
    assert [entry.id for entry in part.free()] == [0]
    assert not part.hand_overs.is_busy(1)
