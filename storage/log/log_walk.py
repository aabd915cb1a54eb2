"""Through a log from one offset to another, over what cannot be read (rule R40)."""

from typing import NamedTuple, Protocol

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.log.segment_reader import StoredBatch


class Unreadable(NamedTuple):
    """Nothing from `offset` up to `next_offset`, exclusive, can be read."""

    offset: int
    next_offset: int


class ReadableLog(Protocol):
    @property
    def log_start(self) -> int: ...

    async def read(self, offset: int, *, max_bytes: int, until: int | None = None) -> list[StoredBatch]: ...


class LogWalk:
    """Batches in order from the one that holds `first` on, those that begin below `end`."""

    def __init__(self, log: ReadableLog, first: int, end: int) -> None:
        self._log = log
        self._offset = first
        self._end = end

    async def next(self, max_bytes: int) -> list[StoredBatch] | Unreadable | None:
        """What comes next, about `max_bytes` of it; None at the end, also where that is nearer than it was.

        Raises ServerError as `PartitionLog.read` does, but for RECORDS_CORRUPT where the log goes on behind the damage.
        """
        while True:
            self._offset = offset = max(self._offset, self._log.log_start)  # retention may go on meanwhile
            if offset >= self._end:
                return None
            try:
                found = await self._log.read(offset, max_bytes=max_bytes, until=self._end)
            except ServerError as error:
                if error.code is ProblemCode.OFFSET_OUT_OF_RANGE:
                    if offset < self._log.log_start:
                        continue
                    return None
                following = error.extra.get("next_offset")
                if error.code is not ProblemCode.RECORDS_CORRUPT or not isinstance(following, int):
                    raise
                self._offset = min(following, self._end) if following > offset else self._end
                return Unreadable(offset, self._offset)
            if not found:
                return None
            self._offset = found[-1].header.next_offset
            return found
