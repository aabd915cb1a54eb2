"""An answer to a fetch in the making: the host reads what is asked for, one read after the other.

Each answer takes from the head of the line what fits, so that a busy partition cannot starve the others, and within a
partition the logs take turns.
"""

from collections import deque
from dataclasses import dataclass

from storage.replication.divergence import Diverged, LogPosition
from storage.replication.leader_events import FetchVerdict
from storage.replication.messages import FetchAnswer, LogAnswer, PartitionAnswer, PartitionId
from storage.replication.replication_settings import ReplicationSettings
from storage.replication.served_session import ServedPartition, ServedSession, parting


@dataclass(frozen=True, slots=True)
class Read:
    """Read whole batches of the log that begin at or behind `position`, together at most `bytes_max` bytes, and below
    `until`. `takes_one`: a first batch that is larger is read all the same. None are fine, too: the log was cut or
    removed meanwhile."""

    id: PartitionId
    log: int
    position: LogPosition
    until: int
    bytes_max: int
    takes_one: bool


class AnswerInMaking:
    """Ask for `next_read`, do it, hand the bytes to `add`, until there is none; then `finish`. `place` is the life and
    the session of the follower."""

    def __init__(
        self,
        session: ServedSession,
        settings: ReplicationSettings,
        *,
        place: tuple[int, int],
        sequence: int,
        bytes_max: int,
    ) -> None:
        self._session = session
        self._settings = settings
        self._place = place
        self._sequence = sequence
        self._bytes_left = bytes_max
        self._answers: list[PartitionAnswer] = []
        self._batches: list[bytes] = []
        self._is_empty = True
        self._is_full = False
        self._open: tuple[PartitionAnswer, ServedPartition, FetchVerdict] | None = None
        self._reads: deque[tuple[int, int]] = deque()  # (log, until)
        self._pieces: dict[int, bytes] = {}

    def next_read(self) -> Read | None:
        while not self._reads or self._is_full:
            self._close_partition()
            partition_id = None if self._is_full else self._session.take_from_line()
            if partition_id is None:
                return None
            self._open_partition(partition_id)
        assert self._open is not None
        answer, _, verdict = self._open  # the partition may be judged anew, or refused, between two reads
        log, until = self._reads.popleft()
        position = verdict.logs[log].position
        bytes_max = min(self._settings.partition_fetch_bytes_max, self._bytes_left)
        return Read(answer.id, log, position, until, bytes_max, takes_one=self._is_empty)

    def add(self, read: Read, batches: bytes) -> None:
        assert self._open is not None
        answer, _, _ = self._open
        self._pieces[read.log] = batches
        answer.logs[read.log].size_bytes = len(batches)
        self._bytes_left -= len(batches)
        self._is_empty &= not batches
        # What is left may be too little for the next batch. Others might still fit, and then this one never would.
        self._is_full = self._bytes_left <= 0 or (not batches and not read.takes_one)

    def finish(self) -> FetchAnswer:
        self._close_partition()
        for partition_id in self._session.take_news(self._settings.fetch_partitions_max):
            partition = self._session[partition_id]
            answer = _answer(partition_id, partition)
            partition.told(answer)
            self._answers.append(answer)
        return FetchAnswer(*self._place, self._sequence, self._answers, b"".join(self._batches))

    def _open_partition(self, partition_id: PartitionId) -> None:
        partition = self._session[partition_id]
        answer = _answer(partition_id, partition)
        self._open = answer, partition, partition.verdict
        count = len(answer.logs)
        for log in ((partition.turn + step) % count for step in range(count)):
            judged, view = partition.verdict.logs[log], partition.views[log]
            if parting(judged, view) is None and view.end > judged.position.offset:
                self._reads.append((log, view.end))
        partition.turn = (partition.turn + 1) % count if count else 0

    def _close_partition(self) -> None:
        if self._open is None:
            return
        answer, partition, verdict = self._open
        self._batches += [self._pieces[log] for log in sorted(self._pieces)]
        if answer.is_work:
            partition.told(answer)
            self._answers.append(answer)
        else:
            self._session.put_back(answer.id, verdict, is_next=self._is_full)
        self._open = None
        self._reads.clear()
        self._pieces = {}


def _answer(partition_id: PartitionId, partition: ServedPartition) -> PartitionAnswer:
    """All but the batches."""
    verdict = partition.verdict
    if verdict.refusal is not None:
        return PartitionAnswer(partition_id, verdict.leader_epoch, verdict.refusal.value)
    logs = []
    for log, view in zip(verdict.logs, partition.views, strict=True):
        answer = LogAnswer(log.position, view.log_start, view.high_watermark, view.end)
        found = parting(log, view)
        if isinstance(found, Diverged):
            answer.diverged = found
        else:
            answer.restart = found
        logs.append(answer)
    return PartitionAnswer(partition_id, verdict.leader_epoch, logs=logs)
