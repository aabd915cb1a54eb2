"""One log: append, read, find by time, cut at either end."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import Enum
from functools import partial
from typing import TypeVar

from acklog.wire.batch import BatchCorruptError, check_unstamped
from acklog.wire.problems import ProblemCode
from cluster.errors import AcklogError
from storage.disk.port import Buffer, DiskFailedError
from storage.log.engine import Engine
from storage.log.group_commit import GroupCommit
from storage.log.index import SegmentIndex
from storage.log.keys import LogKey
from storage.log.leader_epochs import LeaderEpochs
from storage.log.log_state import LogState
from storage.log.maintenance import Maintenance
from storage.log.reset import reset_to
from storage.log.retention import Retained, remove_before, retain
from storage.log.round import Appended, AppendWaiter, LogQueue
from storage.log.segment import Segment
from storage.log.segment_reader import Damage, StoredBatch, load_index, parse_batches
from storage.log.stamped_run import StampedRun
from storage.log.truncation import truncate_to
from storage.log.uncancelled import uncancelled

_Result = TypeVar("_Result")


class Space(Enum):
    """Which space an append may use: RESERVED ones (acknowledgements) also what is kept back from NORMAL ones."""

    NORMAL = "normal"
    RESERVED = "reserved"


def _read(engine: Engine, path: str, position: int, length: int) -> bytes:
    with engine.files.use(path) as file:
        return file.read(position, length)


class PartitionLog:
    """A log of batches. All state changes on the event loop; offsets are exclusive at the end.

    Every call raises AcklogError: STORAGE_FAILED once the data directory has failed, RECORDS_CORRUPT where stored
    batches are damaged.
    """

    def __init__(self, engine: Engine, commit: GroupCommit, maintenance: Maintenance, state: LogState) -> None:
        self._engine = engine
        self._commit = commit
        self._maintenance = maintenance
        self._state = state
        self._queue = LogQueue(state)
        self._index_loading = asyncio.Lock()  # two at a time would write the same file
        self.on_damaged: Callable[[], None] = lambda: None  # called when `damage` is found

    @property
    def key(self) -> LogKey:
        return self._state.key

    @property
    def log_start(self) -> int:
        return self._state.log_start

    @property
    def log_end(self) -> int:
        """The end of what is durable."""
        return self._state.log_end

    @property
    def last_append_ms(self) -> int:
        """When its last batch was appended, by the clock of who led then; -1 where there was none."""
        return self._state.last_append_ms

    @property
    def size_bytes(self) -> int:
        return self._state.size_bytes

    @property
    def damage(self) -> str:
        """Why something durable cannot be read, "" where none was found so; only `reset_to` ends it."""
        return self._state.refused or self._state.damage

    @property
    def append_bytes_max(self) -> int:
        """What fits into one append."""
        return self._commit.append_bytes_max

    @property
    def last_leader_epoch(self) -> int:
        """-1 when nothing was ever appended."""
        return self._state.epochs.last_epoch

    @property
    def leader_epochs(self) -> LeaderEpochs:
        return self._state.epochs

    def append(self, batch: bytearray, *, leader_epoch: int, space: Space = Space.NORMAL) -> "asyncio.Future[Appended]":
        """Append an unstamped batch; the future is done when it is durable. Offsets follow the order of the calls.

        The log stamps `batch` in place and owns it from here on. Raises BatchCorruptError for bytes that are not an
        unharmed batch, ValueError for an epoch below an earlier one, and AcklogError: OVERLOADED when too much is
        waiting. The future may fail with STORAGE_FULL (nothing was stored) or STORAGE_FAILED (nobody knows).
        """
        done: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        self.append_and_tell(batch, done, leader_epoch=leader_epoch, space=space)
        return done

    def append_and_tell(
        self, batch: bytearray, waiter: AppendWaiter, *, leader_epoch: int, space: Space = Space.NORMAL
    ) -> None:
        """As `append`, for a waiter that is told at once, and not in a later turn of the event loop."""
        count, flags = check_unstamped(batch)
        self._commit.append(
            self._queue,
            batch,
            waiter,
            count=count,
            flags=flags,
            leader_epoch=leader_epoch,
            is_reserved=space is Space.RESERVED,
        )

    def append_stamped(self, batches: Buffer, *, space: Space = Space.NORMAL) -> "asyncio.Future[Appended]":
        """Append whole batches as another node's leader stamped them; the future is done when they are durable.

        They are verified first, and their bytes are kept exactly: offsets, leader epochs and append times. The log owns
        `batches` from here on; nobody may change them any more. The result names the first offset, the append time of
        the last batch and the offset after it.

        Raises BatchCorruptError where bytes are harmed; ValueError unless each batch follows the one before, the first
        one follows the log's end (what is queued included), and neither leader epochs nor append times fall; and
        AcklogError as `append` does. Nothing is queued then. The future may fail as `append`'s does, all batches
        together, and with CONFLICT (nothing was stored) if what was queued before was not stored, or the log was cut.
        """
        done: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        self.append_stamped_and_tell(batches, done, space=space)
        return done

    def append_stamped_and_tell(self, batches: Buffer, waiter: AppendWaiter, *, space: Space = Space.NORMAL) -> None:
        """As `append_stamped`, for a waiter that is told at once, and not in a later turn of the event loop."""
        self._engine.check(self._state)
        run = StampedRun(batches)
        self._commit.append_stamped(self._queue, run, waiter, is_reserved=space is Space.RESERVED)

    async def come_to_rest(self, error: AcklogError) -> None:
        """Wait until nothing of this log is on its way: appends that are queued and not begun fail with `error`, as do
        those that come meanwhile; the round that is under way ends, and so does a cut or a new beginning that was asked
        for. Later appends are fine. Returns also when the data directory fails: nothing is on its way then either."""
        await self._commit.come_to_rest(self._queue, error)

    async def read(self, offset: int, *, max_bytes: int, until: int | None = None) -> list[StoredBatch]:
        """Whole verified batches from the one that holds `offset` on, those that begin below `until`.

        At least one if there is any, also beyond `max_bytes`; fewer than would fit is possible. Raises
        OFFSET_OUT_OF_RANGE (extra: log_start, log_end) and RECORDS_CORRUPT (extra: offset, next_offset: where to go
        on behind the damage).
        """
        engine, state = self._engine, self._state
        max_bytes = min(max_bytes, engine.settings.read_bytes_max)
        batches: list[StoredBatch] = []
        version = state.version
        while True:
            engine.check(state)
            if not batches:
                if not self.log_start <= offset <= self.log_end:
                    raise self._out_of_range(offset)
                version = state.version
            end = state.log_end if until is None else min(until, state.log_end)
            if offset >= end or state.version != version:  # what follows now may not follow what was read
                return batches
            segment = state.segments[state.segment_at(offset)]
            try:
                found = await self._read_segment(segment, offset, max_bytes)
            except FileNotFoundError:
                if segment not in state.segments or state.is_removed:
                    continue  # it was removed meanwhile
                raise self._corrupt(Damage(offset, segment.end_offset, "the segment's file is missing")) from None
            except DiskFailedError as error:
                found = Damage(offset, self._following(segment), f"its index cannot be made: {error}")
            if state.version != version:
                continue
            if isinstance(found, Damage):
                if batches:
                    return batches
                raise self._corrupt(found)
            for batch in found:
                if batch.header.base_offset >= end or (batches and max_bytes < batch.header.length):
                    return batches
                batches.append(batch)
                max_bytes -= batch.header.length
            offset = batches[-1].header.next_offset
            if max_bytes <= 0 or offset < segment.end_offset:
                return batches

    async def offset_at_time(self, time_ms: int) -> int:
        """The base offset of the first batch appended at `time_ms` or later; the log end if there is none."""
        state = self._state
        self._engine.check(state)
        for segment in list(state.segments):
            if segment.last_append_ms < time_ms or segment.size_bytes == 0:
                continue
            try:
                index = await self._index(segment)
            except FileNotFoundError:
                if segment in state.segments:
                    raise self._corrupt(
                        Damage(segment.base_offset, segment.end_offset, "the segment's file is missing")
                    ) from None
                continue  # retention removed it meanwhile
            except DiskFailedError as error:
                raise self._corrupt(Damage(segment.base_offset, self._following(segment), str(error))) from error
            if not len(index):
                continue
            offset = max(index.offset_before_time(time_ms), state.log_start)
            while state.log_start <= offset < segment.end_offset:
                try:
                    batches = await self.read(offset, max_bytes=2 * index.interval_bytes, until=segment.end_offset)
                except AcklogError as error:
                    if error.code is not ProblemCode.OFFSET_OUT_OF_RANGE:
                        raise
                    break
                if not batches:
                    break  # the log was cut meanwhile
                for batch in batches:
                    if batch.header.append_time_ms >= time_ms:
                        return batch.header.base_offset
                    offset = batch.header.next_offset
        return state.log_end

    def keyed_ranges_since(self, time_ms: int) -> list[tuple[int, int]]:
        """Offset ranges, ends exclusive, outside of which no keyed batch was appended at `time_ms` or later."""
        return [
            (segment.base_offset, segment.end_offset)
            for segment in self._state.segments
            if segment.last_keyed_ms >= time_ms
        ]

    async def truncate_to(self, offset: int) -> None:
        """Cut the log so that it ends at `offset`, or before the batch that `offset` is in the middle of.

        With batches 0-3, 4-9, 10-11: `truncate_to(10)` leaves 0-9, `truncate_to(5)` leaves 0-3, `truncate_to(12)`
        changes nothing. Appends that wait are appended behind the cut. Durable on return: after a crash the cut
        batches do not come back. Raises OFFSET_OUT_OF_RANGE below the log start, RECORDS_CORRUPT where damage is near.
        """
        self._engine.check(self._state)
        if offset < self.log_start:
            raise self._out_of_range(offset)
        try:
            async with self._changing():
                await uncancelled(truncate_to(self._engine, self._commit, self._maintenance, self._queue, offset))
        except BatchCorruptError as error:
            raise self._corrupt(Damage(offset, offset, f"no cut is possible: {error}")) from error

    async def reset_to(self, offset: int) -> None:
        """Drop everything: the log is empty from now on, begins and ends at `offset`, which may be anywhere, and knows
        no leader epochs.

        Appends that wait are appended behind `offset`, stamped ones if they begin there. Durable on return. After a
        crash in the middle the log is as it was, or empty at `offset`. Damage is gone with what was damaged. Raises
        ValueError for a negative offset, and STORAGE_FULL for lack of space; then nothing has changed.
        """
        if offset < 0:
            raise ValueError(f"a log cannot begin at offset {offset}")
        self._engine.check_present(self._state)
        async with self._changing():
            await uncancelled(reset_to(self._engine, self._commit, self._maintenance, self._queue, offset))

    async def remove_before(self, offset: int) -> int:
        """Drop the segments that end at or below `offset`, never the active one; the new log start."""
        self._engine.check(self._state)
        await uncancelled(remove_before(self._engine, self._maintenance, self._state, offset))
        return self.log_start

    async def retain(
        self,
        *,
        retention_ms: int,
        retention_bytes: int,
        not_after_offset: int | None = None,
        keep_keyed_after_ms: int | None = None,
    ) -> Retained:
        """Drop whole segments that are too old or too much, oldest first; -1 means no limit.

        A segment is too old when its last batch was appended more than `retention_ms` ago; the active one is closed
        and dropped then, too. Segments are too much while the log without the oldest one still has
        `retention_bytes`. Kept in any case: what ends above `not_after_offset`, and what has keyed batches appended
        after `keep_keyed_after_ms`.
        """
        self._engine.check(self._state)
        return await uncancelled(
            retain(
                self._engine,
                self._commit,
                self._maintenance,
                self._queue,
                retention_ms=retention_ms,
                retention_bytes=retention_bytes,
                not_after_offset=not_after_offset,
                keep_keyed_after_ms=keep_keyed_after_ms,
            )
        )

    def abandon(self, error: AcklogError) -> None:
        """The log has been removed: fail what waits, take nothing more."""
        self._state.refused = error.detail
        self._state.is_removed = True
        self._commit.fail_all(error, of_log=self._queue)

    async def hold(self) -> None:
        await self._commit.hold(self._queue)

    def release(self) -> None:
        self._commit.release(self._queue)

    # --- pieces -------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        """Changes come one after the other, in the order of the calls; no index is made meanwhile, which would be
        stored and describe the batches of before."""
        async with self._queue.changing, self._index_loading:
            yield

    def _out_of_range(self, offset: int) -> AcklogError:
        return AcklogError(
            ProblemCode.OFFSET_OUT_OF_RANGE,
            f"offset {offset} is outside the log, which goes from {self.log_start} to {self.log_end}",
            extra={"log_start": self.log_start, "log_end": self.log_end},
        )

    def _corrupt(self, damage: Damage) -> AcklogError:
        if not self._state.damage:
            self._state.damage = damage.reason
            self._engine.dirty[self._state] = None  # the next checkpoint remembers it
            self.on_damaged()
        return AcklogError(
            ProblemCode.RECORDS_CORRUPT,
            f"log {self.key} is damaged at offset {damage.offset}: {damage.reason}",
            extra={"offset": damage.offset, "next_offset": damage.next_offset},
        )

    async def _read_segment(self, segment: Segment, offset: int, max_bytes: int) -> list[StoredBatch] | Damage:
        following = self._following(segment)
        if offset >= segment.end_offset:  # damage that recovery found
            return Damage(offset, following, "durable batches are missing")
        index = await self._index(segment)
        if not len(index):
            return Damage(offset, following, "no batch of the segment is valid")
        _, position = index.floor(offset)
        length = min(max_bytes + index.interval_bytes, segment.size_bytes - position)
        has_failed = False
        while True:
            try:
                data = self._engine.files.read_cached(segment.path, position, length)
                if data is None:
                    data = await self._run(partial(_read, self._engine, segment.path, position, length))
            except DiskFailedError as error:
                if has_failed:
                    return Damage(offset, index.following(offset) or following, f"it cannot be read: {error}")
                has_failed = True  # a bad sector behind the batch must not hide it: read no more than needed
                length = min(index.interval_bytes, length)
                continue
            parsed = parse_batches(data, offset)
            if isinstance(parsed, int):  # the first batch needs more bytes
                if position + parsed <= segment.size_bytes:
                    length = min(parsed if has_failed else max(parsed, 2 * length), segment.size_bytes - position)
                    continue
                parsed = Damage(offset, offset, "the batch that holds it is damaged, and the last one of its segment")
            if isinstance(parsed, Damage) and parsed.next_offset <= offset:
                return Damage(offset, index.following(offset) or following, parsed.reason)
            return parsed

    def _following(self, segment: Segment) -> int:
        segments = self._state.segments
        number = self._state.segment_at(segment.base_offset) + 1
        return segments[number].base_offset if number < len(segments) else segment.end_offset

    async def _index(self, segment: Segment) -> SegmentIndex:
        index = self._engine.indexes.get(segment)
        return await uncancelled(self._load_index(segment)) if index is None else index

    async def _load_index(self, segment: Segment) -> SegmentIndex:
        engine = self._engine
        async with self._index_loading:
            index = engine.indexes.get(segment)
            if index is None:
                interval = self._state.settings.index_interval_bytes
                load = partial(load_index, engine.disk, engine.files, segment, interval_bytes=interval)
                index = await self._run(load)
                if segment in self._state.segments:
                    engine.indexes.put(segment, index)
            return index

    async def _run(self, function: "partial[_Result]") -> _Result:
        return await self._engine.io.run(function)
