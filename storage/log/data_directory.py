"""The data directory itself: its identity, its format, and that one process uses it."""

import msgspec
from crc32c import crc32c

from acklog.wire.decode_errors import with_decode_errors
from acklog.wire.identifiers import id_from_bits
from cluster.ports.entropy import Entropy
from storage.disk.port import Disk
from storage.log.checkpoint import read_file, replace_file
from storage.log.journal_names import JOURNAL_DIRECTORY
from storage.log.keys import PARTITIONS_DIRECTORY
from storage.log.recovery_points import RecoveryPoints, write_recovery_points

META_PATH = "meta.json"
SOCKETS_DIRECTORY = "workers"
"""Where the processes of a server of several reach each other."""
LOCK_PATH = "lock"
FORMAT_VERSION = 1


class DataDirectoryError(Exception):
    """The directory cannot be used as it is; the text says why and what to do."""


class FormatTooNewError(DataDirectoryError):
    """A newer version of Acklog wrote the directory."""


class DirectoryMeta(msgspec.Struct, frozen=True, rename="camel"):
    """`directory_id` is made once and tells this directory from a wiped one; `journal_key` marks its journal frames."""

    format_version: int
    directory_id: str
    journal_key: int


class _StoredMeta(msgspec.Struct, frozen=True, rename="camel"):
    meta: DirectoryMeta
    checksum: int


def open_data_directory(disk: Disk, entropy: Entropy) -> DirectoryMeta:
    """Lock the directory and read its meta file; a new directory gets one.

    Raises FileLockedError and DataDirectoryError.
    """
    disk.lock(LOCK_PATH)
    meta = read_meta(disk)
    if meta is None:
        return _create(disk, entropy)
    if not disk.exists(PARTITIONS_DIRECTORY):  # it was durable before the meta file, and is never removed
        raise DataDirectoryError(
            f"{PARTITIONS_DIRECTORY}/ is missing, which holds all messages: this directory has lost files. Put it "
            "back, or restore the whole directory from a backup; a node of a cluster may be given an empty directory"
        )
    return meta


def read_meta(disk: Disk) -> DirectoryMeta | None:
    """What the meta file says, None if there is none; raises DataDirectoryError."""
    content = read_file(disk, META_PATH)
    if content is None:
        return None
    try:
        version = _decode_any_version(content).meta.format_version
        if version > FORMAT_VERSION:
            raise FormatTooNewError(
                f"the data directory has format {version}, this version knows up to {FORMAT_VERSION}: use a newer one"
            )
        stored = _decode_stored(content)
    except msgspec.DecodeError as error:
        raise DataDirectoryError(f"{META_PATH} is damaged: {error}") from error
    if stored.checksum != _checksum(stored.meta):
        raise DataDirectoryError(f"{META_PATH} is damaged: its checksum does not match")
    return stored.meta


class _FormatOnly(msgspec.Struct, rename="camel"):
    format_version: int


class _AnyVersion(msgspec.Struct):
    meta: _FormatOnly


_decode_stored = with_decode_errors(msgspec.json.Decoder(_StoredMeta).decode)
_decode_any_version = with_decode_errors(msgspec.json.Decoder(_AnyVersion).decode)


def _create(disk: Disk, entropy: Entropy) -> DirectoryMeta:
    """The meta file comes last: a directory without one has never held anything."""
    for directory in (PARTITIONS_DIRECTORY, JOURNAL_DIRECTORY):
        if disk.exists(directory) and disk.list_directory(directory):
            raise DataDirectoryError(
                f"{META_PATH} is missing, but there is {directory}/: this directory has lost files"
            )
    disk.make_directory(JOURNAL_DIRECTORY)
    disk.make_directory(PARTITIONS_DIRECTORY)
    write_recovery_points(disk, RecoveryPoints())
    meta = DirectoryMeta(
        format_version=FORMAT_VERSION, directory_id=id_from_bits(entropy.bits64()), journal_key=entropy.bits64()
    )
    replace_file(disk, META_PATH, [msgspec.json.encode(_StoredMeta(meta, _checksum(meta))), b"\n"])
    return meta


def _checksum(meta: DirectoryMeta) -> int:
    return int(crc32c(msgspec.json.encode(meta)))
