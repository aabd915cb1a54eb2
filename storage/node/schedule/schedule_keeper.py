"""Keeps a replica's index of what is scheduled in step with the committed part of its schedule log, whatever its role:
so a new leader finds it ready, however much is pending.

Batches are read from the log, taken over by the index off the event loop, and then told to whoever leads. Where the
index fails, or is of another log than this one, it is made anew.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Protocol, TypeVar

import structlog

from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.log.log_walk import LogWalk, Unreadable
from storage.log.partition_log import PartitionLog
from storage.log.uncancelled import uncancelled
from storage.node.schedule.loop_share import LoopShare
from storage.node.schedule.scheduled_messages import Piece, read_messages
from storage.schedule.changes import Change, LostNotes, changes_of
from storage.schedule.entries import END, Due, Key, ScheduledEntry, SettledEntry
from storage.schedule.near_future import Wanted
from storage.schedule.schedule_index import IndexFailedError, IndexState, ScheduleIndex, ScheduleIndexes
from storage.schedule.schedule_settings import ScheduleSettings

_Result = TypeVar("_Result")

logger = structlog.get_logger(__name__)


class ScheduleListener(Protocol):
    """Who leads."""

    def changed(self, changes: list[Change]) -> None:
        """They are committed, and in the index."""
        ...


class ScheduleKeeper:
    """`advance` says what is committed; nothing is opened or read before there is something. `listener` hears what was
    not told to a listener before."""

    def __init__(
        self,
        log: PartitionLog,
        *,
        indexes: ScheduleIndexes,
        appending: LoopShare,
        reading: LoopShare,
        clock: Clock,
        settings: ScheduleSettings,
        on_crashed: Callable[[BaseException], None],
    ) -> None:
        self.listener: ScheduleListener | None = None
        self.is_alone: Callable[[], bool] = lambda: True  # no other replica has what is damaged here
        self.appending, self.reading = appending, reading  # of whoever leads: due first, then what will be
        self._log = log
        self._indexes = indexes
        self._clock = clock
        self._settings = settings
        self._on_crashed = on_crashed
        self._index: ScheduleIndex | None = None
        self._state = IndexState(0)
        self._committed = 0
        self._told = 0
        self._turn = asyncio.Lock()
        self._following: asyncio.Task[None] | None = None
        self._applied = asyncio.Event()
        self._is_closed = False

    # --- following the log -----------------------------------------------------------------------------------------

    @property
    def has_any(self) -> bool:
        """Whether the log holds anything: most never do."""
        return self._committed > self._log.log_start

    @property
    def state(self) -> IndexState:
        return self._state

    def is_up_to(self, offset: int) -> bool:
        """Whether what is committed up to there is in the index."""
        return self._state.applied >= offset

    def may_have_lost(self, id_: int) -> bool:
        """Whether what the log said of an unknown message may be in what cannot be read of it."""
        return id_ < self._state.lost_end > self._log.log_start

    def advance(self, high_watermark: int) -> None:
        """Everything below it is committed."""
        self._committed = high_watermark
        if self._following is None and self.has_any and not self._is_closed:
            self._following = asyncio.get_running_loop().create_task(self._follow())
            self._following.add_done_callback(self._followed)

    async def wait_applied(self, offset: int) -> None:
        """Until what is committed up to there is in the index. The caller bounds the time."""
        while self._state.applied < offset and not self._is_closed:
            self._applied.clear()
            self.advance(max(self._committed, offset))
            await self._applied.wait()

    async def close(self) -> None:
        """The replica is let go, or the node stops."""
        self._is_closed = True
        self._applied.set()
        if self._following is not None:
            await asyncio.gather(self._following, return_exceptions=True)
        async with self._turn:
            await self._close_index()

    async def _follow(self) -> None:
        """Until everything that is committed is in the index."""
        while True:
            async with self._turn:
                try:
                    if self._is_closed or not await self._take_over():
                        self._following = None
                        return
                    continue
                except IndexFailedError as error:
                    await self._give_up_index(error)
                except ServerError as error:
                    logger.warning("schedule_not_read", log=str(self._log.key), reason=str(error))
            await self._clock.sleep(self._settings.retry_pause_ms)

    def _followed(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_crashed(error)

    async def _take_over(self) -> bool:
        """The next batches. False: there are none. Raises ServerError, IndexFailedError."""
        index = await self._opened()
        applied = self._state.applied
        if applied >= min(self._committed, self._log.log_end):
            return False
        found = await LogWalk(self._log, applied, self._committed).next(self._settings.read_bytes_max)
        if found is None:
            return False
        changes: list[Change] = []
        if isinstance(found, Unreadable):
            if not self.is_alone():  # others have it: this replica's damage is on its way to be mended
                raise ServerError(ProblemCode.RECORDS_CORRUPT, f"damaged from offset {found.offset} on")
            logger.error("schedule_unreadable", log=str(self._log.key), offset=found.offset, until=found.next_offset)
            end = found.next_offset
            changes.append(Change(found.offset, LostNotes(end)))
        else:
            end = found[-1].header.next_offset
            for header, data in found:
                try:
                    changes.extend(changes_of(header, data))
                except ValueError as error:  # it harms itself only (rule R40)
                    logger.error(
                        "schedule_undecodable", log=str(self._log.key), offset=header.base_offset, reason=str(error)
                    )
                    changes.append(Change(header.base_offset, LostNotes(header.next_offset)))
        changes = [change for change in changes if change.offset >= applied]
        epoch = self._log.leader_epochs.epoch_at(end - 1)
        await self._run(partial(index.apply, changes, applied=end, applied_epoch=epoch))
        self._state = index.state
        news = [change for change in changes if change.offset >= self._told]
        self._told = max(self._told, end)
        if self.listener is not None and news:
            self.listener.changed(news)
        self._applied.set()
        return True

    async def _opened(self) -> ScheduleIndex:
        """The index, of this log as it is now. Raises IndexFailedError."""
        index = self._index
        if index is None:
            index = self._index = await self._run(partial(self._indexes.open, self._log.key))
            self._state = index.state
        if not self._is_of_this_log(index.state):
            await self._run(partial(index.clear, self._log.log_start))
            self._state = index.state
        self._applied.set()  # it may have been far enough when it was opened
        return index

    def _is_of_this_log(self, state: IndexState) -> bool:
        """It may have been cut, or begun anew, since: by an election out of turn, or another disk."""
        log = self._log
        if not log.log_start <= state.applied <= log.log_end:
            return False
        if state.applied == log.log_start:
            return state.pending == 0
        return log.leader_epochs.epoch_at(state.applied - 1) == state.applied_epoch

    async def _give_up_index(self, error: IndexFailedError) -> None:
        """The next one to ask for it makes it anew from the log."""
        logger.warning("schedule_index_failed", log=str(self._log.key), reason=str(error))
        await self._close_index()
        await self._run(partial(self._indexes.remove, self._log.key))

    async def _close_index(self) -> None:
        index, self._index = self._index, None
        if index is not None:
            await self._run(index.close)
        self._state = IndexState(0)

    async def _run(self, call: Callable[[], _Result]) -> _Result:
        """Off the event loop. Who gives up waiting leaves the index to nobody else before the call has ended."""
        return await uncancelled(self._indexes.run(call))

    # --- asking the index ------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[ScheduleIndex]:
        """In turn, the index with all that was told. One that fails is made anew, also where nothing new is written.
        Raises IndexFailedError, and ServerError UNAVAILABLE while it is made anew."""
        async with self._turn:
            try:
                index = await self._opened()
                if self._state.applied < self._told:
                    self.advance(self._committed)
                    detail = "The index of what is scheduled is being made anew."
                    raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=self._settings.retry_pause_ms)
                yield index
            except IndexFailedError as error:
                await self._give_up_index(error)
                self.advance(self._committed)
                raise

    async def find(self, id_: int) -> ScheduledEntry | SettledEntry | None:
        """Raises ServerError, IndexFailedError."""
        async with self._asking() as index:
            return await self._run(partial(index.find, id_))

    async def page(self, since: Key, *, before_ms: int, limit: int) -> list[ScheduledEntry]:
        """What is pending from `since` on, in order. Raises ServerError, IndexFailedError."""
        async with self._asking() as index:
            return await self._run(partial(index.after, since, before_ms=before_ms, limit=limit))

    async def oldest(self, limit: int) -> list[ScheduledEntry]:
        """What stands first in the log. Raises ServerError, IndexFailedError."""
        async with self._asking() as index:
            return await self._run(partial(index.oldest, limit))

    async def all_of(self, ask: Callable[[ScheduleIndex], list[_Result]]) -> list[_Result]:
        """What the index lists; nothing is opened where the log is empty. Raises ServerError, IndexFailedError."""
        if not self.has_any:
            return []
        async with self._asking() as index:
            return await self._run(partial(ask, index))

    async def find_adopted(self, name: str) -> ScheduledEntry | None:
        """By its first name. Raises ServerError, IndexFailedError."""
        async with self._asking() as index:
            return await self._run(partial(index.find_adopted, name))

    async def forget_settled(self) -> None:
        """Of what the log says nothing of any more. Raises ServerError, IndexFailedError."""
        async with self._asking() as index:
            await self._run(partial(index.forget_settled, self._log.log_start))

    async def load(self, wanted: Callable[[], Wanted | None], loaded: Callable[[list[Due], Key, Key], bool]) -> None:
        """In a turn: read what is wanted, and hand it over piece by piece, in order, before anything else is applied;
        until `loaded` says that it is wanted no more. Raises ServerError, IndexFailedError."""
        async with self._asking() as index:
            want = wanted()
            if want is None:
                return
            after = partial(index.after, want.since, before_ms=END.due_ms, limit=want.messages_max + 1)
            entries: list[ScheduledEntry] = await self._run(after)
            near = [entry for entry in entries[: want.messages_max] if entry.due_ms < want.before_ms]
            size_bytes = 0
            for number, entry in enumerate(near):
                size_bytes += entry.size_bytes
                if number and size_bytes > want.bytes_max:
                    near = near[:number]
                    break
            horizon = END if len(near) == len(entries) else entries[len(near)].key
            found = await self._messages(near, self.reading.piece)
            since, piece_max = want.since, self._settings.due_messages_max
            for begin in range(0, max(len(near), 1), piece_max):
                end = begin + piece_max
                until = near[end].key if end < len(near) else horizon
                await asyncio.sleep(0)
                with self.reading.piece():
                    if not loaded(_dues(near[begin:end], found), since, until):
                        return
                since = until

    async def read(self, entries: Sequence[ScheduledEntry]) -> list[Due]:
        """The messages, but for those that cannot be read. Raises ServerError."""
        return _dues(entries, await self._messages(entries, nullcontext))

    async def _messages(self, entries: Iterable[ScheduledEntry], piece: Piece) -> dict[int, Record]:
        positions = [entry.position for entry in entries]
        return await read_messages(self._log, positions, committed=self._committed, piece=piece)


def _dues(entries: Iterable[ScheduledEntry], messages: Mapping[int, Record]) -> list[Due]:
    return [Due(entry, messages[entry.position]) for entry in entries if entry.position in messages]
