"""New logs on the disk."""

from collections.abc import Iterable

from storage.disk.port import Disk
from storage.log.keys import PARTITIONS_DIRECTORY, LogKey
from storage.log.open_files import OpenFiles
from storage.log.segment import Segment


def first_segment(key: LogKey) -> Segment:
    return Segment(key.directory, 0)


def create_log_files(disk: Disk, files: OpenFiles, keys: Iterable[LogKey]) -> None:
    """In an I/O thread: the directories of new logs and their first segments, empty. All names are durable on return.

    First everything is made, then everything is synced: a sync of one directory has the file system commit what it
    knows of the others, too, so that theirs cost next to nothing. What a crash or a full disk leaves in between is an
    empty log or none, and is made again.
    """
    directories: dict[str, None] = {}
    for key in keys:
        disk.make_directory(key.directory)
        files.create(first_segment(key).path)
        path = key.directory
        while path not in directories:
            directories[path] = None
            if path == PARTITIONS_DIRECTORY:
                break
            path = path.rpartition("/")[0]
    for directory in sorted(directories):  # a directory comes before those in it
        disk.sync_directory(directory)
