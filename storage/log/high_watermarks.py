"""The node-wide checkpoint of high watermarks: what a replica knows to be committed when it comes back.

A high watermark that is too low is always right, as it rises again once a leader has spoken. So the checkpoint is
synced with nothing else and may be of any earlier moment, and one that is missing or damaged counts as empty. It is
never too high either: what was committed once stays committed, and before an unclean election has it cut away, it is
made lower.
"""

import asyncio
from collections.abc import Mapping
from functools import partial

import msgspec
import structlog

from storage.disk.executor import IoExecutor
from storage.disk.port import Disk, DiskFailedError, DiskRefusedError
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint, write_checkpoint
from storage.log.keys import LogKey, parse_key
from storage.log.uncancelled import uncancelled

HIGH_WATERMARKS_PATH = "high-watermarks"

logger = structlog.get_logger(__name__)


class HighWatermarks:
    """What the checkpoint said at the start, and the way to write the next one. One per data directory."""

    def __init__(self, disk: Disk, io: IoExecutor, stored: Mapping[LogKey, int]) -> None:
        """For `read`."""
        self._disk = disk
        self._io = io
        self._stored = dict(stored)
        self._unclaimed = dict(stored)
        self._written = dict(stored)
        self._writing = asyncio.Lock()

    @classmethod
    async def read(cls, disk: Disk, io: IoExecutor) -> "HighWatermarks":
        """What was written last, of logs that are still there; nothing where that cannot be told."""
        return cls(disk, io, await io.run(partial(_read, disk)))

    def get(self, key: LogKey) -> int:
        """As it was read at the start; 0 where nothing is known."""
        return self._stored.get(key, 0)

    async def lower(self, key: LogKey, offset: int) -> None:
        """Before the log is cut at `offset`: or what comes in place of what is cut would count as committed after a
        crash. Raises DiskRefusedError, DiskFailedError."""
        async with self._writing:
            for each in (self._stored, self._unclaimed):
                if each.get(key, 0) > offset:
                    each[key] = offset
            if self._written.get(key, 0) > offset:
                wanted = {**self._written, key: offset}
                await uncancelled(self._io.run(partial(_write, self._disk, wanted)))
                self._written = wanted

    async def write(self, known: Mapping[LogKey, int]) -> None:
        """Write what has changed since the last time, logs that nobody has spoken of yet included.

        A disk that is full or fails leaves the old checkpoint, or none: both are right, so that is only logged.
        """
        self._unclaimed = {key: offset for key, offset in self._unclaimed.items() if key not in known}
        wanted = {**self._unclaimed, **known}
        async with self._writing:
            if wanted == self._written:
                return
            try:
                await uncancelled(self._io.run(partial(_write, self._disk, wanted)))
            except (DiskRefusedError, DiskFailedError) as error:
                logger.warning("high_watermarks_not_written", reason=str(error))
            else:
                self._written = wanted


def _write(disk: Disk, high_watermarks: Mapping[LogKey, int]) -> None:
    # 0 says no more than nothing, and an earlier version may not know of that log.
    payload = msgspec.msgpack.encode({str(key): offset for key, offset in high_watermarks.items() if offset})
    write_checkpoint(disk, HIGH_WATERMARKS_PATH, payload)


def _read(disk: Disk) -> dict[LogKey, int]:
    try:
        payload = read_checkpoint(disk, HIGH_WATERMARKS_PATH)
        stored = {} if payload is None else msgspec.msgpack.decode(payload, type=dict[str, int])
        high_watermarks = {parse_key(text): offset for text, offset in stored.items() if offset >= 0}
    except (CheckpointDamagedError, DiskFailedError, ValueError):
        return {}
    return {key: offset for key, offset in high_watermarks.items() if disk.exists(key.directory)}
