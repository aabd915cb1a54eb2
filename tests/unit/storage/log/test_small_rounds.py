"""What a round of the group commit does on the loop, and what is left to an I/O thread."""

import asyncio

from storage.log.journal import Journal, create_journal_file
from storage.log.journal_names import JOURNAL_DIRECTORY
from storage.log.journal_reach import make_reach
from storage.log.keys import LogKey
from storage.log.log_queue import LogQueue, Pending
from storage.log.log_settings import LogSettings
from storage.log.log_state import LogState
from storage.log.log_table import LogKind
from storage.log.open_files import OpenFiles
from storage.log.recovery_points import RecoveryPoint
from storage.log.round import OwnPart, RoundPart, encode_round, write_round, write_to_memory
from storage.log.segment import Segment
from tests.sim.sim_disk import SimDisk
from tests.support.log_harness import opaque_batch

SETTINGS = LogSettings(segment_bytes=200, index_interval_bytes=200)
FILE_BYTES = 16 * 4096


class _Bench:
    """Logs of one segment each, their files, and a journal."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.disk = SimDisk()
        self.files = OpenFiles(self.disk, limit=8, write_behind_bytes_max=1000)
        self.disk.make_directory(JOURNAL_DIRECTORY)
        self.journal = Journal(self.disk, journal_key=7, sequence=0, life=1, file_bytes=FILE_BYTES, files_max=2)
        self.journal.adopt(create_journal_file(self.disk, 0, FILE_BYTES))
        self.journal.keep_reach(make_reach(self.disk, journal_key=7, sequence=0, life=1))
        self.journal.next_file()

    def part(self, partition: int, *batches: bytearray) -> RoundPart:
        state = LogState(LogKey("alpha", partition, LogKind.MESSAGES), SETTINGS, RecoveryPoint())
        segment = Segment(state.key.directory, 0)
        self.disk.make_directory(state.key.directory)
        self.files.create(segment.path)
        state.add_segment(segment)
        log = LogQueue(state)
        part = OwnPart(log, now_ms=5)
        for batch in batches:
            part.add(Pending(log, batch, 1, 0, 0, self.loop.create_future()))
        return part

    def stored(self, part: RoundPart) -> bytes:
        content = b""
        for write in part.writes:
            with self.files.use(write.segment.path) as file:
                content += file.read(0, 10_000)
        return content


def test_a_round_that_memory_takes_leaves_only_the_journal_to_the_thread() -> None:
    bench = _Bench()
    parts = [bench.part(number, opaque_batch(number)) for number in range(2)]
    bench.disk.crash_after_operations(0)  # the loop must not touch the disk
    assert write_to_memory(bench.files, parts)
    frame = encode_round(bench.journal, parts)
    bench.disk.crash_after_operations(1000)
    assert bench.journal.write(frame) == frame.stored_bytes
    assert [bench.stored(part) for part in parts] == [b"".join(part.batches) for part in parts]


def test_what_memory_took_is_not_written_again_by_the_thread() -> None:
    bench = _Bench()
    parts = [bench.part(number, opaque_batch(number)) for number in range(2)]
    bench.files.forget(parts[1].writes[0].segment.path)
    assert not write_to_memory(bench.files, parts)
    gathered_bytes = bench.files.gathered_bytes
    assert gathered_bytes == parts[0].size_bytes
    write_round(bench.disk, bench.files, bench.journal, parts)
    assert bench.files.gathered_bytes == gathered_bytes + parts[1].size_bytes
    assert [bench.stored(part) for part in parts] == [b"".join(part.batches) for part in parts]


def test_a_part_that_begins_a_segment_is_left_to_the_thread() -> None:
    bench = _Bench()
    part = bench.part(0, opaque_batch(1, size=150), opaque_batch(2, size=150))
    assert len(part.writes) == 2
    assert not write_to_memory(bench.files, [part])
    assert not bench.files.gathered_bytes
    write_round(bench.disk, bench.files, bench.journal, [part])
    assert bench.stored(part) == b"".join(part.batches)
