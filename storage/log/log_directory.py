"""The directory of one log: there from the first append on.

Most logs of a node never hold anything: each partition has one of delivery records, and most partitions of a topic with
few messages stay empty. A log without files is empty and begins at offset 0; nothing else has to be known of it. Its
directory and its first segment are made by the round of its first append, and are not durable before the next sync;
until then that append rests on the journal, from which recovery makes them again.
"""

from storage.disk.port import Disk
from storage.log.keys import PARTITIONS_DIRECTORY, LogKey
from storage.log.moved_aside import move_foreign_files, own_names
from storage.log.segment import segment_base


def has_segments(disk: Disk, key: LogKey) -> bool:
    return disk.exists(key.directory) and any(
        segment_base(name) is not None for name in disk.list_directory(key.directory)
    )


def make_log_directory(disk: Disk, key: LogKey) -> None:
    """The directory and every name on the way to it are durable on return."""
    disk.make_directory(key.directory)
    _sync_way_to(disk, key.directory)


def sync_names(disk: Disk, directory: str) -> None:
    """Make the names in a log's directory durable, and those on the way to it: it may be as new as they are."""
    disk.sync_directory(directory)
    _sync_way_to(disk, directory)


def _sync_way_to(disk: Disk, directory: str) -> None:
    path = directory
    while path != PARTITIONS_DIRECTORY:
        path = path.rpartition("/")[0]
        disk.sync_directory(path)


def remove_log_directory(disk: Disk, key: LogKey, *, has_sibling: bool) -> None:
    """Remove a log's files, and the directories that are empty then; another log's are moved aside. Durable on return.

    `has_sibling`: the partition has another log, which may be about to make its own files beside these: what the two
    share stays.
    """
    path = key.directory
    if disk.exists(path):
        move_foreign_files(disk, key)
        for name in own_names(disk, key):
            disk.remove(f"{path}/{name}")
        disk.sync_directory(path)
    while path != PARTITIONS_DIRECTORY and not (has_sibling and path == key.partition_directory):
        parent = path.rpartition("/")[0]
        if disk.exists(path):
            if disk.list_directory(path):
                return
            disk.remove_directory(path)
            disk.sync_directory(parent)
        path = parent
