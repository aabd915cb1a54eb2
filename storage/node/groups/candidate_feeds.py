"""Shows a partition's messages to its groups that look: all of them, or as a filter leaves them."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import reduce
from typing import Protocol

from acklog.filters.message_filter import MessageFilter, both
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.delivery.candidates import NO_KEY, CandidateIndex, CandidateKind, CandidateRun, WantedRange, runs_of
from storage.node.groups.lease_reader import end_of_damage
from storage.node.partition.batch_cache import CachedBatch
from storage.node.partition.named_filter import read_filter
from storage.node.partition.node_settings import NodeSettings
from storage.node.partition.record_reader import RecordReader

AHEAD_PART = 64
"""What part of an index may be filled ahead at once: it must push out nothing that somebody looks at."""


class CandidateFeed(Protocol):
    """`index` is what groups look at."""

    index: CandidateIndex

    async def show(self, wanted: WantedRange) -> None:
        """Make the first of it known. Raises ServerError STORAGE_FAILED."""
        ...

    async def show_more(self, wanted: WantedRange) -> bool:
        """As `show`, for who has something already; False where he had better take that first."""
        ...


class EveryMessageFeed:
    """What has just been committed is in the cache that the reader looks into first. At most `ahead_runs_max` runs and
    `ahead_bytes_max` of stored batches of that are shown before anybody wants them, as each is decoded for it."""

    def __init__(
        self,
        index: CandidateIndex,
        reader: RecordReader,
        readable_end: Callable[[], int],
        *,
        ahead_runs_max: int,
        ahead_bytes_max: int,
        header: str | None = None,
    ) -> None:
        self.index = index
        self._reader = reader
        self._readable_end = readable_end
        self._ahead_runs_max = ahead_runs_max
        self._ahead_bytes_max = ahead_bytes_max
        self._header = header

    async def show(self, wanted: WantedRange) -> None:
        """The batch that holds the first of it, and those behind it that are in the cache: a key's messages are given
        out together only as far as they have been shown, though each was sent by itself."""
        try:
            batch = await self._reader.batch_at(wanted.start, readable_end=self._readable_end())
            self._feed(wanted, batch)
            self._show_ahead(WantedRange(batch.header.next_offset, wanted.end))
        except ServerError as error:
            feed_damage(self.index, wanted, error)
        await asyncio.sleep(0)  # what is in the cache is there at once

    async def show_more(self, wanted: WantedRange) -> bool:
        """Without a read of the disk."""
        batch = self._reader.cached(wanted.start)
        if batch is None:
            return False
        try:
            self._feed(wanted, batch)
        except ServerError:
            return False  # who needs it next reports it
        return True

    def _show_ahead(self, wanted: WantedRange) -> None:
        at, runs_left, bytes_left = wanted.start, self._ahead_runs_max, self._ahead_bytes_max
        while at < wanted.end and (batch := self._reader.cached(at)) is not None:
            runs_left -= batch.header.count  # a message may be a run of its own
            bytes_left -= batch.header.length
            if runs_left < 0 or bytes_left < 0:
                break
            try:
                self._feed(WantedRange(at, wanted.end), batch)
            except ServerError:
                break  # who needs it next reports it
            at = batch.header.next_offset

    def _feed(self, wanted: WantedRange, batch: CachedBatch) -> None:
        """Raises ServerError RECORDS_CORRUPT."""
        header = batch.header
        if header.is_control:
            runs = [CandidateRun(header.base_offset, header.next_offset, CandidateKind.CONTROL)]
        else:
            runs = runs_of(header.base_offset, batch.records(), header=self._header)
        self.index.feed(wanted.start, header.next_offset, runs)


class FilteredFeed:
    """Reads many batches at a time. What a batch's tag bits prove not to match is passed without being decoded; of the
    others, those that hold a match are kept in the cache, where whoever leases it finds it."""

    def __init__(
        self,
        message_filter: MessageFilter,
        index: CandidateIndex,
        reader: RecordReader,
        readable_end: Callable[[], int],
        *,
        read_bytes: int,
        turn_messages: int,
        runs_max: int,
        shared_by: str | None,
    ) -> None:
        self.index = index
        self._filter = message_filter
        self._reader = reader
        self._readable_end = readable_end
        self._read_bytes = read_bytes
        self._turn_messages = turn_messages
        self._runs_max = max(runs_max // 4, 1)
        self._shared_by = shared_by

    async def show_more(self, wanted: WantedRange) -> bool:
        """Also from the disk, as what matches may be far apart."""
        try:
            await self.show(wanted)
        except ServerError:
            return False  # who needs it next reports it
        return True

    async def show(self, wanted: WantedRange) -> None:
        try:
            batches = await self._reader.batches_at(
                wanted.start, bytes_max=self._read_bytes, readable_end=self._readable_end()
            )
        except ServerError as error:
            feed_damage(self.index, wanted, error)
            return
        runs: list[CandidateRun] = []
        end, judged = wanted.start, 0
        for batch in batches:
            if end >= wanted.end or len(runs) >= self._runs_max:
                break
            if judged >= self._turn_messages:
                judged = 0
                await asyncio.sleep(0)  # the loop is for others, too
            try:
                judged += self._see(batch, runs)
            except ServerError as error:
                if not runs:
                    feed_damage(self.index, wanted, error)
                    return
                break
            end = batch.header.next_offset
        self.index.feed(wanted.start, end, runs)
        await asyncio.sleep(0)

    def _see(self, batch: CachedBatch, runs: list[CandidateRun]) -> int:
        """Add what the batch is; returns how many messages were looked at. Raises ServerError RECORDS_CORRUPT."""
        header = batch.header
        if header.is_control:
            _extend(runs, header.base_offset, header.next_offset, CandidateKind.CONTROL)
            return 1
        if not self._filter.may_match(header.tag_filter):
            _extend(runs, header.base_offset, header.next_offset, CandidateKind.FILTERED_OUT)
            self._reader.filter_figures.skipped(header)
            return 1
        matches, records = self._filter.matches, batch.records()
        matching = [at for at, record in enumerate(records) if record is not None and matches(record)]
        position = header.base_offset
        for at in matching:
            offset = header.base_offset + at
            if offset > position:
                _extend(runs, position, offset, CandidateKind.FILTERED_OUT)
            for run in runs_of(offset, records[at : at + 1], header=self._shared_by):
                last = runs[-1] if runs else None
                if last is not None and last.end == offset and _is_alike(last, run):
                    runs[-1] = CandidateRun(last.start, run.end, run.kind, run.key_hash, run.tag_bits)
                else:
                    runs.append(run)
            position = offset + 1
        if position < header.next_offset:
            _extend(runs, position, header.next_offset, CandidateKind.FILTERED_OUT)
        self._reader.filter_figures.passed_over(header, header.count - len(matching))
        if matching:
            self._reader.keep(batch)
        return len(records)


class CandidateFeeds:
    """Of one partition: one for all groups that look at every message, and one for each filter, and each header that
    groups are fair by. Groups with the same ones share what was found out; what was not used for longest is forgotten.
    """

    def __init__(
        self, reader: RecordReader, readable_end: Callable[[], int], *, settings: NodeSettings, runs_max: int
    ) -> None:
        self._reader = reader
        self._readable_end = readable_end
        self._settings = settings
        self._runs_max = runs_max
        self._every_message: CandidateFeed = self._new_feed((), None)
        self._particular: OrderedDict[tuple[tuple[str, ...], str | None], CandidateFeed] = OrderedDict()

    def of(self, filters: tuple[str, ...], *, header: str | None = None) -> CandidateFeed:
        """Of what matches all of these, by its keys or by the value of a header. Raises ServerError INVALID_FILTER."""
        if not filters and header is None:
            return self._every_message
        feed = self._particular.get((filters, header))
        if feed is None:
            feed = self._particular[filters, header] = self._new_feed(filters, header)
            if len(self._particular) > self._settings.filters_per_partition_max:
                self._particular.popitem(last=False)
        self._particular.move_to_end((filters, header))
        return feed

    def _new_feed(self, filters: tuple[str, ...], header: str | None) -> CandidateFeed:
        if not filters:
            ahead_runs_max = self._runs_max // AHEAD_PART
            return EveryMessageFeed(
                self._new_index(),
                self._reader,
                self._readable_end,
                ahead_runs_max=ahead_runs_max,
                ahead_bytes_max=self._settings.shown_ahead_bytes_max,
                header=header,
            )
        return FilteredFeed(
            reduce(both, map(read_filter, filters)),
            self._new_index(),
            self._reader,
            self._readable_end,
            read_bytes=self._settings.filter_read_bytes,
            turn_messages=self._settings.filter_turn_messages,
            runs_max=self._runs_max,
            shared_by=header,
        )

    def _new_index(self) -> CandidateIndex:
        return CandidateIndex(runs_max=self._runs_max)


def feed_damage(index: CandidateIndex, wanted: WantedRange, error: ServerError) -> None:
    """What cannot be read is shown as such. Raises the error where it says something else."""
    if error.code is ProblemCode.RECORDS_CORRUPT:
        end = min(end_of_damage(error, wanted.start), wanted.end)
        index.feed(wanted.start, end, [CandidateRun(wanted.start, end, CandidateKind.UNREADABLE)])
    elif error.code is not ProblemCode.OFFSET_OUT_OF_RANGE:
        raise error  # else retention has just removed it, and the group's jump takes it from here


def _extend(runs: list[CandidateRun], start: int, end: int, kind: CandidateKind) -> None:
    """Add a run that is nobody's, to the last one where that is such a one."""
    last = runs[-1] if runs else None
    if last is not None and last.end == start and last.kind is kind and last.key_hash == NO_KEY:
        runs[-1] = CandidateRun(last.start, end, kind)
    else:
        runs.append(CandidateRun(start, end, kind))


def _is_alike(first: CandidateRun, second: CandidateRun) -> bool:
    return (first.kind, first.key_hash, first.tag_bits) == (second.kind, second.key_hash, second.tag_bits)
