"""Runs a partition's delivery state over its delivery log: only this writes the one and applies to the other.

A decision's record goes to the log first; when it is durable it is applied and its waiter answered (rules R24, R25).
Records of one loop turn share a batch. When an append fails, its records are aborted and every waiter gets the error.
"""

import asyncio
from collections.abc import Callable
from functools import partial

import structlog

from acklog.wire.batch import encode_opaque_batch, opaque_payload
from cluster.clock import Clock
from cluster.errors import AcklogError
from storage.delivery.partition_delivery import PartitionDelivery
from storage.delivery.records import DeliveryRecord, decode_records, encode_records
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk, DiskFailedError, DiskFullError
from storage.log.checkpoint import CheckpointDamagedError, read_checkpoint, write_checkpoint
from storage.log.partition_log import PartitionLog, Space
from storage.log.round import Appended

logger = structlog.get_logger(__name__)

_READ_BYTES = 4 * 1024 * 1024
_SNAPSHOT_OFFSET_BYTES = 8

Waiting = tuple[DeliveryRecord, asyncio.Future[None] | None]


class DeliveryHost:
    """Create it with `recover`. `state` may be asked at any time and is changed here only (but for leases)."""

    def __init__(
        self,
        state: PartitionDelivery,
        log: PartitionLog,
        *,
        leader_epoch: int,
        clock: Clock,
        disk: Disk,
        io: IoExecutor,
        snapshot_path: str,
        snapshot_bytes: int,
        on_disk_failed: Callable[[str], None],
    ) -> None:
        self.state = state
        self.snapshots_taken = 0
        self._log = log
        self._leader_epoch = leader_epoch
        self._clock = clock
        self._disk = disk
        self._io = io
        self._snapshot_path = snapshot_path
        self._snapshot_bytes = snapshot_bytes
        self._on_disk_failed = on_disk_failed
        self._pending: list[Waiting] = []
        self._applied_offset = log.log_end
        self._bytes_since_snapshot = 0
        self._snapshotting: asyncio.Task[None] | None = None
        self._in_flight = 0
        self._idle: asyncio.Event = asyncio.Event()
        self._idle.set()

    async def recover(self) -> None:
        """Snapshot, then the log's tail: what was durable when the node stopped.

        Raises CheckpointDamagedError for a snapshot that is damaged, or missing although the log was trimmed for it,
        or that knows more than the log: going on would forget acknowledgements, now or at the next start.
        """
        payload = await self._io.run(partial(read_checkpoint, self._disk, self._snapshot_path))
        offset = self._log.log_start
        if payload is not None:
            offset = int.from_bytes(payload[:_SNAPSHOT_OFFSET_BYTES], "big")
            self.state.restore(
                payload[_SNAPSHOT_OFFSET_BYTES:],
                now_ms=self._clock.monotonic_ms(),
                wall_now_ms=self._clock.now_ms(),
            )
        elif offset:
            raise CheckpointDamagedError(f"{self._snapshot_path} is missing, and the log begins at {offset} only")
        if offset > self._log.log_end:
            raise CheckpointDamagedError(
                f"{self._snapshot_path} goes up to {offset}, but the log ends at {self._log.log_end}"
            )
        while offset < self._log.log_end:
            for stored in await self._log.read(offset, max_bytes=_READ_BYTES):
                if stored.header.base_offset >= offset:
                    self._apply(decode_records(opaque_payload(stored.data, stored.header)))
                    self._bytes_since_snapshot += stored.header.length
                offset = stored.header.next_offset
        self._applied_offset = self._log.log_end

    def write(self, record: DeliveryRecord) -> None:
        """Log the record and apply it when it is durable; nobody waits for it."""
        self._add(record, None)

    async def commit(self, record: DeliveryRecord) -> None:
        """As `write`, and return when it is applied. Raises what the append raises; the decision is then undone.

        A caller that is cancelled gives up waiting only.
        """
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._add(record, waiter)
        await waiter

    async def close(self) -> None:
        """Wait for what is under way and leave a snapshot, so that the next start replays nothing."""
        await self._idle.wait()
        if self._snapshotting is not None:
            await self._snapshotting
        if self._bytes_since_snapshot:
            await self._snapshot()

    def _add(self, record: DeliveryRecord, waiter: asyncio.Future[None] | None) -> None:
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._flush)
        self._pending.append((record, waiter))
        self._in_flight += 1
        self._idle.clear()

    def _flush(self) -> None:
        batch, self._pending = self._pending, []
        encoded = encode_opaque_batch(encode_records([record for record, _ in batch]), count=len(batch))
        try:
            future = self._log.append(encoded, leader_epoch=self._leader_epoch, space=Space.RESERVED)
        except Exception as error:
            self._finish_failed(batch, error)
        else:
            future.add_done_callback(partial(self._flushed, batch, len(encoded)))

    def _flushed(self, batch: list[Waiting], length: int, future: "asyncio.Future[Appended]") -> None:
        if future.cancelled():
            self._finish_failed(batch, asyncio.CancelledError())
            return
        error = future.exception()
        if error is not None:
            self._finish_failed(batch, error)
            return
        self._apply([record for record, _ in batch])
        self._applied_offset = future.result().next_offset
        self._bytes_since_snapshot += length
        for _, waiter in batch:
            if waiter is not None and not waiter.done():
                waiter.set_result(None)
        self._finished(len(batch))
        if self._bytes_since_snapshot >= self._snapshot_bytes and self._snapshotting is None:
            self._snapshotting = asyncio.get_running_loop().create_task(self._snapshot())

    def _finish_failed(self, batch: list[Waiting], error: BaseException) -> None:
        self.state.abort([record for record, _ in batch], now_ms=self._clock.monotonic_ms())
        for _, waiter in batch:
            if waiter is not None and not waiter.done():
                waiter.set_exception(error)
        self._finished(len(batch))

    def _finished(self, count: int) -> None:
        self._in_flight -= count
        if not self._in_flight:
            self._idle.set()

    def _apply(self, records: list[DeliveryRecord]) -> None:
        self.state.apply(records, now_ms=self._clock.monotonic_ms(), wall_now_ms=self._clock.now_ms())

    async def _snapshot(self) -> None:
        """Write the committed state, then trim the log below it. The state and its offset are taken in one step."""
        offset = self._applied_offset
        payload = offset.to_bytes(_SNAPSHOT_OFFSET_BYTES, "big") + self.state.snapshot()
        self._bytes_since_snapshot = 0
        try:
            await self._io.run(partial(write_checkpoint, self._disk, self._snapshot_path, payload))
            await self._log.remove_before(offset)
            self.snapshots_taken += 1
        except DiskFullError as error:
            # The log keeps what the snapshot would have replaced; the next one comes after as many bytes again.
            logger.warning("delivery_snapshot_postponed", path=self._snapshot_path, reason=str(error))
        except DiskFailedError as error:
            self._on_disk_failed(f"the delivery snapshot {self._snapshot_path} could not be made durable: {error}")
        except AcklogError as error:
            logger.warning("delivery_log_not_trimmed", path=self._snapshot_path, reason=str(error))
        finally:
            self._snapshotting = None
