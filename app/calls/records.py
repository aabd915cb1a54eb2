"""What a request to read the log asks for, and what it gets."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from acklog.filters.matching_runs import matching_runs
from acklog.filters.message_filter import MessageFilter
from acklog.wire.batch import BatchHeader
from acklog.wire.identifiers import MessageId
from acklog.wire.log_page import Run, headers, runs
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.rpc.messages import RecordsResponse

OFFSET_MAX = 10**18 - 1


EPOCH_MAX = 2**31 - 1


class FirstOffset(Enum):
    """Where to begin."""

    GIVEN = "given"  # at an offset, or a time
    EARLIEST = "earliest"
    LATEST = "latest"


class ReadFrom(Enum):
    """Who may answer."""

    LEADER = "leader"
    NEAREST = "nearest"


@dataclass(frozen=True, slots=True)
class RecordsCommand:
    """`offset` counts with FirstOffset.GIVEN and `time_ms` -1. `until` is exclusive; None for no end. `epoch` -1: the
    reader does not say where it has been."""

    topic: str
    partition: int
    first: FirstOffset
    offset: int
    time_ms: int
    max_bytes: int
    wait_ms: int
    until: int | None = None
    read_from: ReadFrom = ReadFrom.LEADER
    epoch: int = -1
    message_filter: MessageFilter | None = None


@dataclass(slots=True)
class RecordsRead:
    """Whole batches, as stored; the first may begin before `response.offset`, and the last end behind `until`.

    `next_offset` is where to go on: never behind `until`, unless the reading began there; and never behind what could
    not be decoded, so that is known when the messages have been taken. With a filter there are batches that hold a
    match, and it is behind all that was looked at.
    """

    topic: Topic
    partition: int
    response: RecordsResponse
    until: int | None = None
    message_filter: MessageFilter | None = None
    next_offset: int = field(init=False)

    def __post_init__(self) -> None:
        response = self.response
        self.next_offset = response.next_offset
        if self.until is not None:
            self.next_offset = max(response.offset, min(response.next_offset, self.until))

    def runs(self) -> Iterator[Run]:
        """The messages from the asked-for offset on, batch by batch, up to one that cannot be decoded. Raises
        ServerError RECORDS_CORRUPT where that is the first one."""
        expected = self.response.offset
        try:
            for run in runs(self.response.batches, expected, self.until):
                yield from (run,) if self.message_filter is None else matching_runs(run, self.message_filter)
                expected = run[1] + len(run[2])
        except ValueError as error:
            if expected > self.response.offset:
                self.next_offset = expected  # who reads on from there hears of it
                return
            raise ServerError(
                ProblemCode.RECORDS_CORRUPT,
                f"a stored batch is damaged: {error}",
                extra={"offset": expected, "next_offset": self._behind_first_batch()},
            ) from None

    def _behind_first_batch(self) -> int:
        try:
            return next(headers(self.response.batches)).next_offset
        except ValueError:
            return self.next_offset

    def records(self) -> Iterator[tuple[BatchHeader, int, Record]]:
        """(header of its batch, offset, record) of each message from the asked-for offset on.

        Raises ServerError RECORDS_CORRUPT.
        """
        for header, first, records in self.runs():
            for offset, record in enumerate(records, first):
                yield header, offset, record

    def message_id(self, header: BatchHeader, offset: int) -> str:
        return str(MessageId(self.topic.id, self.partition, header.leader_epoch, offset))
