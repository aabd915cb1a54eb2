"""A file in each log's directory that says which log it is: a directory that was moved into another one's place would
be served as that one's, whole and in order.

It is written as a sync makes the directory's names durable, and in the background for a log that a start finds without
one (`storage.log.identity_writer`). A disk without room for it only leaves it for later: nothing rests on it but this
question.
"""

import contextlib
from typing import NamedTuple

from storage.disk.port import Disk, DiskRefusedError
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint, write_checkpoint
from storage.log.keys import LogKey

IDENTITY_NAME = "log-identity"


class FoundIdentity(NamedTuple):
    """`problem` is why what is in the directory is not taken for the log's, "" where nothing says so. `is_own`: it says
    that it is."""

    problem: str
    is_own: bool


def identity_path(key: LogKey) -> str:
    return f"{key.directory}/{IDENTITY_NAME}"


def read_identity(disk: Disk, key: LogKey) -> str | None:
    """Which log the directory of `key` says that it holds, None where it says nothing. Raises
    CheckpointDamagedError."""
    payload = read_checkpoint(disk, identity_path(key))
    return None if payload is None else payload.decode(errors="replace")


def find_identity(disk: Disk, key: LogKey) -> FoundIdentity:
    """What the directory of `key` says of itself. A damaged file says nothing, one that the device does not give may
    say that it is another's. Raises DiskRefusedError."""
    try:
        found = read_identity(disk, key)
    except CheckpointDamagedError:
        found = None
    except DiskRefusedError:
        raise
    except OSError as error:
        return FoundIdentity(f"{identity_path(key)} cannot be read, so that it may be another log's: {error}", False)
    if found is None or found == str(key):
        return FoundIdentity("", found is not None)
    return FoundIdentity(f"its directory holds the log {found}, which somebody has moved there", False)


def keep_identity(disk: Disk, key: LogKey) -> None:
    """Write it, durably, unless it is there: the directory is that of the log, and one that cannot be read is replaced
    as well."""
    with contextlib.suppress(DiskRefusedError):
        if not find_identity(disk, key).is_own:
            write_checkpoint(disk, identity_path(key), str(key).encode())
