"""The letters of a job in a partition of dead letters that this node leads."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from acklog.filters.message_filter import MessageFilter, parse_filter
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.redrives import RedriveJob
from storage.delivery.group_in_partition import GroupInPartition
from storage.node.partition.batch_cache import CachedBatch
from storage.node.replicas.led_partition import Partition
from storage.redrive.ports import Letter, LetterPage
from storage.redrive.redrive_settings import RedriveSettings
from storage.replication.leadership import UNAVAILABLE_RETRY_MS, confirm

NOWHERE = ""
_EPOCH_UNKNOWN = -1
_UNREADABLE = Record(b"")
_HANDS_MAX = 10
"""Times that it is said that letters are handled, where the partition changes hands meanwhile."""


class LedLetters:
    """See `storage.redrive.ports.Letters`. `target_of` says which topic (id) a letter goes to. Raises ServerError."""

    def __init__(
        self, job: RedriveJob, partition: Partition, target_of: Callable[[Record], str], settings: RedriveSettings
    ) -> None:
        self._group_id = job.group_id
        self._partition = partition
        self._target_of = target_of
        self._settings = settings
        self._filter: MessageFilter | None = None if job.filter is None else parse_filter(job.filter)
        self._chosen: dict[int, int] | None = None
        if job.chosen is not None:
            of_partition = (each for each in job.chosen if each.partition == partition.number)
            self._chosen = {each.offset: each.leader_epoch for each in of_partition}

    async def read(self, start: int, *, end: int, letters_max: int) -> LetterPage:
        await confirm(self._partition.leadership)
        elsewhere = self._state().elsewhere
        if not elsewhere.room:
            detail = "The group has too many holes in the partition to remember more: it has to do what it left behind."
            raise ServerError(ProblemCode.OVERLOADED, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
        host = self._partition.host
        at, until = max(start, host.readable_start), self._until(end)
        look_until = min(until, at + self._settings.messages_looked_at_once)
        room = _Room(min(letters_max, elsewhere.room), self._settings)
        while at < look_until:
            for run in await self._runs(at):
                for offset, record in run.messages(at, look_until):
                    if elsewhere.is_done(offset) or not self._is_meant(offset, run.leader_epoch, record):
                        continue
                    if not room.take(self._letter(offset, record)):
                        return LetterPage(room.letters, offset)
                at = min(max(at, run.end), look_until)
        return LetterPage(room.letters, end if at >= until else at)

    async def read_these(self, offsets: Sequence[int]) -> Sequence[Letter]:
        found: list[Letter] = []
        for offset in offsets:
            if offset >= self._partition.host.readable_start:
                [run, *_] = await self._runs(offset)
                found += [self._letter(*message) for message in run.messages(offset, offset + 1)]
        return found

    async def handled(self, offsets: Collection[int]) -> None:
        for _ in range(_HANDS_MAX):
            state = self._state()
            record = state.elsewhere.decide(offsets)
            if record is None:
                return
            self._partition.delivery.record_passed_over(state)
            await self._partition.delivery.commit(record)
            self._partition.groups.something_returned(self._group_id)
        detail = "The partition goes from hand to hand."
        raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)

    def _state(self) -> GroupInPartition:
        state = self._partition.delivery.state.group(self._group_id)
        if state is None:
            raise ServerError(ProblemCode.GROUP_NOT_FOUND, "The group has no state in the partition.")
        return state

    def _letter(self, offset: int, record: Record | None) -> Letter:
        return (
            Letter(offset, NOWHERE, _UNREADABLE) if record is None else Letter(offset, self._target_of(record), record)
        )

    def _until(self, end: int) -> int:
        """What was lost since the job was made is no letter any more. Raises ServerError where some is not committed
        yet."""
        host = self._partition.host
        until = min(end, host.log.log_end)
        if until > host.readable_end:
            detail = "Not all of the partition is committed yet."
            raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)
        return until

    def _is_meant(self, offset: int, leader_epoch: int, record: Record | None) -> bool:
        """What cannot be read is where that can be told by its place."""
        if self._chosen is not None and (
            offset not in self._chosen or leader_epoch not in {self._chosen[offset], _EPOCH_UNKNOWN}
        ):
            return False
        return self._filter is None or (record is not None and self._filter.matches(record))

    async def _runs(self, offset: int) -> "Sequence[_Run]":
        """What is there from an offset on, one at least. What is damaged is stepped over, and is nobody's message."""
        host, reader, bytes_max = self._partition.host, self._partition.reader, self._settings.read_bytes_at_once
        try:
            return [
                _Run.of(batch)
                for batch in await reader.batches_at(offset, bytes_max=bytes_max, readable_end=host.readable_end)
            ]
        except ServerError as error:
            end = error.extra.get("next_offset")
            if error.code is not ProblemCode.RECORDS_CORRUPT or not isinstance(end, int):
                raise
            return [_Run(offset, end, _EPOCH_UNKNOWN, None)]


class _Room:
    """For the letters of one page."""

    def __init__(self, letters_max: int, settings: RedriveSettings) -> None:
        self.letters: list[Letter] = []
        self._letters_max = letters_max
        self._bytes_left = settings.letter_bytes_at_once
        self._targets_max = settings.targets_at_once
        self._targets: set[str] = set()

    def take(self, letter: Letter) -> bool:
        """False if there is no more room."""
        if len(self.letters) >= self._letters_max or (self.letters and self._bytes_left <= 0):
            return False
        if letter.target_id not in self._targets and len(self._targets) >= self._targets_max:
            return False
        self._targets.add(letter.target_id)
        self._bytes_left -= letter.record.large_bytes
        self.letters.append(letter)
        return True


class _Run(NamedTuple):
    """Offsets that follow each other; without `records` nobody can make out what is there. Some may be removed: they
    are no letters any more."""

    start: int
    end: int
    leader_epoch: int
    records: Sequence[Record | None] | None

    @classmethod
    def of(cls, batch: CachedBatch) -> "_Run":
        header = batch.header
        if header.is_control:
            return cls(header.next_offset, header.next_offset, header.leader_epoch, ())
        try:
            records: Sequence[Record | None] | None = batch.records()
        except ServerError as error:
            if error.code is not ProblemCode.RECORDS_CORRUPT:
                raise  # its key comes yet: the letters are looked at again
            records = None
        return cls(header.base_offset, header.next_offset, header.leader_epoch, records)

    def messages(self, start: int, end: int) -> Iterator[tuple[int, Record | None]]:
        """Those from `start` to `end`, None for what nobody can make out."""
        for offset in range(max(start, self.start), min(end, self.end)):
            record = None if self.records is None else self.records[offset - self.start]
            if record is not None or self.records is None:
                yield offset, record
