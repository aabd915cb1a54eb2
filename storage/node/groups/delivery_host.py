"""Runs a partition's delivery state over its delivery log: only this writes the one and applies to the other.

A decision's record goes to the log first; when it is committed, durable on every in-sync replica, it is applied and its
waiter answered (rules R24, R25). Records of one loop turn share a batch. When an append fails, its records are aborted
and every waiter gets the error.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import structlog

from acklog.wire.batch import encode_opaque_batch
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.partition_delivery import PartitionDelivery
from storage.delivery.records import DeliveryRecord, encode_records
from storage.disk.port import DiskFailedError, DiskRefusedError
from storage.log.log_queue import Appended
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from storage.node.groups.delivery_snapshots import DeliverySnapshots, path_of
from storage.replication.leadership import UNAVAILABLE_RETRY_MS, Leadership, check_sure
from storage.rpc.messages import SettleItem

logger = structlog.get_logger(__name__)

Waiting = tuple[DeliveryRecord, asyncio.Future[None] | None]


class _Uncommitted(NamedTuple):
    """Records that are durable here and wait for the high watermark to pass them."""

    batch: list[Waiting]
    next_offset: int
    size_bytes: int


class DeliveryHost:
    """Create it with `recover`. `state` may be asked at any time and is changed here only (but for leases)."""

    def __init__(
        self,
        state: PartitionDelivery,
        log: PartitionLog,
        *,
        leadership: Leadership,
        clock: Clock,
        snapshots: DeliverySnapshots,
        snapshot_bytes: int,
        on_disk_failed: Callable[[str], None],
    ) -> None:
        self.state = state
        self.snapshots_taken = 0
        self._log = log
        self._leadership = leadership
        self._clock = clock
        self._snapshots = snapshots
        self._snapshot_bytes = snapshot_bytes
        self._on_disk_failed = on_disk_failed
        self._pending: list[Waiting] = []
        self._uncommitted: deque[_Uncommitted] = deque()
        self.on_applied: Callable[[], None] = lambda: None  # called when a decision has taken effect
        self._has_ended = False
        self._applied_offset = log.log_end
        self._bytes_since_snapshot = 0
        self._snapshotting: asyncio.Task[None] | None = None
        self._in_flight = 0
        self._idle: asyncio.Event = asyncio.Event()
        self._idle.set()

    async def recover(self) -> None:
        """What is committed, from the snapshot and the log's tail. Raises CheckpointDamagedError."""
        until = self._leadership.high_watermark(LogKind.DELIVERY)
        restored = await self._snapshots.restore(self.state, self._log, until=until)
        self._applied_offset = restored.offset
        self._bytes_since_snapshot = restored.tail_bytes

    def committed_state(self) -> tuple[int, bytes]:
        """(offset up to which the delivery log is in it, the state as a snapshot has it)."""
        return self._applied_offset, self.state.snapshot(log=str(self._log.key))

    async def wait_until_idle(self) -> None:
        """Until everything that was written is committed or has failed."""
        await self._idle.wait()

    def check_sure(self) -> None:
        """Raises ServerError UNAVAILABLE where somebody else may lead by now, and know of acks that are not known
        here."""
        check_sure(self._leadership)

    def check_epochs(self, items: Iterable[SettleItem]) -> None:
        """Raises ServerError UNAVAILABLE for a receipt of a later leader epoch: this leader is over, and does not know
        yet."""
        if max([item.leader_epoch for item in items], default=0) > self._leadership.leader_epoch:
            raise ServerError(
                ProblemCode.UNAVAILABLE,
                "A receipt is of a later leader than this one.",
                retry_after_ms=UNAVAILABLE_RETRY_MS,
            )

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

    async def commit_together(self, records: Iterable[DeliveryRecord]) -> None:
        """As `commit`, of several: nothing that is decided later comes in front of any of them, or in between."""
        loop = asyncio.get_running_loop()
        waiters: list[asyncio.Future[None]] = []
        for record in records:
            waiters.append(loop.create_future())
            self._add(record, waiters[-1])
        await asyncio.gather(*waiters)

    def record_passed_over(self, group: GroupInPartition) -> None:
        """Log what the group's filter has passed over, if that is not done: in front of what lies behind it."""
        skipped = group.record_passed_over()
        if skipped is not None:
            self.write(skipped)

    async def commit_passed_over(self, group: GroupInPartition) -> None:
        """As `record_passed_over`, and return when it is applied: what it held up in an order goes on. Raises what the
        append raises; it is recorded later then."""
        skipped = group.record_passed_over()
        if skipped is not None:
            await self.commit(skipped)

    async def close(self) -> None:
        """Wait for what is under way and leave a snapshot, so that the next start replays nothing."""
        await self._idle.wait()
        if self._snapshotting is not None:
            await self._snapshotting
        if self._bytes_since_snapshot and not self._has_ended:
            await self._snapshot()

    def _add(self, record: DeliveryRecord, waiter: asyncio.Future[None] | None) -> None:
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._flush)
        self._pending.append((record, waiter))
        self._in_flight += 1
        self._idle.clear()

    def _flush(self) -> None:
        batch, self._pending = self._pending, []
        if self._has_ended:
            self._finish_failed(batch, _ended())
            return
        encoded = encode_opaque_batch(encode_records([record for record, _ in batch]), count=len(batch))
        try:
            future = self._log.append(encoded, leader_epoch=self._leadership.leader_epoch)
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
        if self._has_ended:
            self._finish_failed(batch, _ended())
            return
        self._uncommitted.append(_Uncommitted(batch, future.result().next_offset, length))
        self._leadership.log_moved()
        self.high_watermark_advanced(self._leadership.high_watermark(LogKind.DELIVERY))

    def high_watermark_advanced(self, high_watermark: int) -> None:
        """Everything below it is committed: it takes effect, and who waited for it is told."""
        while self._uncommitted and self._uncommitted[0].next_offset <= high_watermark:
            done = self._uncommitted.popleft()
            self._apply([record for record, _ in done.batch])
            self._applied_offset = done.next_offset
            self._bytes_since_snapshot += done.size_bytes
            for _, waiter in done.batch:
                if waiter is not None and not waiter.done():
                    waiter.set_result(None)
            self._finished(len(done.batch))
        if self._bytes_since_snapshot >= self._snapshot_bytes and self._snapshotting is None and not self._has_ended:
            self._snapshotting = asyncio.get_running_loop().create_task(self._snapshot())

    def leadership_ended(self) -> None:
        """Another leader may keep what is not committed by now, or not."""
        if self._has_ended:
            return
        self._has_ended = True
        uncommitted, self._uncommitted = self._uncommitted, deque()
        for each in uncommitted:
            self._finish_failed(each.batch, _ended())

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
        self.on_applied()
        self.state.apply(records, now_ms=self._clock.monotonic_ms(), wall_now_ms=self._clock.now_ms())

    async def _snapshot(self) -> None:
        """Write the committed state, then trim the log below it. The state and its offset are taken in one step."""
        offset, state = self.committed_state()
        self._bytes_since_snapshot = 0
        try:
            await self._snapshots.write(self._log, offset, state)
            await self._log.remove_before(offset)
            self.snapshots_taken += 1
        except DiskRefusedError as error:
            # The log keeps what the snapshot would have replaced; the next one comes after as many bytes again.
            logger.warning("delivery_snapshot_postponed", path=path_of(self._log), reason=str(error))
        except DiskFailedError as error:
            self._on_disk_failed(f"the delivery snapshot {path_of(self._log)} could not be made durable: {error}")
        except ServerError as error:
            logger.warning("delivery_log_not_trimmed", path=path_of(self._log), reason=str(error))
        finally:
            self._snapshotting = None


def _ended() -> ServerError:
    detail = "The partition has got another leader; what was asked may have taken effect."
    return ServerError(ProblemCode.OUTCOME_UNKNOWN, detail)
