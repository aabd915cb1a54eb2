"""Files of content, named by what they hold: where it belongs, and its hash. So nothing has to be remembered of a run
that was killed, and a file in another one's place is found out.

    content/<topic id>-<partition>/<start>-<end>-<epoch>-<sha256>.batches     messages from start to below end
    content/<topic id>-<partition>/<end>-<sha256>.groups                      what groups had done, in a log to end
"""

import hashlib
import re
from itertools import pairwise
from typing import NamedTuple

from acklog.backup.backup_error import BackupDamaged
from acklog.backup.backup_store import BackupStore
from acklog.wire.log_page import verified

FOLDER = "content"
_BATCHES = re.compile(
    rf"{FOLDER}/([0-9a-z]+-[0-9]+)/([0-9]{{20}})-([0-9]{{20}})-([0-9]{{10}})-([0-9a-f]{{64}})\.batches"
)


class PartitionPlace(NamedTuple):
    topic_id: str
    partition: int

    @property
    def folder(self) -> str:
        return f"{FOLDER}/{self.topic_id}-{self.partition}"


class Chunk(NamedTuple):
    """Whole batches from offset `start` to below `end`; the last one is of the leader epoch `epoch`."""

    name: str
    start: int
    end: int
    epoch: int
    size_bytes: int


def chunk_of(name: str, size_bytes: int) -> Chunk | None:
    """None for the name of another file."""
    found = _BATCHES.fullmatch(name)
    return None if found is None else Chunk(name, int(found[2]), int(found[3]), int(found[4]), size_bytes)


def new_chunk(place: PartitionPlace, content: bytes) -> Chunk:
    """Of batches that were verified, at least one."""
    found = [header for _, header in verified(content)]
    start, end, epoch = found[0].base_offset, found[-1].next_offset, found[-1].leader_epoch
    name = f"{place.folder}/{start:020}-{end:020}-{epoch:010}-{digest_of(content)}.batches"
    return Chunk(name, start, end, epoch, len(content))


def groups_name(place: PartitionPlace, end: int, state: bytes) -> str:
    return f"{place.folder}/{end:020}-{digest_of(state)}.groups"


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def check_content(name: str, content: bytes) -> None:
    """Raises BackupDamaged where it is not what its name says."""
    digest = name.rpartition("-")[2].partition(".")[0]
    if digest_of(content) != digest:
        raise BackupDamaged(f"the file {name} does not hold what it held")


def checked_content(store: BackupStore, name: str) -> bytes:
    """Raises BackupDamaged where it is not what its name says."""
    content = store.read(name)
    check_content(name, content)
    return content


def checked_chunk(store: BackupStore, chunk: Chunk) -> bytes:
    """Raises BackupDamaged where it does not hold the batches that belong there."""
    content = store.read(chunk.name)
    check_chunk(chunk, content)
    return content


def check_chunk(chunk: Chunk, content: bytes) -> None:
    """Raises BackupDamaged where the batches are not those that belong there."""
    check_content(chunk.name, content)
    try:
        found = [header for _, header in verified(content)]
    except ValueError as error:
        raise BackupDamaged(f"the file {chunk.name} is damaged: {error}") from error
    ends = [(header.base_offset, header.next_offset) for header in found]
    is_whole = all(before[1] == after[0] for before, after in pairwise(ends))
    if not ends or ends[0][0] != chunk.start or ends[-1][1] != chunk.end or not is_whole:
        raise BackupDamaged(f"the file {chunk.name} does not hold the messages from {chunk.start} to {chunk.end}")
