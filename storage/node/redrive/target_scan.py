"""Looking for letters in one partition that they may have been sent to."""

from collections.abc import Iterator

from acklog.wire.batch import BatchHeader, verify
from acklog.wire.compacted_batch import decode_remaining
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.node.redrive.leader_calls import LeaderCalls
from storage.node.redrive.sent_letters import letter_offset_of
from storage.redrive.ports import SentLetters
from storage.redrive.redrive_settings import RedriveSettings
from storage.rpc.messages import PositionsRequest, PositionsResponse, RecordsRequest, RecordsResponse

_WAIT_MS = 500
"""For what is not committed yet, before it is asked anew whether it still may be."""


class TargetScan:
    """From an offset up to what its leader has begun to append when this begins. All that was fenced before is below:
    either this leader has taken it by then, or a later one has it committed before it serves."""

    def __init__(
        self, topic_id: str, partition: int, start: int, calls: LeaderCalls, clock: Clock, settings: RedriveSettings
    ) -> None:
        self._topic_id = topic_id
        self._partition = partition
        self._start = start
        self._calls = calls
        self._clock = clock
        self._settings = settings

    async def letters(self, job_id: str, partition: int) -> SentLetters:
        """Those of the job, and of one of its partitions. Raises ServerError."""
        deadline_ms = self._clock.monotonic_ms() + self._settings.commit_timeout_ms
        begun = await self._positions()
        if begun.accepted_end < 0:
            raise ServerError(ProblemCode.NODES_TOO_OLD, "a node of an earlier version does not say what it has begun")
        end, at = begun.accepted_end, max(self._start, begun.log_start)
        is_sure = begun.log_start <= self._start
        found: set[int] = set()
        while at < end:
            try:
                answer = await self._read(at)
            except ServerError as error:
                at, is_sure = await self._behind_gap(at, error), False
                continue
            for header, message in _messages(answer):
                is_sure = is_sure and not header.is_compacted
                letter = None if message is None else letter_offset_of(message, job_id, partition)
                if letter is not None:
                    found.add(letter)
            if answer.next_offset > at:
                at = answer.next_offset
                continue
            now = await self._positions()
            is_anothers = now.leader_epoch != begun.leader_epoch  # it has committed what is left of before
            end = min(end, now.high_watermark if is_anothers else now.accepted_end)
            if at < end and self._clock.monotonic_ms() >= deadline_ms:
                detail = "what was begun to be appended to a partition is not committed"
                raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=self._settings.retry_ms)
        return SentLetters(frozenset(found), is_sure)

    async def _behind_gap(self, at: int, error: ServerError) -> int:
        """Where to go on behind what is gone, or damaged. Raises the error where it says nothing of that."""
        if error.code is ProblemCode.OFFSET_OUT_OF_RANGE:
            start = (await self._positions()).log_start
            if start > at:
                return start
        following = error.extra.get("next_offset")
        if error.code is ProblemCode.RECORDS_CORRUPT and isinstance(following, int) and following > at:
            return following
        raise error

    async def _positions(self) -> PositionsResponse:
        request = PositionsRequest(self._topic_id, self._partition)
        return await self._calls.ask(self._topic_id, self._partition, lambda node: node.positions(request))

    async def _read(self, offset: int) -> RecordsResponse:
        """All that there is: a filter would pass over what tells that something was removed."""
        bytes_max = self._settings.read_bytes_at_once
        request = RecordsRequest(self._topic_id, self._partition, offset, max_bytes=bytes_max, wait_ms=_WAIT_MS)
        return await self._calls.ask(self._topic_id, self._partition, lambda node: node.records(request))


def _messages(answer: RecordsResponse) -> Iterator[tuple[BatchHeader, Record | None]]:
    """None in the place of what compaction removed."""
    at = 0
    while at < len(answer.batches):
        header = verify(answer.batches, at)
        for record in decode_remaining(answer.batches, header, at):
            yield header, record
        at += header.length
