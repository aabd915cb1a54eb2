"""How often a node's data directory was started, kept in the directory itself: an old copy knows of fewer starts."""

import msgspec

from acklog.wire.decode_errors import with_decode_errors
from storage.disk.port import Disk
from storage.log.checkpoint import read_file, replace_file
from storage.log.data_directory import DataDirectoryError

LIFE_PATH = "life.json"


class _Life(msgspec.Struct, frozen=True):
    starts: int


_decode = with_decode_errors(msgspec.json.Decoder(_Life).decode)


def read_starts(disk: Disk) -> int:
    """0 where no start was ever noted; raises DataDirectoryError."""
    content = read_file(disk, LIFE_PATH)
    if content is None:
        return 0
    try:
        return _decode(content).starts
    except msgspec.DecodeError as error:
        raise DataDirectoryError(f"{LIFE_PATH} is damaged: {error}") from error


def write_starts(disk: Disk, starts: int) -> None:
    """Durably."""
    replace_file(disk, LIFE_PATH, [msgspec.json.encode(_Life(starts)), b"\n"])
