"""Passes over one replica's log of messages.

First the last offset of each key is found in what is dirty, then every segment up to there is rewritten, the oldest
first: when a tombstone is met, all that is older than it and of its key is gone. How far the passes have got is written
down beside the log; without that, or where the log was cut since, the next one begins anew.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec
import structlog

from acklog.wire.compacted_batch import NEVER_MS, stored_records
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.compaction.compaction_plan import Compacted
from storage.compaction.compaction_settings import CompactionSettings
from storage.compaction.latest_offsets import LatestOffsets
from storage.compaction.segment_compaction import CompactionTerms, SegmentCompaction
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint, write_checkpoint
from storage.log.log_state import COMPACTED_NAME
from storage.log.partition_log import PartitionLog
from storage.log.segment_reader import StoredBatch
from storage.log.segment_rewrite import SealedSegment
from storage.log.uncancelled import uncancelled

logger = structlog.get_logger(__name__)


class CompactedCheckpoint(msgspec.Struct, array_like=True, frozen=True):
    """`epoch` is that of the last message below `clean_end`."""

    clean_end: int
    epoch: int
    oldest_tombstone_ms: int


class PassDone(NamedTuple):
    """What one pass did. `bytes_reclaimed` may be negative: what is met first is noted, and that takes some."""

    compacted: Compacted
    records_removed: int
    bytes_reclaimed: int


class LogCompaction:
    """Of one replica. `on_replaced` is told of offsets whose batches are others now."""

    def __init__(
        self,
        log: PartitionLog,
        *,
        disk: Disk,
        io: IoExecutor,
        clock: Clock,
        settings: CompactionSettings,
        on_replaced: Callable[[int, int], None],
    ) -> None:
        self._log = log
        self._path = f"{log.key.directory}/{COMPACTED_NAME}"
        self._disk = disk
        self._io = io
        self._clock = clock
        self._settings = settings
        self._on_replaced = on_replaced
        self._checkpoint: CompactedCheckpoint | None = None

    async def compacted(self) -> Compacted:
        """How far the passes have got. Raises DiskFailedError, DiskRefusedError."""
        if self._checkpoint is None:
            self._checkpoint = await self._io.run(partial(_read, self._disk, self._path))
        found, log = self._checkpoint, self._log
        is_of_this_log = found.clean_end <= log.log_end and (
            found.clean_end <= log.log_start or log.leader_epochs.epoch_at(found.clean_end - 1) == found.epoch
        )
        return Compacted(found.clean_end, found.oldest_tombstone_ms) if is_of_this_log else Compacted()

    async def go_through(
        self, end: int, *, tombstone_ms: int, identities_ms: int, tombstones_may_go: Callable[[], bool]
    ) -> PassDone:
        """One pass up to `end`, or less far where there are too many keys. Raises ServerError; ValueError for a batch
        that is damaged or cannot be decoded; DiskFailedError, DiskRefusedError."""
        done = await self.compacted()
        latest = await self._latest(max(done.clean_end, self._log.log_start), end)
        removed = reclaimed = 0
        oldest_ms = NEVER_MS
        for segment in self._segments_below(latest.end):
            now_ms = self._clock.now_ms()
            terms = CompactionTerms(
                now_ms=now_ms,
                tombstones_met_before_ms=now_ms - tombstone_ms if tombstones_may_go() else NEVER_MS,
                # A leader goes by the log's own time for what may come again.
                identities_kept_after_ms=min(now_ms, self._log.last_append_ms) - identities_ms,
            )
            compaction = SegmentCompaction(latest, terms)
            rewritten = await self._log.rewrite_segment(
                segment.base_offset, compaction, step_bytes=self._settings.step_bytes, pause=self._pause
            )
            if rewritten is not None:
                self._on_replaced(segment.base_offset, segment.end_offset)
                removed += compaction.figures.records_removed
                reclaimed += rewritten.size_bytes_before - rewritten.size_bytes
            oldest_ms = _older(oldest_ms, compaction.figures.oldest_tombstone_ms)
        compacted = Compacted(latest.end, oldest_ms)
        await self._write(compacted)
        return PassDone(compacted, removed, reclaimed)

    def _segments_below(self, end: int) -> list[SealedSegment]:
        """All of them: where one is left out, what is newer may not go. Raises ServerError."""
        found = [each for each in self._log.sealed_segments() if each.base_offset < end]
        if not found or found[-1].end_offset < end:
            raise ServerError(ProblemCode.OFFSET_OUT_OF_RANGE, "the log was cut meanwhile")
        return found

    async def _latest(self, begin: int, end: int) -> LatestOffsets:
        latest = LatestOffsets(begin, bytes_max=self._settings.keys_bytes_max)
        while latest.end < end:
            found = await self._log.read(latest.end, max_bytes=self._settings.step_bytes, until=end)
            if not found:
                raise ServerError(ProblemCode.OFFSET_OUT_OF_RANGE, "the log was cut meanwhile")
            if not await self._io.run(partial(_take_in, latest, found)):
                return latest
            await self._pause(sum(header.length for header, _ in found))
        return latest

    async def _pause(self, size_bytes: int) -> None:
        await self._clock.sleep(size_bytes * 1000 / self._settings.bytes_per_second)
        await asyncio.sleep(0)

    async def _write(self, compacted: Compacted) -> None:
        clean_end = compacted.clean_end
        epoch = self._log.leader_epochs.epoch_at(clean_end - 1)
        self._checkpoint = CompactedCheckpoint(clean_end, epoch, compacted.oldest_tombstone_ms)
        payload = msgspec.msgpack.encode(self._checkpoint)
        await uncancelled(self._io.run(partial(write_checkpoint, self._disk, self._path, payload)))


def _take_in(latest: LatestOffsets, found: Sequence[StoredBatch]) -> bool:
    """In an I/O thread. False where there is no more room."""
    for header, data in found:
        if header.next_offset <= latest.end:
            continue
        if not latest.add(header, stored_records(data, header)[1]):
            return False
    return True


def _read(disk: Disk, path: str) -> CompactedCheckpoint:
    """Nothing, where it is missing or damaged: then all is gone through anew."""
    try:
        payload = read_checkpoint(disk, path)
        if payload is not None:
            return msgspec.msgpack.decode(payload, type=CompactedCheckpoint)
    except (CheckpointDamagedError, ValueError) as error:
        logger.warning("compaction_checkpoint_damaged", path=path, reason=str(error))
    return CompactedCheckpoint(0, -1, NEVER_MS)


def _older(first_ms: int, second_ms: int) -> int:
    if NEVER_MS in (first_ms, second_ms):
        return max(first_ms, second_ms)
    return min(first_ms, second_ms)
