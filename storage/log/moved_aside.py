"""Where the files of a log go whose directory another one takes: they are the only ones of their log, maybe, and nobody
has said that they may be deleted (rule R13).

`moved-aside/<log>.<number>/` is never looked at again but by the operator who moves them back.
"""

from storage.disk.port import Disk, DiskRefusedError
from storage.log.checkpoint import CheckpointDamagedError
from storage.log.keys import LogKey, parse_key
from storage.log.log_identity import IDENTITY_NAME, find_identity, read_identity
from storage.log.log_table import own_directories

ASIDE_DIRECTORY = "moved-aside"

_UNKNOWN = "unknown"


def move_foreign_files(disk: Disk, key: LogKey) -> None:
    """Move away what is in the directory of `key` if that may be another log's. Durable on return. A crash in the
    middle leaves some of it in either place; then the next call goes on.

    What says whose they are goes last: what it leaves behind would be taken for files of `key`."""
    if not disk.exists(key.directory) or not find_identity(disk, key).problem:
        return
    aside = make_place_aside(disk, key)
    others = [name for name in own_names(disk, key) if name != IDENTITY_NAME]
    for names in (others, [IDENTITY_NAME]):
        for name in names:
            disk.rename(f"{key.directory}/{name}", f"{aside}/{name}")
        disk.sync_directory(aside)
        disk.sync_directory(key.directory)


def make_place_aside(disk: Disk, key: LogKey) -> str:
    """The directory for what is in that of `key`: a new one, or one that a crash left half filled. Durable."""
    owner = _owner(disk, key)
    number = 0
    while disk.exists(f"{ASIDE_DIRECTORY}/{owner}.{number}/{IDENTITY_NAME}"):
        number += 1
    aside = f"{ASIDE_DIRECTORY}/{owner}.{number}"
    disk.make_directory(aside)
    disk.sync_directory("")
    disk.sync_directory(ASIDE_DIRECTORY)
    return aside


def own_names(disk: Disk, key: LogKey) -> list[str]:
    """What is in the directory of a log, without the directories of the partition's other logs."""
    of_others = own_directories() if key.directory == key.partition_directory else frozenset()
    return [name for name in disk.list_directory(key.directory) if name not in of_others]


def _owner(disk: Disk, key: LogKey) -> str:
    """As a name for a directory, hence the way by a key. Raises DiskRefusedError."""
    try:
        return str(parse_key(read_identity(disk, key) or ""))
    except DiskRefusedError:
        raise
    except (CheckpointDamagedError, OSError, ValueError):
        return _UNKNOWN
