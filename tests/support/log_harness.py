"""Drive a LogStore on a simulated disk: plain event loop, no threads, a clock that a test moves, lives that end."""

import asyncio
import random
from collections.abc import Coroutine
from typing import Any, NamedTuple, TypeVar

from acklog.wire.batch import DedupKey, encode_batch, encode_opaque_batch, read_header, stamp
from acklog.wire.record import Record
from storage.log.log_settings import LogSettings, LogStoreSettings
from storage.log.partition_log import PartitionLog
from storage.log.store import LogStore
from tests.sim.environment import SimEntropy
from tests.sim.inline_executor import InlineExecutor
from tests.sim.sim_disk import SimDisk
from tests.support.manual_clock import ManualClock

_Result = TypeVar("_Result")

SMALL_STORE = LogStoreSettings(
    journal_file_bytes=5 * 4096,
    journal_files_max=3,
    journal_files_kept=2,
    round_bytes_max=8192,
    pending_bytes_max=64 * 1024,
    reserve_bytes=0,
    ballast_bytes=0,
    free_check_interval_ms=0,
    sync_interval_ms=1_000_000_000,
    sync_pause_ms=0,
    open_files_max=4,
    write_behind_bytes_max=700,
    closed_indexes_max=2,
    recovery_log=LogSettings(segment_bytes=1000, index_interval_bytes=200),
)
SMALL_LOG = LogSettings(segment_bytes=1000, index_interval_bytes=200)


class Found(NamedTuple):
    """A batch as a reader sees it; `content` is what its producer made, without the leader's stamp."""

    base_offset: int
    next_offset: int
    leader_epoch: int
    content: bytes


class LogHarness:
    """One disk and the processes that use it, one after another."""

    def __init__(self, settings: LogStoreSettings = SMALL_STORE, *, seed: int = 0) -> None:
        self.settings = settings
        self.disk = SimDisk(seed=seed)
        self.clock = ManualClock()
        self.random = random.Random(seed)
        self.loop = asyncio.new_event_loop()
        self._store: LogStore | None = None

    @property
    def store(self) -> LogStore:
        assert self._store is not None, "no process is running"
        return self._store

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        return self.loop.run_until_complete(work)

    def open(self) -> LogStore:
        self._store = self.run(
            LogStore.open(
                disk=self.disk,
                io=InlineExecutor(),
                clock=self.clock,
                entropy=SimEntropy(7),
                settings=self.settings,
            )
        )
        return self._store

    def close(self) -> None:
        """An orderly stop."""
        self.run(self.store.close())
        self.end_life()
        self.disk.kill()

    def kill(self) -> None:
        self.end_life()
        self.disk.kill()

    def lose_power(self) -> None:
        self.end_life()
        self.disk.power_loss(self.random)

    def end_life(self) -> None:
        """Whatever the process had running ends here, without another step on the disk."""
        self.disk.crash()
        self._store = None
        tasks = sorted(asyncio.all_tasks(self.loop), key=lambda task: task.get_name())
        for task in tasks:
            task.cancel()
        if tasks:
            self.run(_wait_for(tasks))
        self.loop.close()
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda _loop, _context: None)

    def read_all(self, log: PartitionLog, *, max_bytes: int = 700) -> list[Found]:
        return self.run(read_all(log, max_bytes=max_bytes))

    def read_bytes(self, log: PartitionLog) -> list[bytes]:
        """Every batch as it is stored, its stamp included."""
        return self.run(read_bytes(log, max_bytes=700))

    def dispose(self) -> None:
        self.end_life()
        self.loop.close()


async def _wait_for(tasks: list[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


async def read_all(log: PartitionLog, *, max_bytes: int = 700) -> list[Found]:
    """Everything in the log; fails if batches do not follow one another or append times fall."""
    return [found_in(batch) for batch in await read_bytes(log, max_bytes=max_bytes)]


async def read_bytes(log: PartitionLog, *, max_bytes: int) -> list[bytes]:
    """As `read_all`, the batches themselves."""
    found: list[bytes] = []
    offset, last_ms = log.log_start, 0
    while offset < log.log_end:
        batches = await log.read(offset, max_bytes=max_bytes)
        assert batches, f"nothing at {offset}, the log ends at {log.log_end}"
        for header, data in batches:
            assert header.base_offset == offset, f"{header.base_offset} instead of {offset}"
            assert header.append_time_ms >= last_ms
            last_ms = header.append_time_ms
            offset = header.next_offset
            found.append(bytes(data))
    assert offset == log.log_end
    return found


def found_in(batch: bytes) -> Found:
    header = read_header(batch)
    return Found(header.base_offset, header.next_offset, header.leader_epoch, content_of(batch))


def content_of(batch: bytes | bytearray | memoryview) -> bytes:
    """What a batch's producer made: everything behind the leader's stamp."""
    return bytes(batch[32:])


def opaque_batch(serial: int, *, records: int = 1, size: int = 40) -> bytearray:
    """A batch that no other serial has."""
    return encode_opaque_batch((b"%08d" % serial) * (size // 8 + 1), count=records)


def keyed_batch(serial: int) -> bytearray:
    return encode_batch([Record(b"%08d" % serial)], keys=[DedupKey(0, f"key-{serial}", b"12345678")])


def stamped(batch: bytearray, *, base_offset: int, leader_epoch: int = 0, append_ms: int = 0) -> bytes:
    """`batch` as the leader of another node has it."""
    stamp(batch, base_offset=base_offset, leader_epoch=leader_epoch, append_time_ms=append_ms)
    return bytes(batch)


def stamped_run(
    base_offset: int, serials: range, *, leader_epoch: int = 0, append_ms: int = 0, size: int = 200
) -> bytes:
    """Batches of one record each, back to back."""
    return b"".join(
        stamped(opaque_batch(serial, size=size), base_offset=offset, leader_epoch=leader_epoch, append_ms=append_ms)
        for offset, serial in enumerate(serials, base_offset)
    )
