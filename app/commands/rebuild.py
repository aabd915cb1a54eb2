"""`acklog rebuild`: the coordination file of an embedded server anew, where it is lost or damaged."""

import sqlite3
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.failures import CommandError, UsageError
from acklog.command.session import session_of
from acklog.command.views import Cell, Column, Sentence, Table, View

if TYPE_CHECKING:
    from app.commands.catalogue_rebuild import Rebuilt
    from cluster.ports.coordination import KeyValue
    from cluster.stores.sqlite_copy import SqliteContent
    from storage.disk.real_disk import RealDisk

_SUFFIXES = ("-wal", "-shm", "")


def rebuild(
    context: typer.Context,
    data_dir: Annotated[str, typer.Argument(metavar="DATA_DIR", help="What the server's --data-dir was.")],
) -> None:
    """Make the file with topics and groups anew, where it is lost or damaged.

    Takes what is left: the copy that a server keeps beside it, the sound rows of the damaged one, the partitions on the
    disk. The damaged file is kept under another name; messages are not touched. Refuses where the file is sound.
    """
    output = session_of(context).output
    rebuilt, kept = _rebuild(data_dir)
    document = {
        "dataDir": data_dir,
        "topics": [{"topic": each.name, "id": each.id, "partitions": each.partitions} for each in rebuilt.topics],
        "groups": [{"group": each.name, "id": each.id} for each in rebuilt.groups],
        "recovered": rebuilt.recovered,
        "withoutKeys": rebuilt.without_keys,
        "unreadable": rebuilt.unreadable,
        "damagedFilesKeptAs": kept,
    }
    output.show(document, *_views(rebuilt, kept))


def _rebuild(data_dir: str) -> tuple["Rebuilt", list[str]]:
    """Raises CommandError."""
    from app.commands.catalogue_rebuild import MARGIN, rebuild_catalogue
    from app.processes.embedded_store import coordination_path, evidence_of
    from app.processes.newest_epochs import newest_epochs
    from app.processes.process_constants import COORDINATION_FILE
    from app.processes.stored_data_keys import newest_data_key
    from cluster.ports.runtime import SteadyClock
    from cluster.stores.sqlite_copy import read_copy
    from cluster.stores.sqlite_reach import read_reach
    from cluster.stores.sqlite_spare import spare_path, write_whole

    path = coordination_path(data_dir)
    disk = _open(data_dir)
    try:
        lost, spare = read_copy(path, evidence=evidence_of(disk, data_dir)), read_copy(spare_path(path))
        if lost is not None and not lost.faults and not lost.losses:
            raise UsageError(f"{path} is sound: there is nothing to rebuild", field="DATA_DIR")
        sources = [_items(lost), _items(spare)]
        rebuilt = rebuild_catalogue(
            sources,
            newest_epochs(disk),
            data_key_of=partial(newest_data_key, disk),
            reached=read_reach(path),
            now_ms=SteadyClock().now_ms(),
        )
        kept = _put_aside(disk, COORDINATION_FILE)
        write_whole(path, rebuilt.items, openings=MARGIN)
    except (OSError, sqlite3.Error) as error:
        hint = "Run this as the server's user, on a disk with space."
        raise CommandError(f"{data_dir}: {error}", hint=hint) from error
    finally:
        disk.close()
    return rebuilt, kept


def _items(content: "SqliteContent | None") -> "list[KeyValue]":
    return [] if content is None else content.items


def _open(data_dir: str) -> "RealDisk":
    """The directory, with every server kept out."""
    from storage.disk.port import FileLockedError
    from storage.disk.read_only_disk import ReadOnlyDisk
    from storage.disk.real_disk import RealDisk
    from storage.log.data_directory import LOCK_PATH, META_PATH
    from storage.log.directory_role import ROLE_PATH

    try:
        found = ReadOnlyDisk(data_dir)
    except OSError as error:
        raise UsageError(f"{data_dir} cannot be read: {error.strerror or error}", field="DATA_DIR") from error
    if not found.exists(META_PATH):
        raise UsageError(f"{data_dir} is not a data directory of Acklog: it has no {META_PATH}", field="DATA_DIR")
    if found.exists(ROLE_PATH):
        raise UsageError(f"{data_dir} is a node's: topics and groups of a cluster are in etcd", field="DATA_DIR")
    disk = RealDisk(data_dir)
    try:
        disk.lock(LOCK_PATH)
    except FileLockedError as error:
        raise UsageError(f"a server uses {data_dir}", hint="Stop the server first.") from error
    return disk


def _put_aside(disk: "RealDisk", name: str) -> list[str]:
    """What is there of the damaged file stays, under a name that was not used yet."""
    number = 1
    while any(disk.exists(f"{name}{suffix}.damaged-{number}") for suffix in _SUFFIXES):
        number += 1
    kept = []
    for suffix in _SUFFIXES:
        if disk.exists(name + suffix):
            kept.append(f"{name}{suffix}.damaged-{number}")
            disk.rename(name + suffix, kept[-1])
    disk.sync_directory("")
    return kept


def _views(rebuilt: "Rebuilt", kept: list[str]) -> list[View]:
    rows: list[list[Cell | str]] = [
        [Cell(each.name, "warning" if each.id in rebuilt.recovered else "name"), each.id, str(each.partitions)]
        for each in rebuilt.topics
    ]
    columns = [Column("topic", may_wrap=True), Column("id"), Column("partitions", align="right")]
    views: list[View] = [Table(columns, rows, empty="No topic was found.")]
    groups = ", ".join(each.name for each in rebuilt.groups)
    views.append(Sentence(f"Groups: {groups}." if groups else "No group was found."))
    if rebuilt.recovered:
        text = "Of topics that begin with recovered- the names are lost, and the settings."
        views.append(Sentence(text, "warning"))
    lost = [each.name for each in rebuilt.topics if each.id in rebuilt.without_keys]
    if lost:
        text = f"Data keys are lost, and with them what was encrypted: {', '.join(lost)}."
        views.append(Sentence(text, "bad"))
    views += [Sentence(f"Left out, as it cannot be read: {key}", "bad") for key in rebuilt.unreadable]
    views += [Sentence(f"The damaged file is kept: {path}", "muted") for path in kept]
    return [*views, Sentence("Rebuilt. Check it with acklog fsck, then start the server.", "good")]
