"""What a follower's machine wants done to the logs, done."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any

import structlog

from acklog.wire.batch import BatchCorruptError
from acklog.wire.batch_run import whole_batches
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.disk.port import Buffer, DiskFailedError, DiskRefusedError
from storage.log.checkpoint import CheckpointDamagedError
from storage.log.log_queue import Appended
from storage.log.log_table import LOGS, LogKind
from storage.log.partition_log import PartitionLog
from storage.node.replicas.background_tasks import BackgroundTasks
from storage.node.replicas.producer_mirror import ProducerMirror
from storage.node.replicas.replica_context import ReplicaContext
from storage.replication.follower_events import (
    AppendBatches,
    FollowerEvent,
    LogChanged,
    LogUnchanged,
    RaiseLogStart,
    RestartLog,
    TruncateLog,
)
from storage.replication.messages import PartitionId, SnapshotAnswer, SnapshotRequest

logger = structlog.get_logger(__name__)


class FollowerEffects:
    """Of one replica. `producers` are those of the logs that gateways send to, by number. `report` hears what came of
    each; it may be called from within `append`."""

    def __init__(
        self,
        partition: PartitionId,
        logs: Sequence[PartitionLog],
        producers: Mapping[int, ProducerMirror],
        context: ReplicaContext,
        report: Callable[[FollowerEvent], None],
    ) -> None:
        self._partition = partition
        self._logs = logs
        self._producers = producers
        self._context = context
        self._report = report
        self._tasks = BackgroundTasks(context.on_crashed)
        self._asking: asyncio.Task[SnapshotAnswer] | None = None

    @property
    def is_idle(self) -> bool:
        return not self._tasks

    async def come_to_rest(self) -> None:
        """Wait for what is under way, but not for a leader that may be gone."""
        if self._asking is not None:
            self._asking.cancel()
        await self._tasks.wait()

    def append(self, effect: AppendBatches) -> None:
        try:
            batches = _what_fits(self._logs[effect.log], effect.batches)
            future = self._logs[effect.log].append_stamped(batches)
        except (BatchCorruptError, ValueError, ServerError) as error:
            self._could_not(effect.log, effect.serial, error)
        else:
            future.add_done_callback(partial(self._appended, effect, batches))

    def _appended(self, effect: AppendBatches, batches: Buffer, future: "asyncio.Future[Appended]") -> None:
        error = asyncio.CancelledError() if future.cancelled() else future.exception()
        if error is not None:
            self._could_not(effect.log, effect.serial, error)
        else:
            if effect.log in self._producers:
                self._producers[effect.log].note(batches)
            self._report(LogChanged(effect.log, effect.serial))

    async def compact(self, *, high_watermark: int, leader_epoch: int) -> None:
        """Trim the delivery log by a snapshot of its own. The role does not end before this does: the next one may
        write another snapshot. Raises as `DeliverySnapshots.compact`."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks.start(self._compact(done, high_watermark, leader_epoch))
        await done

    async def _compact(self, done: "asyncio.Future[None]", high_watermark: int, leader_epoch: int) -> None:
        log = self._logs[LogKind.DELIVERY]
        try:
            await self._context.snapshots.compact(log, high_watermark, leader_epoch=leader_epoch)
        except Exception as error:
            if not done.done():
                done.set_exception(error)
        else:
            if not done.done():
                done.set_result(None)

    def truncate(self, effect: TruncateLog, leader: int, leader_epoch: int) -> None:
        self._begin(effect.log, effect.serial, self._truncate(effect, leader, leader_epoch))

    async def _truncate(self, effect: TruncateLog, leader: int, leader_epoch: int) -> None:
        log = self._logs[effect.log]
        if LOGS[effect.log].has_state and await self._snapshot_is_beyond(log, effect.offset):
            await self._restart(RestartLog(effect.log, effect.serial, 0), leader, leader_epoch)
            return
        await self._context.high_watermarks.lower(log.key, effect.offset)
        logger.info("log_truncated", log=str(log.key), offset=effect.offset, log_end=log.log_end)
        await log.truncate_to(effect.offset)
        self._context.cache.drop(log.key)
        if effect.log in self._producers:
            self._producers[effect.log].truncated(log.log_end)

    async def _snapshot_is_beyond(self, log: PartitionLog, offset: int) -> bool:
        """Its state has what is to be cut: that takes an unclean election, as else only what is committed is in it."""
        try:
            snapshot_end, _ = await self._context.snapshots.read(log)
        except CheckpointDamagedError:
            return True
        return snapshot_end > offset

    def restart(self, effect: RestartLog, leader: int, leader_epoch: int) -> None:
        self._begin(effect.log, effect.serial, self._restart(effect, leader, leader_epoch))

    async def _restart(self, effect: RestartLog, leader: int, leader_epoch: int) -> None:
        """Begin the log anew where the leader's begins. The state behind it comes first: a crash in between leaves the
        old log and a newer snapshot, and the next opening finishes the job."""
        log, offset = self._logs[effect.log], effect.offset
        has_state = LOGS[effect.log].has_state
        if has_state or log.damage:  # what is damaged is kept until a leader speaks
            number = effect.log if has_state else LogKind.DELIVERY
            answer = await self._ask(leader, SnapshotRequest(self._partition, number, leader_epoch))
            if answer.refusal or answer.leader_epoch != leader_epoch or answer.offset < 0:
                raise ServerError(ProblemCode.UNAVAILABLE, f"the leader gives no snapshot: {answer.refusal}")
        if has_state:
            if answer.offset < offset:
                raise ServerError(ProblemCode.UNAVAILABLE, f"the leader's snapshot ends at {answer.offset}")
            offset = answer.offset
            await self._context.snapshots.write(log, offset, answer.snapshot)
        await self._context.high_watermarks.lower(log.key, effect.offset)
        logger.info("log_begun_anew", log=str(log.key), offset=offset)
        await log.reset_to(offset)
        self._context.cache.drop(log.key)
        if effect.log in self._producers:
            self._producers[effect.log].forget()

    async def _ask(self, leader: int, request: SnapshotRequest) -> SnapshotAnswer:
        peer = self._context.peers.peer(leader)
        self._asking = asyncio.ensure_future(peer.snapshot(request))
        try:
            return await self._asking
        finally:
            self._asking = None

    def raise_log_start(self, effect: RaiseLogStart) -> None:
        """Nothing waits for it. A log with a state behind it is trimmed by a snapshot of the follower's own."""
        if not LOGS[effect.log].has_state:
            self._tasks.start(self._raise_log_start(effect))

    async def _raise_log_start(self, effect: RaiseLogStart) -> None:
        log = self._logs[effect.log]
        try:
            await log.remove_all_before(effect.offset)
        except ServerError as error:
            logger.warning("log_not_trimmed", log=str(log.key), reason=str(error))

    # --- pieces ------------------------------------------------------------------------------------------------------

    def _begin(self, log: int, serial: int, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.start(self._run(log, serial, work))

    async def _run(self, log: int, serial: int, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except (ServerError, DiskRefusedError, DiskFailedError) as error:
            self._could_not(log, serial, error)
        else:
            self._report(LogChanged(log, serial))

    def _could_not(self, log: int, serial: int, error: BaseException) -> None:
        logger.warning("follower_log_unchanged", log=str(self._logs[log].key), reason=str(error) or repr(error))
        self._report(LogUnchanged(log, serial))


def _what_fits(log: PartitionLog, batches: Buffer) -> Buffer:
    """As much as the log takes in one append; the rest is fetched again from there."""
    if len(batches) <= log.append_bytes_max:
        return batches
    return memoryview(batches)[: whole_batches(batches, log.append_bytes_max)]
