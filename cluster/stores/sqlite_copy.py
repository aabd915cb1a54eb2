"""The content of a coordination file that nobody has open, read without touching it.

SQLite cannot read a file with a write-ahead log beside it without writing there, and without the log it would show an
old state: so the file and its log are copied into a private temporary directory and read in that place.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cluster.ports.coordination import KeyValue
from cluster.stores.sqlite_evidence import NO_EVIDENCE, StoreEvidence, losses_of
from cluster.stores.sqlite_file import FAULTS_MAX, lost_commits
from cluster.stores.sqlite_reach import reach_fault, read_reach
from cluster.stores.sqlite_tables import FORMAT, checksum_of

_SUFFIXES = ("", "-wal")  # -shm is derived from -wal
_ITEMS = "SELECT key, value, create_revision, mod_revision, version, lease_id, {} FROM items ORDER BY key"


@dataclass(frozen=True, slots=True)
class SqliteContent:
    """`faults` is what is wrong with the file, in SQLite's words where they are its own; empty for a sound one. Of a
    damaged one `items` are those that are sound, as far as they can be read. `losses` is what a sound one lacks of what
    the rest of the directory rests on."""

    items: list[KeyValue] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


def read_copy(
    path: str, *, evidence: StoreEvidence = NO_EVIDENCE, copied: Callable[[int], None] = lambda _count: None
) -> SqliteContent | None:
    """What the file at `path` holds, None if there is no such file; `copied` is told the bytes of each file.

    Raises OSError when it cannot be copied: no permission, no space for temporary files.
    """
    if not Path(path).exists():
        return None
    with tempfile.TemporaryDirectory(prefix="acklog-fsck-") as directory:
        copy = Path(directory) / "coordination.sqlite"
        for suffix in _SUFFIXES:
            source = Path(path + suffix)
            if source.exists():
                shutil.copyfile(source, str(copy) + suffix)
                copied(source.stat().st_size)
        return _read(copy, path, evidence)


def read_spare(path: str) -> list[KeyValue]:
    """The sound rows of the spare at `path` (`sqlite_spare`), in whose place nobody puts another one meanwhile; none
    where it is missing or damaged, as it says nothing then."""
    address = f"{Path(path).absolute().as_uri()}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as connection:
        return _items(connection)[0]
    return []


def _read(copy: Path, path: str, evidence: StoreEvidence) -> SqliteContent:
    """`path` is of what was copied."""
    try:
        with closing(sqlite3.connect(copy)) as connection:
            faults = [row[0] for row in connection.execute(f"PRAGMA integrity_check({FAULTS_MAX})")]
            if faults == ["ok"]:
                faults = _store_faults(connection, path)
            items, damaged = _items(connection)
            faults += [f"the checksum of {key!r} does not match" for key in damaged]
            losses = [] if faults else losses_of(items, _revision(connection), evidence)
            return SqliteContent(items, faults, losses)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return SqliteContent([], [str(error)])


def _store_faults(connection: sqlite3.Connection, path: str) -> list[str]:
    formats = [row[0] for row in connection.execute("SELECT format FROM store")]
    if formats != [FORMAT]:
        return [f"it has the format {formats}, this version reads {FORMAT}"]
    ((keeps_reach,),) = connection.execute("PRAGMA user_version")
    if keeps_reach and (fault := reach_fault(path)):
        return [fault]
    revision, reached = _revision(connection), read_reach(path)
    return [lost_commits(revision, reached)] if revision < reached else []


def _revision(connection: sqlite3.Connection) -> int:
    ((revision,),) = connection.execute("SELECT revision FROM store")
    return int(revision)


def _items(connection: sqlite3.Connection) -> tuple[list[KeyValue], list[str]]:
    """The sound ones, and the keys of those that are not; as far as can be read."""
    items: list[KeyValue] = []
    damaged: list[str] = []
    has_checksums = "checksum" in {row[1] for row in connection.execute("PRAGMA table_info(items)")}
    statement = _ITEMS.format("checksum" if has_checksums else "NULL")
    with suppress(sqlite3.Error, UnicodeDecodeError):
        for row in connection.execute(statement):
            item = KeyValue(*row[:-1])
            if isinstance(item.value, bytes) and row[-1] in {None, checksum_of(item)}:
                items.append(item)
            else:
                damaged.append(str(item.key))
    return items, damaged
