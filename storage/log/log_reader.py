"""Reading one log: by offset, and by time."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from acklog.wire.problems import ProblemCode
from cluster.errors import AcklogError
from storage.disk.port import DiskFailedError
from storage.log.engine import Engine
from storage.log.index import SegmentIndex
from storage.log.log_state import LogState
from storage.log.segment import Segment
from storage.log.segment_reader import Damage, StoredBatch, load_index, parse_batches
from storage.log.uncancelled import uncancelled

_Result = TypeVar("_Result")


def _read(engine: Engine, path: str, position: int, length: int) -> bytes:
    with engine.files.use(path) as file:
        return file.read(position, length)


class LogReader:
    """`on_damaged` is called when damage is found that was not known. `making_index` is held while an index is made:
    two at a time would write the same file, and whoever changes the log must keep others from storing one of the
    batches of before."""

    def __init__(self, engine: Engine, state: LogState, *, on_damaged: Callable[[], None]) -> None:
        self._engine = engine
        self._state = state
        self._on_damaged = on_damaged
        self.making_index = asyncio.Lock()

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
                if segment not in state.segments or state.is_removed:
                    continue  # it was removed meanwhile
                raise self.corrupt(Damage(offset, segment.end_offset, "the segment's file is missing")) from None
            except DiskFailedError as error:
                found = Damage(offset, self._following(segment), f"its index cannot be made: {error}")
            if state.version != version:
                continue
            if isinstance(found, Damage):
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

    async def offset_at_time(self, time_ms: int) -> int:
        """As `PartitionLog.offset_at_time` says."""
        state = self._state
        self._engine.check(state)
        for segment in list(state.segments):
            if segment.last_append_ms < time_ms or segment.size_bytes == 0:
                continue
            try:
                index = await self._index(segment)
            except FileNotFoundError:
                if segment in state.segments:
                    raise self.corrupt(
                        Damage(segment.base_offset, segment.end_offset, "the segment's file is missing")
                    ) from None
                continue  # retention removed it meanwhile
            except DiskFailedError as error:
                raise self.corrupt(Damage(segment.base_offset, self._following(segment), str(error))) from error
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

    def out_of_range(self, offset: int) -> AcklogError:
        return AcklogError(
            ProblemCode.OFFSET_OUT_OF_RANGE,
            f"offset {offset} is outside the log, which goes from {self._state.log_start} to {self._state.log_end}",
            extra={"log_start": self._state.log_start, "log_end": self._state.log_end},
        )

    def corrupt(self, damage: Damage) -> AcklogError:
        if not self._state.damage:
            self._state.damage = damage.reason
            self._engine.dirty[self._state] = None  # the next checkpoint remembers it
            self._on_damaged()
        return AcklogError(
            ProblemCode.RECORDS_CORRUPT,
            f"log {self._state.key} is damaged at offset {damage.offset}: {damage.reason}",
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
        return await self._engine.io.run(function)
