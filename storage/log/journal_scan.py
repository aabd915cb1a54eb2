"""Find what the journal still has to say after a start: the frames behind the last checkpoint, in order.

Only the newest frame can be torn, because one round is in flight at a time and each is synced before the next. So the
frames behind the checkpoint must be without a gap: a missing one with later ones present is damage, not a torn tail.
"""

from typing import NamedTuple

from storage.disk.port import Disk, File
from storage.log.journal_frame import (
    BLOCK_BYTES,
    FRAME_HEADER_BYTES,
    decode_entries,
    decode_header,
    read_body,
)
from storage.log.journal_names import JOURNAL_DIRECTORY, journal_number, journal_path


class JournalCorruptError(ValueError):
    """Entries that were durable cannot be read. The text says where."""


class FramePlace(NamedTuple):
    """A whole frame that is to be replayed."""

    sequence: int
    number: int
    position: int


class JournalScan(NamedTuple):
    """`last_sequence` is of the last whole frame, or of the last one that is covered; `present_sequence` of the newest
    one of which a head is there, needed or not, 0 where there is none."""

    frames: list[FramePlace]
    last_sequence: int
    present_sequence: int


def scan_journal(disk: Disk, *, journal_key: int, covered_sequence: int) -> JournalScan:
    """The whole frames above `covered_sequence`, in order; raises JournalCorruptError."""
    frames: list[FramePlace] = []
    present = 0
    for name in disk.list_directory(JOURNAL_DIRECTORY) if disk.exists(JOURNAL_DIRECTORY) else ():
        number = journal_number(name)
        if number is not None:
            file = disk.open(journal_path(number))
            try:
                whole, newest = _whole_frames(file, number, journal_key, covered_sequence)
            finally:
                file.close()
            frames += whole
            present = max(present, newest)
    frames.sort()
    expected = covered_sequence
    for frame in frames:
        expected += 1
        if frame.sequence != expected:
            raise JournalCorruptError(
                f"journal frame {expected} is missing or damaged, but frame {frame.sequence} is there "
                f"({journal_path(frame.number)}, byte {frame.position})"
            )
    return JournalScan(frames, expected, present)


def _whole_frames(file: File, number: int, journal_key: int, covered_sequence: int) -> tuple[list[FramePlace], int]:
    """Those above `covered_sequence`, and the sequence of the newest one that has a head."""
    frames: list[FramePlace] = []
    newest = 0
    size = file.size()
    generation = None
    position = 0
    while position + FRAME_HEADER_BYTES <= size:
        header = decode_header(file.read(position, FRAME_HEADER_BYTES), journal_key)
        if header is not None:
            newest = max(newest, header.sequence)
        if header is None or header.sequence <= covered_sequence or read_body(file, position, header) is None:
            position += BLOCK_BYTES  # whole frames behind a damaged one will show up as a gap
            continue
        if generation not in (None, header.generation):
            raise JournalCorruptError(
                f"{journal_path(number)} has frames of the generations {generation} and {header.generation}, "
                "although a file is used again only when nothing in it is needed"
            )
        generation = header.generation
        frames.append(FramePlace(header.sequence, number, position))
        position += header.stored_bytes
    return frames, newest


def read_frame(disk: Disk, place: FramePlace, journal_key: int) -> list[tuple[str, memoryview]]:
    """(key, batches) of each entry of a frame that `scan_journal` found; raises JournalCorruptError."""
    file = disk.open(journal_path(place.number))
    try:
        header = decode_header(file.read(place.position, FRAME_HEADER_BYTES), journal_key)
        body = read_body(file, place.position, header) if header is not None else None
    finally:
        file.close()
    if body is None:
        raise JournalCorruptError(f"journal frame {place.sequence} cannot be read a second time")
    try:
        return list(decode_entries(body))
    except ValueError as error:
        raise JournalCorruptError(f"journal frame {place.sequence} is not what was written: {error}") from error
