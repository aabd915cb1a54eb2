"""On record: which files the journal consists of, and their sizes. So that one that is gone, or short, is missed.

A checkpoint that is written when a file is made, before it is used, and when one is given back, before it is removed.
A crash in between leaves a file that is not on record, which was not used yet or is needed no more.
"""

import contextlib

import msgspec

from acklog.wire.decode_errors import with_decode_errors
from storage.disk.port import Disk
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint, write_checkpoint
from storage.log.journal_names import JOURNAL_DIRECTORY, journal_number, journal_path

JOURNAL_FILES_PATH = f"{JOURNAL_DIRECTORY}/files"
_decode = with_decode_errors(msgspec.msgpack.Decoder(dict[int, int]).decode)


def record_files(disk: Disk, sizes: dict[int, int]) -> None:
    """In an I/O thread: these files, by their numbers, with their bytes. Durable on return; raises DiskFullError."""
    with contextlib.suppress(CheckpointDamagedError):
        if read_recorded_files(disk) == sizes:
            return
    write_checkpoint(disk, JOURNAL_FILES_PATH, msgspec.msgpack.encode(sizes))


def read_recorded_files(disk: Disk) -> dict[int, int]:
    """Sizes by number; raises CheckpointDamagedError, also when there is no record."""
    payload = read_checkpoint(disk, JOURNAL_FILES_PATH)
    if payload is None:
        raise CheckpointDamagedError("the file is missing")
    try:
        return _decode(payload)
    except msgspec.DecodeError as error:
        raise CheckpointDamagedError(f"it cannot be decoded: {error}") from error


def found_files(disk: Disk) -> dict[int, int]:
    """The sizes of the files that are there, by number."""
    sizes = {}
    if disk.exists(JOURNAL_DIRECTORY):
        for name in disk.list_directory(JOURNAL_DIRECTORY):
            number = journal_number(name)
            if number is not None:
                file = disk.open(journal_path(number))
                sizes[number] = file.size()
                file.close()
    return sizes
