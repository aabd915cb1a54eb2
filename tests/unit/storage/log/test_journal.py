import asyncio

import pytest

from storage.disk.port import DiskFullError
from storage.log.journal import Journal, create_journal_file
from storage.log.journal_files import found_files, read_recorded_files
from storage.log.journal_frame import BLOCK_BYTES, encode_frame
from storage.log.journal_names import JOURNAL_DIRECTORY
from storage.log.journal_reach import make_reach
from storage.log.journal_scan import JournalCorruptError, read_frame, scan_journal
from tests.sim.inline_executor import InlineExecutor
from tests.sim.sim_disk import SimDisk

KEY = 0x1234_5678_9ABC_DEF0
FILE_BYTES = 4 * BLOCK_BYTES


def journal_on(disk: SimDisk, *, files: int = 2, sequence: int = 0) -> Journal:
    disk.make_directory(JOURNAL_DIRECTORY)
    journal = Journal(disk, journal_key=KEY, sequence=sequence, life=1, file_bytes=FILE_BYTES, files_max=4)
    for number in range(files):
        journal.adopt(create_journal_file(disk, number, FILE_BYTES))
    journal.keep_reach(make_reach(disk, journal_key=KEY, sequence=sequence, life=1))
    return journal


def write(journal: Journal, text: str) -> None:
    if journal.room_bytes < BLOCK_BYTES:
        assert journal.next_file()
    journal.publish(journal.write(journal.encode([(b"log", [text.encode(), b"!"], len(text) + 1)])))


def texts(disk: SimDisk, *, covered: int = 0) -> list[str]:
    frames = scan_journal(disk, journal_key=KEY, covered_sequence=covered).frames
    return [str(batches, "ascii") for frame in frames for _, batches in read_frame(disk, frame, KEY)]


def test_frames_come_back_in_order_across_files() -> None:
    disk = SimDisk()
    journal = journal_on(disk)
    for number in range(7):
        write(journal, f"text {number}")
    assert texts(disk) == [f"text {number}!" for number in range(7)]
    assert texts(disk, covered=5) == ["text 5!", "text 6!"]
    assert scan_journal(disk, journal_key=KEY, covered_sequence=5).last_sequence == 7


def test_frames_of_an_earlier_use_are_not_taken_for_new_ones() -> None:
    disk = SimDisk()
    journal = journal_on(disk)
    for number in range(8):
        write(journal, f"old {number}")
    assert not journal.next_file()
    assert journal.trim(4, files_kept=2) == []
    write(journal, "new")
    assert journal.trim(8, files_kept=2) == []
    assert texts(disk, covered=8) == ["new!"]
    assert texts(disk, covered=4) == ["old 4!", "old 5!", "old 6!", "old 7!", "new!"]


def test_a_torn_last_frame_is_left_out_and_a_damaged_earlier_one_is_not() -> None:
    disk = SimDisk()
    journal = journal_on(disk)
    for number in range(3):
        write(journal, f"text {number}")
    disk.bit_rot("journal/00000000.journal", 2 * BLOCK_BYTES + 50, 0)
    assert texts(disk) == ["text 0!", "text 1!"]
    disk.bit_rot("journal/00000000.journal", 50, 0)
    with pytest.raises(JournalCorruptError, match="frame 1 is missing or damaged, but frame 2"):
        texts(disk)


def test_a_message_that_imitates_a_frame_is_not_taken_for_one() -> None:
    disk = SimDisk()
    journal = journal_on(disk)
    buffers, _ = encode_frame([(b"log", [b"forged"], 6)], journal_key=KEY ^ 1, generation=1, sequence=9)
    forged = b"".join(bytes(buffer) for buffer in buffers)
    journal.next_file()
    body = b"x" * (BLOCK_BYTES - 53) + forged
    journal.publish(journal.write(journal.encode([(b"log", [body], len(body))])))
    disk.bit_rot("journal/00000000.journal", 60, 0)
    assert forged in disk.files()["journal/00000000.journal"][BLOCK_BYTES:]
    assert texts(disk) == []


def test_surplus_files_are_given_back() -> None:
    disk = SimDisk()
    journal = journal_on(disk, files=4)
    assert not journal.may_grow()
    for number in range(14):
        write(journal, f"text {number}")
    assert journal.full_files == 3
    surplus = journal.trim(14, files_kept=2)
    assert len(surplus) == 2
    asyncio.run(journal.remove(surplus, InlineExecutor()))
    assert read_recorded_files(disk) == found_files(disk)
    assert len(found_files(disk)) == journal.files == 2


@pytest.mark.parametrize("room", [100, FILE_BYTES])  # for nothing, for the file but not for its record
def test_a_file_for_which_there_is_no_space_leaves_nothing_behind(room: int) -> None:
    disk = SimDisk()
    journal = journal_on(disk)
    disk.capacity_bytes = disk.used_bytes + room
    with pytest.raises(DiskFullError):
        asyncio.run(journal.grow(InlineExecutor()))
    assert len(found_files(disk)) == journal.files == 2
