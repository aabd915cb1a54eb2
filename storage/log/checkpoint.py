"""Atomic checkpoints: a file that holds either the old content or the new one, and can tell when it is damaged.

offset size field
0      4    magic "AKC1"
4      4    CRC-32C over bytes 8 to the end
8      8    length of the payload
16          payload
"""

import contextlib
import struct

from crc32c import crc32c

from storage.disk.port import Buffer, Disk, DiskFullError

_MAGIC = b"AKC1"
_HEAD = struct.Struct(">4sIQ")
_LENGTH = struct.Struct(">Q")
TEMPORARY_SUFFIX = ".tmp"


class CheckpointDamagedError(ValueError):
    """The file is not what was written into it."""


def write_checkpoint(disk: Disk, path: str, payload: Buffer) -> None:
    """Replace the checkpoint at `path` durably and atomically. On DiskFullError the old one is still there, on
    ShortageError the old one or, further below the data directory, the new one."""
    length = _LENGTH.pack(len(payload))
    crc = crc32c(payload, crc32c(length))
    replace_file(disk, path, [_HEAD.pack(_MAGIC, crc, len(payload)), payload])


def read_checkpoint(disk: Disk, path: str) -> bytes | None:
    """The payload, None if there is no such file; raises CheckpointDamagedError."""
    content = read_file(disk, path)
    if content is None:
        return None
    if len(content) < _HEAD.size:
        raise CheckpointDamagedError(f"{path} has only {len(content)} bytes")
    magic, crc, length = _HEAD.unpack_from(content)
    payload = content[_HEAD.size :]
    if magic != _MAGIC or length != len(payload) or crc != crc32c(payload, crc32c(_LENGTH.pack(length))):
        raise CheckpointDamagedError(f"the checksum of {path} does not match")
    return payload


def read_file(disk: Disk, path: str) -> bytes | None:
    """The whole content of a small file, None if there is none."""
    try:
        file = disk.open(path)
    except FileNotFoundError:
        return None
    try:
        return file.read(0, file.size())
    finally:
        file.close()


def replace_file(disk: Disk, path: str, buffers: list[Buffer]) -> None:
    """Write a temporary file, sync it, rename it to `path`, sync the directory."""
    temporary = path + TEMPORARY_SUFFIX
    if disk.exists(temporary):
        disk.remove(temporary)
    file = disk.create(temporary)
    try:
        file.write(0, buffers)
        file.sync()
    except DiskFullError:
        with contextlib.suppress(OSError):
            disk.remove(temporary)
        raise
    finally:
        file.close()
    disk.rename(temporary, path)
    disk.sync_directory(parent_of(path))


def parent_of(path: str) -> str:
    """The directory of `path`; "" is the data directory itself."""
    return path.rpartition("/")[0]
