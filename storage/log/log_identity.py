"""A file in each log's directory that says which log it is: a directory that was moved into another one's place would
be served as that one's, whole and in order.

It is written as the first sync makes the directory's names durable, and at the next start for a log that has none, as
those of earlier versions. A disk without room for it only leaves it for later: nothing rests on it but this question.
"""

import contextlib

from storage.disk.port import Disk, DiskRefusedError
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint, write_checkpoint
from storage.log.keys import LogKey

IDENTITY_NAME = "log-identity"


def identity_path(key: LogKey) -> str:
    return f"{key.directory}/{IDENTITY_NAME}"


def read_identity(disk: Disk, key: LogKey) -> str | None:
    """Which log the directory of `key` says that it holds, None where it says nothing. Raises
    CheckpointDamagedError."""
    payload = read_checkpoint(disk, identity_path(key))
    return None if payload is None else payload.decode(errors="replace")


def misplacement(disk: Disk, key: LogKey) -> str:
    """Why what is in the directory is not the log `key`; "" where nothing says so, also not a damaged file."""
    with contextlib.suppress(CheckpointDamagedError):
        found = read_identity(disk, key)
        if found is not None and found != str(key):
            return f"its directory holds the log {found}, which somebody has moved there"
    return ""


def keep_identity(disk: Disk, key: LogKey) -> None:
    """Write it, durably, unless it is there."""
    with contextlib.suppress(DiskRefusedError):
        try:
            if read_identity(disk, key) == str(key):
                return
        except CheckpointDamagedError:
            pass
        write_checkpoint(disk, identity_path(key), str(key).encode())
