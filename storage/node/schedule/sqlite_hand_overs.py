"""What the index on disk knows of messages that went to other partitions' schedules, or came from there: tables beside
those of `storage.node.schedule.sqlite_schedule_index`, in its transactions. They are empty where a topic's partitions
never changed."""

import sqlite3
from collections.abc import Iterable

import msgspec

from storage.schedule.changes import (
    Added,
    Adopted,
    AdoptedBefore,
    Change,
    HandedOver,
    HandingOver,
    TakenBack,
    adoption_of,
    first_name,
)
from storage.schedule.entries import AdoptionEntry, HandOverEntry

TABLES = """
CREATE TABLE IF NOT EXISTS hand_overs (
    partition INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, number INTEGER NOT NULL, ids BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS adoptions (
    origin INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, number INTEGER NOT NULL, first INTEGER NOT NULL,
    at_epoch INTEGER NOT NULL, position INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS adopted (name TEXT PRIMARY KEY, id INTEGER NOT NULL);
"""
# A later hand-over takes the place of an earlier one; the same again, written anew, stands further behind.
_ADOPT = """
INSERT INTO adoptions VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (origin) DO UPDATE SET epoch = excluded.epoch,
number = excluded.number, first = excluded.first, at_epoch = excluded.at_epoch, position = excluded.position
WHERE (excluded.epoch, excluded.number) > (epoch, number) OR first = excluded.first
"""

HAND_OVER_KINDS = (HandingOver, HandedOver, TakenBack, Adopted, AdoptedBefore)

_encode = msgspec.msgpack.Encoder().encode
_decode_ids = msgspec.msgpack.Decoder(list[int]).decode


class SqliteHandOvers:
    """Of one index. Raises sqlite3.Error."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute
        self._execute_many = connection.executemany

    def apply(self, run: Iterable[Change]) -> None:
        """Of HAND_OVER_KINDS."""
        for offset, what in run:
            match what:
                case HandingOver():
                    row = (what.partition, what.epoch, what.number, _encode(what.ids))
                    self._execute("INSERT OR REPLACE INTO hand_overs VALUES (?, ?, ?, ?)", row)
                case HandedOver() | TakenBack():
                    self._execute("DELETE FROM hand_overs WHERE partition = ?", (what.partition,))
                case Adopted() | AdoptedBefore():
                    self._execute(_ADOPT, adoption_of(what, offset))

    def name(self, run: Iterable[Change]) -> None:
        """Remember the names that messages had before they came here."""
        named = [
            (first_name(change.what.record), change.what.entry.id)
            for change in run
            if isinstance(change.what, Added) and first_name(change.what.record)
        ]
        if named:
            self._execute_many("INSERT OR REPLACE INTO adopted VALUES (?, ?)", named)

    def id_of(self, name: str) -> int | None:
        """Of the message that came under this name last."""
        found = self._execute("SELECT id FROM adopted WHERE name = ?", (name,)).fetchone()
        return None if found is None else int(found[0])

    def under_way(self) -> list[HandOverEntry]:
        rows = self._execute("SELECT partition, epoch, number, ids FROM hand_overs")
        return [HandOverEntry(partition, epoch, number, _decode_ids(ids)) for partition, epoch, number, ids in rows]

    def adoptions(self) -> list[AdoptionEntry]:
        return [AdoptionEntry(*row) for row in self._execute("SELECT * FROM adoptions")]

    def forget(self, log_start: int) -> None:
        self._execute("DELETE FROM adoptions WHERE position < ?", (log_start,))
        self._execute(
            "DELETE FROM adopted WHERE id < ? AND NOT EXISTS "
            "(SELECT 1 FROM pending WHERE position = adopted.id AND id = position) AND NOT EXISTS "
            "(SELECT 1 FROM pending WHERE id = adopted.id AND id <> position)",
            (log_start,),
        )

    def clear(self) -> None:
        for table in ("hand_overs", "adoptions", "adopted"):
            self._execute(f"DELETE FROM {table}")
