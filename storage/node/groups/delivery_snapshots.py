"""Snapshots of a partition's delivery state: what a delivery log that was trimmed begins with.

    offset size field
    0      8    offset up to which the delivery log is in the state, exclusive
    8           the state (`PartitionDelivery.snapshot`)

in a checkpoint file beside the log's segments. Committed facts only, so a snapshot is never ahead of a truncation.
The log is trimmed for a snapshot that is durable, so one that ends before the log begins is not the one that it was
trimmed for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import structlog

from acklog.wire.batch import BatchCorruptError, opaque_payload
from cluster.ports.clock import Clock
from storage.delivery.partition_delivery import PartitionDelivery, log_of_snapshot
from storage.delivery.records import decode_records
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint, write_checkpoint
from storage.log.keys import LogKey
from storage.log.log_directory import make_log_directory
from storage.log.partition_log import PartitionLog

logger = structlog.get_logger(__name__)

SNAPSHOT_NAME = "snapshot"
_READ_BYTES = 4 * 1024 * 1024
_OFFSET_BYTES = 8


@dataclass(frozen=True, slots=True)
class Restored:
    """`offset` is behind the last record that is in the state; `tail_bytes` of the log were replayed."""

    offset: int
    tail_bytes: int


class DeliverySnapshots:
    """Of one node. `new_state(leader_epoch)` makes an empty state."""

    def __init__(
        self, disk: Disk, io: IoExecutor, clock: Clock, *, new_state: Callable[[int], PartitionDelivery]
    ) -> None:
        self.new_state = new_state
        self._disk = disk
        self._io = io
        self._clock = clock

    async def restore(self, state: PartitionDelivery, log: PartitionLog, *, until: int) -> Restored:
        """Snapshot, then the log's tail up to `until`, into a new `state`.

        Raises CheckpointDamagedError for a snapshot that is damaged, or is not the one that the log was trimmed for, or
        that knows more than the log: going on would forget acknowledgements, now or at the next start.
        """
        offset, data = await self.read(log)
        if data:
            state.restore(data, now_ms=self._clock.monotonic_ms(), wall_now_ms=self._clock.now_ms())
        if offset > log.log_end:
            raise CheckpointDamagedError(f"{path_of(log)} goes up to {offset}, but the log ends at {log.log_end}")
        tail_bytes = 0
        while offset < until:
            for stored in await log.read(offset, max_bytes=_READ_BYTES, until=until):
                if stored.header.base_offset >= offset:
                    records = decode_records(opaque_payload(stored.data, stored.header))
                    state.apply(records, now_ms=self._clock.monotonic_ms(), wall_now_ms=self._clock.now_ms())
                    tail_bytes += stored.header.length
                offset = stored.header.next_offset
        return Restored(offset, tail_bytes)

    async def read(self, log: PartitionLog) -> tuple[int, bytes]:
        """(offset, state) as they are stored; the state is empty where nothing was ever trimmed. Raises
        CheckpointDamagedError for a snapshot that is damaged, of another log, or not the one that the log was trimmed
        for; ServerError UNAVAILABLE where the key for it is not known."""
        log_start = log.log_start  # of before the reading: whoever trims the log writes the snapshot first
        payload = await self._io.run(partial(read_checkpoint, self._disk, path_of(log)))
        if payload is None:
            if log_start:
                raise CheckpointDamagedError(f"{path_of(log)} is missing, and the log begins at {log_start} only")
            return 0, b""
        offset = int.from_bytes(payload[:_OFFSET_BYTES], "big")
        try:
            state = log.cipher.decrypted_state(memoryview(payload)[_OFFSET_BYTES:])
        except BatchCorruptError as error:
            raise CheckpointDamagedError(f"{path_of(log)} cannot be decrypted: {error}") from error
        owner = log_of_snapshot(state)
        if owner not in {"", str(log.key)}:
            raise CheckpointDamagedError(f"{path_of(log)} is the snapshot of another log, {owner}")
        if offset < log_start:
            raise CheckpointDamagedError(f"{path_of(log)} goes up to {offset}, and the log begins at {log_start} only")
        return offset, state

    async def write(self, log: PartitionLog, offset: int, state: bytes) -> None:
        """Replace the snapshot, durably. Raises DiskFullError, ShortageError, DiskFailedError, and ServerError
        UNAVAILABLE while it cannot be encrypted and should be."""
        if state:
            payload = offset.to_bytes(_OFFSET_BYTES, "big") + log.cipher.encrypted_state(state)
            await self._io.run(partial(_write, self._disk, log.key, payload))
        else:
            await self._io.run(partial(_remove, self._disk, path_of(log)))

    async def compact(self, log: PartitionLog, until: int, *, leader_epoch: int) -> None:
        """Make a snapshot of what is committed, below `until`, and trim the log for it. For a log that nobody has a
        live state of."""
        state = self.new_state(leader_epoch)
        restored = await self.restore(state, log, until=until)
        await self.write(log, restored.offset, state.snapshot(log=str(log.key)))
        await log.remove_before(restored.offset)

    async def finish_restart(self, log: PartitionLog) -> None:
        """A replica that began its log anew wrote the snapshot first. If a crash came in between, the log is still the
        one before: it ends below the snapshot, or it began with one that was replaced. Raises CheckpointDamagedError,
        DiskFailedError."""
        offset, _ = await self.read(log)
        if offset > log.log_end:
            logger.warning("restart_of_log_finished", log=str(log.key), offset=offset)
            await log.reset_to(offset)


def _write(disk: Disk, key: LogKey, payload: bytes) -> None:
    """Also where the log has no files yet: a replica that begins anew writes the snapshot first."""
    make_log_directory(disk, key)
    write_checkpoint(disk, f"{key.directory}/{SNAPSHOT_NAME}", payload)


def path_of(log: PartitionLog) -> str:
    return f"{log.key.directory}/{SNAPSHOT_NAME}"


def _remove(disk: Disk, path: str) -> None:
    if disk.exists(path):
        disk.remove(path)
        disk.sync_directory(path.rpartition("/")[0])
