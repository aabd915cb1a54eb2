"""The index of a schedule on disk: a file of SQLite per partition that has, or had, something scheduled.

What is taken over is one transaction, together with how far it goes. It need not be durable: what the machine forgets
when it loses power is taken over again from the log. A file that is damaged, or of another version, is made anew.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from storage.node.schedule.sqlite_hand_overs import HAND_OVER_KINDS, TABLES, SqliteHandOvers
from storage.schedule.changes import Added, Change, Fired, HandedOver, LetGo, LostNotes, Moved, Passed, Recurred
from storage.schedule.entries import (
    AdoptionEntry,
    HandOverEntry,
    Key,
    RecurringEntry,
    ScheduledEntry,
    SettledEntry,
)
from storage.schedule.schedule_index import IndexFailedError, IndexState

_FORMAT = 3
_FORMAT_WITHOUT_HAND_OVERS = 2
_CACHE_KIB = 512
_AT_ONCE = 500
_TABLES = f"""
CREATE TABLE IF NOT EXISTS pending (
    position INTEGER PRIMARY KEY, id INTEGER NOT NULL, epoch INTEGER NOT NULL, due_ms INTEGER NOT NULL,
    ord INTEGER NOT NULL, size_bytes INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS by_time ON pending (due_ms, ord);
CREATE UNIQUE INDEX IF NOT EXISTS written_anew ON pending (id) WHERE id <> position;
CREATE TABLE IF NOT EXISTS settled (
    id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, message_offset INTEGER NOT NULL, message_epoch INTEGER NOT NULL,
    position INTEGER NOT NULL, partition INTEGER NOT NULL DEFAULT -1
);
CREATE INDEX IF NOT EXISTS settled_by_position ON settled (position);
CREATE TABLE IF NOT EXISTS recurring (
    id TEXT PRIMARY KEY, due_ms INTEGER NOT NULL, let_go_moves INTEGER NOT NULL, position INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS state (
    applied INTEGER NOT NULL, applied_epoch INTEGER NOT NULL, messages_end INTEGER NOT NULL, pending INTEGER NOT NULL,
    pending_bytes INTEGER NOT NULL, lost_end INTEGER NOT NULL
);
{TABLES}
PRAGMA user_version = {_FORMAT};
"""
_INSERT_STATE = "INSERT INTO state VALUES (?, ?, ?, ?, ?, ?)"
_UPSERT_RECURRING = """
INSERT INTO recurring VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET due_ms = max(due_ms, excluded.due_ms),
let_go_moves = max(let_go_moves, excluded.let_go_moves), position = excluded.position
"""
_COLUMNS = "id, epoch, due_ms, ord, position, size_bytes"
# Nearly all stand where they first did: those are found by their position, the others by an index of their own.
_HERE, _ELSEWHERE = "position = id AND position = ?", "id <> position AND id = ?"

_Result = TypeVar("_Result")
_Settled = tuple[int, int, int, int, int]
"""Where a message is, as `SettledEntry` says: its offset and epoch, the place of the record, and the partition that it
was handed over to; and its id."""


class SqliteScheduleIndex:
    """One partition's. Its calls come one at a time, each on some I/O thread."""

    def __init__(self, path: Path) -> None:
        """For `storage.node.schedule.sqlite_schedule_indexes` only."""
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in {0, _FORMAT_WITHOUT_HAND_OVERS, _FORMAT}:
            raise IndexFailedError(f"it has the format {version}")
        if version == _FORMAT_WITHOUT_HAND_OVERS:
            self._connection.execute("ALTER TABLE settled ADD COLUMN partition INTEGER NOT NULL DEFAULT -1")
        self._connection.executescript(_TABLES)
        self._hand_overs = SqliteHandOvers(self._connection)
        row = self._connection.execute("SELECT * FROM state").fetchone()
        self.state = IndexState(0) if row is None else IndexState(*row)

    def apply(self, changes: Sequence[Change], *, applied: int, applied_epoch: int) -> None:
        with self._transaction() as execute:
            messages_end, lost_end = self.state.messages_end, self.state.lost_end
            pending, pending_bytes = self.state.pending, self.state.pending_bytes
            for kind, group in groupby(changes, key=lambda change: type(change.what)):
                run = list(group)
                if kind is Passed:
                    messages_end = run[-1].what.messages_end  # type: ignore[union-attr]
                    continue
                last = run[-1].what
                if kind is Recurred or kind is LetGo:
                    self._recur(run)
                    continue
                if kind in HAND_OVER_KINDS:
                    self._hand_overs.apply(run)
                    if kind is not HandedOver:
                        continue
                if isinstance(last, LostNotes):
                    lost_end = last.end
                    continue
                if isinstance(last, Fired):
                    messages_end = last.offset + len(last.ids)
                more, more_bytes = self._apply_run(kind, run)
                pending, pending_bytes = pending + more, pending_bytes + more_bytes
            state = IndexState(applied, applied_epoch, messages_end, pending, pending_bytes, lost_end)
            execute("DELETE FROM state")
            execute(_INSERT_STATE, state)
        self.state = state

    def _recur(self, run: list[Change]) -> None:
        rows = [
            (what.schedule_id, what.due_ms, what.moves if isinstance(what, LetGo) else -1, offset)
            for offset, what in run
            if isinstance(what, Recurred | LetGo)
        ]
        self._connection.executemany(_UPSERT_RECURRING, rows)

    def _apply_run(self, kind: type, run: list[Change]) -> tuple[int, int]:
        """How many entries there are more, and bytes of their messages, after changes of one kind."""
        if kind is Added:
            self._hand_overs.name(run)
            return self._add([change.what.entry for change in run])  # type: ignore[union-attr]
        count = size_bytes = 0
        for offset, what in run:
            if isinstance(what, Moved):
                self._connection.execute(
                    f"UPDATE pending SET due_ms = ?, ord = ? WHERE {self._where(what.id)}",
                    (what.due_ms, offset, what.id),
                )
                continue
            if isinstance(what, Fired):
                removed = self._settle(
                    [(what.offset + at, what.epoch, offset, -1, id_) for at, id_ in enumerate(what.ids)]
                )
            elif isinstance(what, HandedOver):
                removed = self._settle(
                    [(what.offset + at, what.at_epoch, offset, what.partition, id_) for at, id_ in enumerate(what.ids)]
                )
            else:
                removed = self._settle([(-1, -1, offset, -1, what.id)])  # type: ignore[union-attr]
            count, size_bytes = count - removed[0], size_bytes - removed[1]
        return count, size_bytes

    def _add(self, entries: list[ScheduledEntry]) -> tuple[int, int]:
        count = size_bytes = 0
        for is_anew, group in groupby(entries, key=lambda entry: entry.id != entry.position):
            run = list(group)
            for entry in run if is_anew else ():
                removed = self._remove(entry.id)
                if removed is not None:
                    count, size_bytes = count - 1, size_bytes - removed
            # One that stands twice in a run is counted by its last place: the others were removed by then.
            run = list({entry.id: entry for entry in run}.values())
            self._connection.executemany(f"INSERT INTO pending ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", run)
            count, size_bytes = count + len(run), size_bytes + sum(entry.size_bytes for entry in run)
        return count, size_bytes

    def _settle(self, settled: list[_Settled]) -> tuple[int, int]:
        """How many of them were pending, and bytes of their messages."""
        count = size_bytes = 0
        for begin in range(0, len(settled), _AT_ONCE):
            some = settled[begin : begin + _AT_ONCE]
            here, here_bytes = self._settle_here(some)
            count, size_bytes = count + len(here), size_bytes + here_bytes
            for each in some:
                if each[-1] in here:
                    continue
                self._connection.execute(
                    f"INSERT OR REPLACE INTO settled SELECT id, epoch, ?, ?, ?, ? FROM pending WHERE {_ELSEWHERE}",
                    each,
                )
                removed = self._remove(each[-1])
                if removed is not None:
                    count, size_bytes = count + 1, size_bytes + removed
        return count, size_bytes

    def _settle_here(self, some: list[_Settled]) -> tuple[set[int], int]:
        """Those that stand where they first did. In a few statements, whatever their number: each one's end takes the
        interpreter from the event loop for a moment."""
        ids = [each[-1] for each in some]
        places = ", ".join("?" * len(ids))
        where = f"position IN ({places}) AND id = position"
        sizes = dict(self._connection.execute(f"SELECT id, size_bytes FROM pending WHERE {where}", ids))
        rows = ", ".join(["(?, ?, ?, ?, ?)"] * len(some))
        self._connection.execute(
            f"WITH gone (message_offset, message_epoch, place, partition, id) AS (VALUES {rows}) "
            "INSERT OR REPLACE INTO settled "
            "SELECT pending.id, epoch, message_offset, message_epoch, place, partition FROM gone JOIN pending "
            "ON pending.position = gone.id AND pending.id = pending.position",
            [value for each in some for value in each],
        )
        self._connection.execute(f"DELETE FROM pending WHERE {where}", ids)
        return set(sizes), sum(sizes.values())

    def _remove(self, id_: int) -> int | None:
        found = self._connection.execute(
            f"DELETE FROM pending WHERE {self._where(id_)} RETURNING size_bytes", (id_,)
        ).fetchone()
        return None if found is None else int(found[0])

    def _where(self, id_: int) -> str:
        found = self._connection.execute(f"SELECT 1 FROM pending WHERE {_HERE}", (id_,)).fetchone()
        return _ELSEWHERE if found is None else _HERE

    def after(self, since: Key, *, before_ms: int, limit: int) -> list[ScheduledEntry]:
        return self._read(
            lambda: [
                ScheduledEntry(*row)
                for row in self._connection.execute(
                    f"SELECT {_COLUMNS} FROM pending WHERE (due_ms, ord) >= (?, ?) AND due_ms < ? "
                    "ORDER BY due_ms, ord LIMIT ?",
                    (*since, before_ms, limit),
                )
            ]
        )

    def find(self, id_: int) -> ScheduledEntry | SettledEntry | None:
        def find() -> ScheduledEntry | SettledEntry | None:
            sql = f"SELECT {_COLUMNS} FROM pending WHERE {self._where(id_)}"
            pending = self._connection.execute(sql, (id_,)).fetchone()
            if pending is not None:
                return ScheduledEntry(*pending)
            settled = self._connection.execute("SELECT * FROM settled WHERE id = ?", (id_,)).fetchone()
            return None if settled is None else SettledEntry(*settled)

        return self._read(find)

    def oldest(self, limit: int) -> list[ScheduledEntry]:
        sql = f"SELECT {_COLUMNS} FROM pending ORDER BY position LIMIT ?"
        return self._read(lambda: [ScheduledEntry(*row) for row in self._connection.execute(sql, (limit,))])

    def recurring(self) -> list[RecurringEntry]:
        return self._read(lambda: [RecurringEntry(*row) for row in self._connection.execute("SELECT * FROM recurring")])

    def hand_overs(self) -> list[HandOverEntry]:
        return self._read(self._hand_overs.under_way)

    def adoptions(self) -> list[AdoptionEntry]:
        return self._read(self._hand_overs.adoptions)

    def find_adopted(self, name: str) -> ScheduledEntry | None:
        id_ = self._read(lambda: self._hand_overs.id_of(name))
        found = None if id_ is None else self.find(id_)
        return found if isinstance(found, ScheduledEntry) else None

    def forget_settled(self, log_start: int) -> None:
        with self._transaction() as execute:
            self._hand_overs.forget(log_start)
            execute("DELETE FROM recurring WHERE position < ?", (log_start,))
            execute("DELETE FROM settled WHERE position < ?", (log_start,))

    def clear(self, log_start: int) -> None:
        with self._transaction() as execute:
            for table in ("pending", "settled", "recurring", "state"):
                execute(f"DELETE FROM {table}")
            self._hand_overs.clear()
            self.state = IndexState(log_start)
            execute(_INSERT_STATE, self.state)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        try:
            self._connection.execute("BEGIN")
            yield self._connection.execute
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise IndexFailedError(str(error)) from error

    def _read(self, read: Callable[[], _Result]) -> _Result:
        try:
            return read()
        except sqlite3.Error as error:
            raise IndexFailedError(str(error)) from error
