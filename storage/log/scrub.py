"""Reads what is stored again, in the background, to find what has rotted while nobody read it (rule R12).

What it finds counts as found by a reader: the log says so, and in a cluster the replica is replaced. Reads and checks
are made in I/O threads, a little at a time; where a pass stands is written down now and then, and the next process goes
on from there.
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

import msgspec
import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.disk.port import Disk, DiskFailedError, DiskRefusedError
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint, write_checkpoint
from storage.log.engine import Engine
from storage.log.keys import LogKey
from storage.log.partition_log import PartitionLog
from storage.log.scrub_schedule import ScrubPosition, ScrubSchedule
from storage.log.uncancelled import uncancelled

SCRUB_PATH = "scrub"

_WAIT_MS_MAX = 60_000
_RETRY_MS = 1_000
_LOG_PAUSE_MS = 1  # there may be tens of thousands with nothing in them, and others want their turn

logger = structlog.get_logger(__name__)


class Scrub:
    """Of one data directory. `verified_bytes` counts since the start."""

    def __init__(
        self, engine: Engine, logs: Mapping[LogKey, PartitionLog], *, on_crashed: Callable[[str], None]
    ) -> None:
        settings = engine.settings
        self.verified_bytes = 0
        self._engine = engine
        self._logs = logs
        self._on_crashed = on_crashed
        self._schedule = ScrubSchedule(
            ScrubPosition(),
            interval_ms=settings.scrub_interval_ms,
            min_age_ms=settings.scrub_min_age_ms,
            bytes_per_second=settings.scrub_bytes_per_second,
        )
        self._task: asyncio.Task[None] | None = None

    @property
    def last_pass_ms(self) -> int:
        """Wall milliseconds when the last full pass ended; -1 before the first one."""
        return self._schedule.position.ended_ms

    @property
    def damaged_places(self) -> int:
        """Of the pass under way or of the last full one, whichever has found more."""
        return max(self.position.damaged, self.position.last_damaged)

    @property
    def position(self) -> ScrubPosition:
        return self._schedule.position

    def start(self) -> None:
        if self._engine.settings.scrub_bytes_per_second:
            self._task = asyncio.get_running_loop().create_task(self._run())
            self._task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Where it stands is kept."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_crashed(f"the scrub of the data directory crashed: {error!r}")

    async def _run(self) -> None:
        engine, schedule = self._engine, self._schedule
        schedule.position = await engine.io.run(partial(_read, engine.disk))
        await engine.clock.sleep(engine.settings.scrub_checkpoint_ms)  # a start has better things to do
        while engine.failure is None:
            wait_ms = schedule.due_in_ms(engine.clock.now_ms())
            if wait_ms:
                await engine.clock.sleep(min(wait_ms, _WAIT_MS_MAX))
                continue
            schedule.begin(self._logs, engine.clock.now_ms())
            await self._pass()

    async def _pass(self) -> None:
        clock, schedule = self._engine.clock, self._schedule
        checkpoint_at_ms = clock.monotonic_ms() + self._engine.settings.scrub_checkpoint_ms
        while (key := schedule.current(clock.now_ms())) is not None:
            pause_ms = await self._step(key)
            if pause_ms:
                await clock.sleep(pause_ms)
            if clock.monotonic_ms() >= checkpoint_at_ms:
                checkpoint_at_ms = clock.monotonic_ms() + self._engine.settings.scrub_checkpoint_ms
                await self._write()
            if self._engine.failure is not None:
                return
        await self._write()
        logger.info("scrub_passed", damaged=schedule.position.last_damaged)

    async def _step(self, key: LogKey) -> float:
        """Verify a piece of the log; how long to pause for it, in ms."""
        schedule = self._schedule
        offset = schedule.position.offset
        log = self._logs.get(key)
        try:
            verified = None
            if log is not None:
                verified = await log.verify(
                    offset, max_bytes=self._engine.settings.scrub_step_bytes, older_than_ms=schedule.older_than_ms
                )
        except ServerError as error:
            if error.code.retriable:
                return _RETRY_MS
            if error.code not in _OF_THE_LOG:
                raise
            verified = None  # it is refused as a whole, which is known, or gone
        if verified is None:
            schedule.log_done()
            return _LOG_PAUSE_MS
        if verified.found_damage:
            logger.error("scrub_found_damage", log=str(key), offset=offset, next_offset=verified.next_offset)
        self.verified_bytes += verified.size_bytes
        schedule.went_on(verified.next_offset, found_damage=verified.found_damage)
        return schedule.pause_ms(max(verified.size_bytes, 1))

    async def _write(self) -> None:
        """A disk that is full or fails leaves the position of before: then some is verified again."""
        engine = self._engine
        payload = msgspec.msgpack.encode(self._schedule.position)
        try:
            await uncancelled(engine.io.run(partial(write_checkpoint, engine.disk, SCRUB_PATH, payload)))
        except (DiskRefusedError, DiskFailedError) as error:
            logger.warning("scrub_position_not_written", reason=str(error))


_OF_THE_LOG = frozenset(
    {
        ProblemCode.RECORDS_CORRUPT,
        ProblemCode.TOPIC_NOT_FOUND,
        ProblemCode.OFFSET_OUT_OF_RANGE,
        ProblemCode.STORAGE_FAILED,
    }
)


def _read(disk: Disk) -> ScrubPosition:
    """Where the last process was; at the beginning where that cannot be told."""
    try:
        payload = read_checkpoint(disk, SCRUB_PATH)
        return ScrubPosition() if payload is None else msgspec.msgpack.decode(payload, type=ScrubPosition)
    except (CheckpointDamagedError, DiskFailedError, DiskRefusedError, ValueError):
        return ScrubPosition()
