"""Reading one log: by offset, and by time."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.disk.port import DiskFailedError, ShortageError
from storage.log.engine import Engine
from storage.log.index import SegmentIndex
from storage.log.log_state import LogState
from storage.log.log_walk import LogWalk, Unreadable
from storage.log.lost_ranges import lost_ranges
from storage.log.segment import Segment
from storage.log.segment_reader import (
    Damage,
    StoredBatch,
    VerifiedRun,
    load_index,
    parse_batches,
    place_behind_damage,
    verify_run,
)
from storage.log.uncancelled import uncancelled

_Result = TypeVar("_Result")


def _read(engine: Engine, path: str, position: int, length: int) -> bytes:
    with engine.files.use(path) as file:
        return file.read(position, length)


class Verified(NamedTuple):
    """Up to `next_offset` all has been looked at. `size_bytes` were read; `found_damage`: what is before `next_offset`
    cannot be read."""

    next_offset: int
    size_bytes: int
    found_damage: bool


class KeyedRange(NamedTuple):
    """From `first` up to `end`, exclusive, there may be keyed batches, appended at `latest_ms` at the latest."""

    first: int
    end: int
    latest_ms: int


class LogReader:
    """`on_damaged` is called when damage is found that was not known. `making_index` is held while an index is made:
    two at a time would write the same file, and whoever changes the log must keep others from storing one of the
    batches of before."""

    def __init__(self, engine: Engine, state: LogState, *, on_damaged: Callable[[], None]) -> None:
        self._engine = engine
        self._state = state
        self._on_damaged = on_damaged
        self.making_index = asyncio.Lock()

    @property
    def log_start(self) -> int:
        return self._state.log_start

    async def read(self, offset: int, *, max_bytes: int, until: int | None = None) -> list[StoredBatch]:
        """As `PartitionLog.read` says."""
        engine, state = self._engine, self._state
        max_bytes = min(max_bytes, engine.settings.read_bytes_max)
        batches: list[StoredBatch] = []
        version = state.version
        while True:
            engine.check(state)
            if not batches:
                if not state.log_start <= offset <= state.log_end:
                    raise self.out_of_range(offset)
                version = state.version
            end = state.log_end if until is None else min(until, state.log_end)
            if offset >= end or state.version != version:  # what follows now may not follow what was read
                return batches
            segment = state.segments[state.segment_at(offset)]
            try:
                found = await self._read_segment(segment, offset, max_bytes)
            except FileNotFoundError:
                if segment not in state.segments or state.is_removed or state.is_replacing:
                    continue  # it was removed meanwhile
                raise self.corrupt(Damage(offset, segment.end_offset, "the segment's file is missing")) from None
            except DiskFailedError as error:
                found = Damage(offset, self._following(segment), f"its index cannot be made: {error}")
            if state.version != version:
                continue
            if isinstance(found, Damage):
                if state.is_replacing:
                    async with self.making_index:  # until the segment's index is that of its file
                        continue
                if batches:
                    return batches
                raise self.corrupt(found)
            for batch in found:
                if batch.header.base_offset >= end or (batches and max_bytes < batch.header.length):
                    return batches
                batches.append(batch)
                max_bytes -= batch.header.length
            offset = batches[-1].header.next_offset
            if max_bytes <= 0 or offset < segment.end_offset:
                return batches

    async def verify(self, offset: int, *, max_bytes: int, older_than_ms: int) -> Verified | None:
        """As `PartitionLog.verify` says."""
        state = self._state
        self._engine.check(state)
        offset = max(offset, state.log_start)
        if offset >= state.log_end:
            return None
        segment, version = state.segments[state.segment_at(offset)], state.version
        if offset < segment.end_offset:
            try:
                run = await self._verify_run(segment, offset, max_bytes, older_than_ms)
            except (FileNotFoundError, DiskFailedError):
                run = None  # reading it says what is wrong
            if state.version != version or segment not in state.segments:
                return Verified(offset, 0, False)
            if run is not None and run.problem is None:
                is_over = run.is_last and run.next_offset < segment.end_offset
                return None if is_over else Verified(max(run.next_offset, offset), run.size_bytes, False)
            if run is not None:
                offset = max(run.next_offset, offset)
        return await self._read_through(offset)

    async def _verify_run(
        self, segment: Segment, offset: int, max_bytes: int, older_than_ms: int
    ) -> VerifiedRun | None:
        index = await self._index(segment)
        if not len(index):
            return None
        verify = partial(
            verify_run,
            self._engine.files,
            segment.path,
            row=index.floor(offset),
            end=segment.size_bytes,
            offset=offset,
            max_bytes=max_bytes,
            older_than_ms=older_than_ms,
        )
        return await self._run(verify)

    async def _read_through(self, offset: int) -> Verified:
        """Over one batch, as a reader meets it."""
        try:
            found = await self.read(offset, max_bytes=1)
        except ServerError as error:
            following = error.extra.get("next_offset")
            if error.code is not ProblemCode.RECORDS_CORRUPT or not isinstance(following, int):
                raise
            return Verified(max(following, offset + 1), 0, True)
        return Verified(found[-1].header.next_offset if found else offset, 0, False)

    def append_time_near(self, offset: int) -> int:
        """As `PartitionLog.append_time_near` says."""
        state = self._state
        if not state.segments or not state.log_start <= offset < state.log_end:
            return -1
        segment = state.segments[state.segment_at(offset)]
        index = self._engine.indexes.get(segment)
        return segment.first_append_ms if index is None or not len(index) else index.time_near(offset)

    async def keyed_ranges_since(self, time_ms: int) -> list[KeyedRange]:
        """As `PartitionLog.keyed_ranges_since` says."""
        lost = lost_ranges(self._state, opened_ms=self._engine.opened_ms)
        ranges = [KeyedRange(*each) for each in lost if each.latest_ms >= time_ms]
        for segment in list(self._state.segments):
            if segment.last_keyed_ms >= time_ms:
                first = await self._begin_at_time(segment, time_ms)
                ranges.append(KeyedRange(first, segment.end_offset, segment.last_append_ms))
        return sorted(ranges)

    async def _begin_at_time(self, segment: Segment, time_ms: int) -> int:
        """An offset of the segment before which nothing was appended at `time_ms` or later, but for damage."""
        if segment.first_append_ms < time_ms:
            with contextlib.suppress(FileNotFoundError, DiskFailedError):  # whoever reads the segment will hear of it
                index = await self._index(segment)
                if len(index):
                    return index.offset_before_time(time_ms)
        return segment.base_offset

    async def offset_at_time(self, time_ms: int) -> int:
        """As `PartitionLog.offset_at_time` says."""
        engine, state = self._engine, self._state
        engine.check(state)
        lost = {each.end: each.first for each in lost_ranges(state, opened_ms=engine.opened_ms)}
        unreadable: int | None = None  # where damage begins that nothing earlier than `time_ms` stands behind
        for segment in list(state.segments):
            if segment.base_offset in lost and unreadable is None:
                unreadable = lost[segment.base_offset]
            if segment.size_bytes == 0:
                continue
            if segment.last_append_ms < time_ms:
                unreadable = None
                continue
            try:
                index = await self._index(segment)
            except (FileNotFoundError, DiskFailedError) as error:
                if segment in state.segments:  # else retention removed it meanwhile
                    self.corrupt(Damage(segment.base_offset, self._following(segment), str(error)))
                    unreadable = segment.base_offset if unreadable is None else unreadable
                continue
            if not len(index):
                unreadable = segment.base_offset if unreadable is None else unreadable
                continue
            walk = LogWalk(self, index.offset_before_time(time_ms), segment.end_offset)
            while (found := await walk.next(2 * index.interval_bytes)) is not None:
                if isinstance(found, Unreadable):
                    unreadable = found.offset if unreadable is None else unreadable
                    continue
                for header, _ in found:
                    if header.append_time_ms >= time_ms:
                        return header.base_offset if unreadable is None else unreadable
                    unreadable = None
        return state.log_end if unreadable is None else unreadable

    def out_of_range(self, offset: int) -> ServerError:
        return ServerError(
            ProblemCode.OFFSET_OUT_OF_RANGE,
            f"offset {offset} is outside the log, which goes from {self._state.log_start} to {self._state.log_end}",
            extra={"log_start": self._state.log_start, "log_end": self._state.log_end},
        )

    def corrupt(self, damage: Damage) -> ServerError:
        if not self._state.damage:
            self._state.damage = damage.reason
            self._engine.dirty[self._state] = None  # the next checkpoint remembers it
            self._on_damaged()
        return ServerError(
            ProblemCode.RECORDS_CORRUPT,
            f"log {self._state.key} is damaged at offset {damage.offset}: {damage.reason}",
            extra={"offset": damage.offset, "next_offset": damage.next_offset},
        )

    async def _read_segment(self, segment: Segment, offset: int, max_bytes: int) -> list[StoredBatch] | Damage:
        following = self._following(segment)
        if offset >= segment.end_offset:  # damage that recovery found
            return Damage(offset, following, "durable batches are missing")
        if offset < segment.base_offset:  # the segment before is the log's first, and lost
            return Damage(offset, segment.base_offset, "durable batches are missing")
        index = await self._index(segment)
        if not len(index):
            return Damage(offset, following, "no batch of the segment is valid")
        _, position = index.floor(offset)
        length = min(max_bytes + index.interval_bytes, segment.size_bytes - position)
        has_failed = has_searched = False
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
                if position + parsed <= segment.size_bytes and len(data) == length:
                    length = min(parsed if has_failed else max(parsed, 2 * length), segment.size_bytes - position)
                    continue
                parsed = Damage(offset, offset, "the batch that holds it is damaged, and the last one of its segment")
            if isinstance(parsed, Damage) and parsed.next_offset <= offset:
                place = None if has_searched else await self._search(segment, index, offset)
                if isinstance(place, int):
                    position, has_searched = place, True
                    length = min(max(max_bytes, index.interval_bytes), segment.size_bytes - position)
                    continue
                return place or Damage(offset, index.following(offset) or following, parsed.reason)
            return parsed

    async def _search(self, segment: Segment, index: SegmentIndex, offset: int) -> int | Damage | None:
        """The way from the index to `offset` is lost, as a header cannot be read: what `place_behind_damage` says."""
        row_offset, position = index.floor(offset)
        end = index.position_behind(offset, segment.size_bytes)
        search = partial(
            place_behind_damage,
            self._engine.files,
            segment.path,
            row=(row_offset, position),
            end=end,
            offset=offset,
        )
        try:
            return await self._run(search)
        except DiskFailedError:
            return None

    def _following(self, segment: Segment) -> int:
        segments = self._state.segments
        number = self._state.segment_at(segment.base_offset) + 1
        return segments[number].base_offset if number < len(segments) else segment.end_offset

    async def _index(self, segment: Segment) -> SegmentIndex:
        index = self._engine.indexes.get(segment)
        return await uncancelled(self._load_index(segment)) if index is None else index

    async def _load_index(self, segment: Segment) -> SegmentIndex:
        engine = self._engine
        async with self.making_index:
            index = engine.indexes.get(segment)
            if index is None:
                interval = self._state.settings.index_interval_bytes
                load = partial(load_index, engine.disk, engine.files, segment, interval_bytes=interval)
                index = await self._run(load)
                if segment in self._state.segments:
                    engine.indexes.put(segment, index)
            return index

    async def _run(self, function: "partial[_Result]") -> _Result:
        try:
            return await self._engine.io.run(function)
        except ShortageError as error:
            raise self._engine.refused(error) from error
