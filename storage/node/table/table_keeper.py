"""Keeps where the last message of each key of a partition is.

The index behind it is brought up to the log's committed end when somebody asks, and only then: sends know nothing of
it, and a table that nobody asks costs nothing. What is committed never changes, so what is in the index stays true; if
the log was begun anew, or cut out of turn, the index is, too.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import structlog

from acklog.wire.compacted_batch import decode_remaining
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.log.log_walk import LogWalk, Unreadable
from storage.log.partition_log import PartitionLog
from storage.log.segment_reader import StoredBatch
from storage.log.uncancelled import uncancelled
from storage.node.table.table_figures import TableFigures
from storage.replication.leadership import UNAVAILABLE_RETRY_MS
from storage.table.table_index import (
    NOWHERE,
    TableIndex,
    TableIndexes,
    TableIndexFailedError,
    TableState,
    digest_of,
)
from storage.table.table_settings import TableSettings

logger = structlog.get_logger(__name__)
_Result = TypeVar("_Result")


class TableKeeper:
    """Of one partition's log. `close` it at the end."""

    def __init__(
        self, log: PartitionLog, *, indexes: TableIndexes, settings: TableSettings, figures: TableFigures
    ) -> None:
        """What it does is counted in `figures`, which others of the node share."""
        self.log = log
        self._figures = figures
        self._indexes = indexes
        self._settings = settings
        self._index: TableIndex | None = None
        self._state = TableState(0)
        self._forgotten_below = 0
        self._turn = asyncio.Lock()
        self._wanted = 0
        self._has_grown = False  # of all that asked, as the last of them knew the topic: never less than before
        self._following: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def is_busy(self) -> bool:
        return self._turn.locked() or (self._following is not None and not self._following.done())

    async def find(self, key: str, topic: Topic, *, until: int) -> int:
        """The offset of the key's last message, of those below `until` at least, which are committed; NOWHERE where
        there is none, or nothing is left of it. Raises ServerError UNAVAILABLE while the index is made, RECORDS_CORRUPT
        where what would be later cannot be read, and as `PartitionLog.read`."""
        try:
            await self._catch_up(topic, until)
            async with self._turn:
                index = await self._opened()
                offset = await self._run(partial(index.find, digest_of(key)))
        except TableIndexFailedError as error:
            await self.make_anew(str(error))
            raise self._is_being_made() from error
        if offset < self._state.lost_end > self.log.log_start:
            detail = f"A later message of the key may be among those that cannot be read, below {self._state.lost_end}."
            raise ServerError(ProblemCode.RECORDS_CORRUPT, detail)
        return offset

    async def make_anew(self, reason: str) -> None:
        """The index is wrong, or cannot be used: who asks next has it made from the log."""
        self._figures.indexes_failed += 1
        logger.warning("table_index_failed", log=str(self.log.key), reason=reason)
        async with self._turn:
            await self._close_index()
            await self._run(partial(self._indexes.remove, self.log.key))

    async def close(self) -> None:
        """Nothing is taken over any more from the moment on in which this is called."""
        self._is_closed = True
        if self._following is not None:
            await asyncio.gather(self._following, return_exceptions=True)
        async with self._turn:
            await self._close_index()

    # --- following the log -----------------------------------------------------------------------------------------

    async def _catch_up(self, topic: Topic, until: int) -> None:
        self._wanted = max(self._wanted, until)
        self._has_grown |= topic.mapping > 0
        if self._index is not None and self._state.applied >= until:
            return
        if self._following is None or self._following.done():
            self._following = asyncio.get_running_loop().create_task(
                self._follow(is_replicated=topic.replication_factor > 1)
            )
            self._following.add_done_callback(lambda task: task.cancelled() or task.exception())  # who waits raises it
        try:
            async with asyncio.timeout(self._settings.catch_up_ms / 1000):
                await asyncio.shield(self._following)
        except TimeoutError:
            raise self._is_being_made() from None

    async def _follow(self, *, is_replicated: bool) -> None:
        """Until all that is wanted is in the index."""
        while True:
            async with self._turn:
                if not await self._take_over(is_replicated=is_replicated):
                    return

    async def _take_over(self, *, is_replicated: bool) -> bool:
        """The next batches. False: there are none."""
        index = await self._opened()
        applied, end = self._state.applied, min(self._wanted, self.log.log_end)
        if applied >= end:
            return False
        found = await LogWalk(self.log, applied, end).next(self._settings.step_bytes)
        if found is None or self._is_closed:
            return False
        if isinstance(found, Unreadable):
            if is_replicated:  # others have it: this replica's damage is on its way to be mended
                raise ServerError(ProblemCode.RECORDS_CORRUPT, f"damaged from offset {found.offset} on")
            logger.error("table_unreadable", log=str(self.log.key), offset=found.offset, until=found.next_offset)
            state = self._state._replace(applied=found.next_offset, lost_end=found.next_offset)
            await self._run(partial(index.apply, {}, self._at(state)))
        else:
            state = self._at(self._state._replace(applied=found[-1].header.next_offset))
            # While a topic has had one mapping only, a key has been in no other partition: nothing is to be told by
            # its tombstone, which compaction removes from the log. Later on the tombstones stay, there and here.
            take_in = partial(_take_in, index, found, state, since=applied, keeps_tombstones=self._has_grown)
            await self._run(take_in)
        self._state = index.state
        self._figures.messages_taken_over += self._state.applied - applied
        return True

    def _at(self, state: TableState) -> TableState:
        return state._replace(applied_epoch=self.log.leader_epochs.epoch_at(state.applied - 1))

    async def _opened(self) -> TableIndex:
        """The index, of this log as it is now. Raises TableIndexFailedError."""
        index, log_start = self._index, self.log.log_start
        if self._is_closed:
            raise self._is_being_made()
        if index is None:
            index = self._index = await self._run(partial(self._indexes.open, self.log.key))
            self._forgotten_below = 0
            if index.state.lost_end:  # it may have been mended since
                await self._run(partial(index.clear, log_start))
        if not self._is_of_this_log(index.state):
            await self._run(partial(index.clear, log_start))
        elif log_start > self._forgotten_below:
            await self._run(partial(index.forget_below, log_start))
        self._forgotten_below = log_start
        self._state = index.state
        return index

    def _is_of_this_log(self, state: TableState) -> bool:
        log = self.log
        if not log.log_start <= state.applied <= log.log_end:
            return False
        return state.applied == log.log_start or log.leader_epochs.epoch_at(state.applied - 1) == state.applied_epoch

    async def _close_index(self) -> None:
        index, self._index = self._index, None
        if index is not None:
            await self._run(index.close)
        self._state = TableState(0)

    async def _run(self, call: Callable[[], _Result]) -> _Result:
        """Off the event loop. Who gives up waiting leaves the index to nobody else before the call has ended."""
        return await uncancelled(self._indexes.run(call))

    def _is_being_made(self) -> ServerError:
        detail = f"The index of the partition's keys is being made: it is at {self._state.applied} of {self._wanted}."
        return ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNAVAILABLE_RETRY_MS)


def _take_in(
    index: TableIndex, found: Sequence[StoredBatch], state: TableState, *, since: int, keeps_tombstones: bool
) -> None:
    """In an I/O thread."""
    latest: dict[bytes, int] = {}
    for header, data in found:
        if header.is_control:
            continue
        try:
            records = decode_remaining(data, header)
        except ValueError as error:  # it harms itself only (rule R40)
            logger.error("table_undecodable", offset=header.base_offset, reason=str(error))
            state = state._replace(lost_end=header.next_offset)
            continue
        for offset, record in enumerate(records, header.base_offset):
            if record is not None and record.key is not None and offset >= since:
                is_gone = record.is_tombstone and not keeps_tombstones
                latest[digest_of(record.key)] = NOWHERE if is_gone else offset
    index.apply(latest, state)
