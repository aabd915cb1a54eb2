"""A partition's log while it is restored: what its leader appends is what was there."""

import asyncio
from functools import partial

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.disk.executor import IoExecutor
from storage.log.log_queue import Appended
from storage.node.partition.partition_host import PartitionHost
from storage.replication.leader_events import Refusal
from storage.replication.leadership import UNAVAILABLE_RETRY_MS, Leadership
from storage.restore.restored_batches import LogTail, restored_batches
from storage.rpc.copy_messages import CopyRequest
from storage.rpc.messages import ACKS_ALL


class RestoredLog:
    """Replication, acknowledgement and fsync are those of a send: only the stamp says what the backup says."""

    def __init__(self, host: PartitionHost, leadership: Leadership, io: IoExecutor) -> None:
        self._host = host
        self._leadership = leadership
        self._io = io

    async def append(self, request: CopyRequest) -> None:
        """Return when all of the log is committed. Raises ServerError INVALID_FIELD, RESTORE_CONFLICT, UNAVAILABLE,
        NOT_ENOUGH_REPLICAS, OVERLOADED, STORAGE_*, OUTCOME_UNKNOWN."""
        self._check_takes()
        log = self._host.log
        tail = LogTail(log.accepted_end, log.last_append_ms, self._leadership.leader_epoch)
        batches = await self._io.run(partial(restored_batches, request.content, tail, fill_to=request.fill_to))
        self._check_takes()  # what was a leader's may be another's by now
        appends: list[asyncio.Future[Appended]] = []
        for run in _runs([log.cipher.encrypted(batch) for batch in batches], size_bytes_max=log.append_bytes_max):
            appends.append(log.append_stamped(run))
            appends[-1].add_done_callback(self._appended)
        await asyncio.gather(*appends)
        end = log.log_end
        if end and not await self._host.wait_for_records(end - 1, request.timeout_ms):
            detail = f"It was not confirmed within {request.timeout_ms} ms; it may still be stored."
            raise ServerError(ProblemCode.OUTCOME_UNKNOWN, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)

    def _appended(self, append: "asyncio.Future[Appended]") -> None:
        """Also where nobody waits for it any more."""
        if not append.cancelled() and append.exception() is None:
            self._leadership.log_moved()

    def _check_takes(self) -> None:
        refusal = self._leadership.refusal(ACKS_ALL)
        if refusal is None:
            return
        code = {
            Refusal.NOT_SERVING: ProblemCode.UNAVAILABLE,
            Refusal.NOT_ENOUGH_REPLICAS: ProblemCode.NOT_ENOUGH_REPLICAS,
            Refusal.TOO_MANY_WAITING: ProblemCode.OVERLOADED,
        }[refusal]
        detail = f"Partition {self._host.partition} of {self._host.topic.name} takes nothing now: {refusal.value}."
        raise ServerError(code, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)


def _runs(batches: list[bytearray], *, size_bytes_max: int) -> list[bytes]:
    """Batches back to back, as many together as one append may have; a larger one alone."""
    runs: list[bytes] = []
    gathered: list[bytearray] = []
    size_bytes = 0
    for batch in batches:
        if gathered and size_bytes + len(batch) > size_bytes_max:
            runs.append(b"".join(gathered))
            gathered, size_bytes = [], 0
        gathered.append(batch)
        size_bytes += len(batch)
    if gathered:
        runs.append(b"".join(gathered))
    return runs
