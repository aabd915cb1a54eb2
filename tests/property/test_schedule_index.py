"""The index on disk answers as the one in memory does, whatever it is told, and over a new opening."""

import sqlite3
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from acklog.wire.record import Record, Schedule
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.node.schedule.sqlite_schedule_indexes import SqliteScheduleIndexes
from storage.schedule.changes import (
    Added,
    Adopted,
    AdoptedBefore,
    Cancelled,
    Change,
    Fired,
    HandedOver,
    HandingOver,
    LostNotes,
    Moved,
    Passed,
    TakenBack,
)
from storage.schedule.entries import BEGINNING, END, ScheduledEntry, SettledEntry
from storage.schedule.memory_index import MemoryScheduleIndex
from tests.sim.inline_executor import InlineExecutor

KEY = LogKey("topic", 3, LogKind.SCHEDULE)
STEPS = st.tuples(
    st.sampled_from(
        [
            "add",
            "add",
            "cancel",
            "move",
            "fire",
            "pass",
            "lost",
            "again",
            "leave",
            "went",
            "back",
            "come",
            "come",
            "note",
        ]
    ),
    st.integers(0, 30),
    st.integers(0, 50),
)


def changes_of(steps: list[tuple[str, int, int]]) -> list[Change]:
    changes = []
    entries: dict[int, ScheduledEntry] = {}
    for offset, (kind, number, due) in enumerate(steps):
        id_ = sorted(entries)[number % len(entries)] if entries else -1
        if kind == "add" or id_ < 0:
            entries[offset] = ScheduledEntry(offset, 2, due, offset, offset, due + 1)
            changes.append(Change(offset, Added(entries[offset], Record(b""))))
        elif kind == "cancel":
            changes.append(Change(offset, Cancelled(id_)))
        elif kind == "move":
            entries[id_] = entries[id_]._replace(due_ms=due, order=offset)
            changes.append(Change(offset, Moved(id_, due)))
        elif kind == "fire":
            changes.append(Change(offset, Fired([id_], 100 + offset, 2)))
        elif kind == "pass":
            changes.append(Change(offset, Passed(due)))
        elif kind == "leave":
            changes.append(Change(offset, HandingOver(due % 3, 2, offset, [id_])))
        elif kind == "went":
            changes.append(Change(offset, HandedOver(due % 3, [id_], 200 + offset, 4)))
        elif kind == "back":
            changes.append(Change(offset, TakenBack(due % 3, [])))
        elif kind == "come":
            record = Record(b"", schedule=Schedule(due, id=f"s-{number}"))
            changes.append(Change(offset, Adopted(due % 3, 1, number, 2, due, record)))
            entries[offset] = ScheduledEntry(offset, 2, due, offset, offset, due + 1)
            changes.append(Change(offset, Added(entries[offset], record)))
        elif kind == "note":
            changes.append(Change(offset, AdoptedBefore(due % 3, 1, number, 2, due)))
        elif kind == "lost":
            changes.append(Change(offset, LostNotes(offset + 1)))
        else:
            changes.append(Change(offset, Added(entries[id_]._replace(position=offset), Record(b""))))
        if kind in {"cancel", "fire", "went"}:
            entries.pop(id_, None)
    return changes


@settings(max_examples=100, deadline=None)
@given(st.lists(STEPS, max_size=40), st.integers(1, 7))
def test_it_answers_as_the_model(tmp_path_factory: object, steps: list[tuple[str, int, int]], at_once: int) -> None:
    directory: Path = tmp_path_factory.mktemp("index")  # type: ignore[attr-defined]
    model, indexes = MemoryScheduleIndex(), SqliteScheduleIndexes(str(directory / "schedules"), InlineExecutor())
    changes = changes_of(steps)
    for at in range(0, len(changes), at_once):
        index = indexes.open(KEY)
        some = changes[at : at + at_once]
        for each in (model, index):
            each.apply(some, applied=some[-1].offset + 1, applied_epoch=2)
        assert index.state == model.state
        index.close()
    index = indexes.open(KEY)
    assert index.state == model.state
    for since in (BEGINNING, *(entry.key for entry in model.after(BEGINNING, before_ms=END.due_ms, limit=100))):
        assert index.after(since, before_ms=40, limit=5) == model.after(since, before_ms=40, limit=5)
    assert index.oldest(5) == model.oldest(5)
    for id_ in range(len(changes)):
        assert index.find(id_) == model.find(id_)
    for log_start in (0, 20):
        index.forget_settled(log_start)
        model.forget_settled(log_start)
        assert sorted(index.hand_overs()) == sorted(model.hand_overs())
        assert sorted(index.adoptions()) == sorted(model.adoptions())
        for number in range(31):
            assert index.find_adopted(f"s-{number}") == model.find_adopted(f"s-{number}")
    assert [index.find(id_) for id_ in range(40)] == [model.find(id_) for id_ in range(40)]
    index.clear(7)
    assert index.state.applied == 7
    assert index.after(BEGINNING, before_ms=END.due_ms, limit=1) == []
    assert index.hand_overs() == index.adoptions() == []
    index.close()


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    indexes = SqliteScheduleIndexes(str(tmp_path), InlineExecutor())
    index = indexes.open(KEY)
    index.apply([Change(0, Added(ScheduledEntry(0, 1, 5, 0, 0, 1), Record(b"")))], applied=1, applied_epoch=1)
    index.apply([Change(1, Fired([0], 7, 3))], applied=2, applied_epoch=1)
    assert index.find(0) == SettledEntry(0, 1, 7, 3, 1)
    index.close()
    [path] = tmp_path.glob("*.sqlite")
    path.write_bytes(b"no database" * 1000)
    index = indexes.open(KEY)
    assert index.state.applied == 0
    index.close()
    indexes.remove(KEY)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_the_version_before_goes_on(tmp_path: Path) -> None:
    """Millions may be pending: it is not made anew for what it has never had."""
    indexes = SqliteScheduleIndexes(str(tmp_path), InlineExecutor())
    index = indexes.open(KEY)
    index.apply([Change(0, Added(ScheduledEntry(0, 1, 5, 0, 0, 1), Record(b"")))], applied=1, applied_epoch=1)
    index.apply([Change(1, Fired([0], 7, 3))], applied=2, applied_epoch=1)
    index.close()
    [path] = tmp_path.glob("*.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        for table in ("hand_overs", "adoptions", "adopted"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("ALTER TABLE settled DROP COLUMN partition")
        connection.execute("PRAGMA user_version = 2")
    for _ in range(2):
        index = indexes.open(KEY)
        assert index.state.applied == 2
        assert index.find(0) == SettledEntry(0, 1, 7, 3, 1)
        assert index.hand_overs() == index.adoptions() == []
        index.close()
