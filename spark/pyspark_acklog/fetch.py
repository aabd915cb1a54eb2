"""The log over HTTP: the messages of one range of offsets, from any gateway, each exactly once and none left out.

What is asked for are the log's batches as they are stored. To send them costs a server next to nothing, where making
Arrow there would hold up those who send and receive; so the work spreads over Spark's workers, and checksums are
verified where the way ends.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from acklog.client.background import Background
from acklog.client.call import Call, Request, Response, raise_for_problem, segment, target
from acklog.client.caller import Caller
from acklog.errors import (
    AcklogError,
    LogDiverged,
    MessageExpired,
    NodesTooOld,
    OffsetOutOfRange,
    RecordsCorrupt,
    TopicNotFound,
    UnknownField,
)
from acklog.filters import MessageFilter
from acklog.filters.matching_runs import matching_runs
from acklog.runtime import monotonic_ms
from acklog.wire.batch import BatchHeader
from acklog.wire.log_page import MEDIA_TYPE, OnUndecodable, headers, runs
from acklog.wire.records_arrow import record_batches
from pyspark_acklog import columns
from pyspark_acklog.failures import DataLossError, SparkSourceError, TopicChangedError, of_server
from pyspark_acklog.options import FetchOptions, ReadFrom
from pyspark_acklog.plan import lost
from pyspark_acklog.ranges import OffsetRange

PAGES_AHEAD_MAX = 2
"""Pages of one range that wait while the one before is worked on: what bounds a task's memory."""
BEHIND_PAUSE_S = 0.1
PAGES_PER_SECOND = 20
"""Of a read with a rate, at least: a rate that is kept in a few large pages is no rate for who shares the server."""
BATCH_ROWS_MAX = 16 * 1024
BATCH_BYTES_MAX = 4 * 1024 * 1024
"""Of what goes to Spark in one piece. Each piece has a cost of its own there, whatever is in it."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets of a range that hold no message: `start` to `end` (exclusive), and why: `retention`, `missing` for those
    that the log leaves out, or `damaged` for those that cannot be read."""

    topic: str
    partition: int
    start: int
    end: int
    reason: str


OnGap = Callable[[Gap], None]


@dataclass(frozen=True, slots=True)
class Page:
    """What one request brought: all that there is from `offset` to below `next_offset`."""

    range: OffsetRange
    offset: int
    next_offset: int
    content: bytes
    on_undecodable: OnUndecodable | None = None
    message_filter: MessageFilter | None = None

    @property
    def size_bytes(self) -> int:
        """As it was sent."""
        return len(self.content)

    @property
    def batches(self) -> Iterator[pa.RecordBatch]:
        """The messages, in the columns of `acklog.wire.records_arrow`. They are made as they are taken: a compressed
        page may be many times as large in memory. Raises SparkSourceError."""
        found = runs(self.content, self.offset, self.next_offset, on_undecodable=self.on_undecodable)
        if self.message_filter is not None:
            wanted = self.message_filter
            found = (some for run in found for some in matching_runs(run, wanted))
        try:
            yield from record_batches(self.range.partition, found, rows_max=BATCH_ROWS_MAX, bytes_max=BATCH_BYTES_MAX)
        except ValueError as error:
            where = f"{self.range.topic}-{self.range.partition}, from {self.offset} on"
            raise SparkSourceError(f"{where}: a batch is damaged: {error}") from None


def batches(
    range_: OffsetRange, options: FetchOptions, *, names: Sequence[str] = columns.NAMES, on_gap: OnGap | None = None
) -> Iterator[pa.RecordBatch]:
    """The messages of the range in the columns `names`, in order of their offsets; with a filter only those that match.
    Empty batches are left out.

    Offsets that are gone raise DataLossError, unless `options.fail_on_data_loss` is off: then they are left out.
    `on_gap` is told of every run of offsets that holds no message. Raises SparkSourceError.
    """
    for page in pages(range_, options, on_gap=on_gap):
        for records in page.batches:
            yield columns.table_batch(records, range_.topic, names)


def pages(range_: OffsetRange, options: FetchOptions, *, on_gap: OnGap | None = None) -> Iterator[Page]:
    """The same, request by request. Raises SparkSourceError."""
    if range_.is_empty:
        return
    background = Background("acklog-spark-fetch")
    fetching = _Fetching(range_, options, on_gap)
    try:
        while True:
            page = background.run(fetching.next_page)
            if page is None:
                return
            yield page
    except AcklogError as error:
        raise of_server(error, options.connection.urls, f"reading {range_}") from None
    finally:
        background.run(fetching.close)
        background.close()


class _Fetching:
    """Reads ahead of the one who takes the pages. Everything runs on one event loop."""

    def __init__(self, range_: OffsetRange, options: FetchOptions, on_gap: OnGap | None) -> None:
        self._range = range_
        self._options = options
        self._on_gap = on_gap
        self._caller: Caller | None = None
        self._filter = options.message_filter
        self._is_filter_known = True  # to the servers, until one says that it is not
        self._epoch: str | None = None  # of the answer before
        self._task: asyncio.Task[None] | None = None
        self._waiting: asyncio.Queue[Page | Exception | None] = asyncio.Queue(PAGES_AHEAD_MAX)

    async def next_page(self) -> Page | None:
        """None behind the last one. Raises AcklogError, SparkSourceError."""
        if self._task is None:
            # Tasks begin with different gateways, so that each gets its share.
            self._caller = self._options.connection.caller(first=self._range.partition)
            self._task = asyncio.create_task(self._read(self._caller))
        item = await self._waiting.get()
        if isinstance(item, Exception):
            raise item
        return item

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._caller is not None:
            await self._caller.close()

    async def _read(self, caller: Caller) -> None:
        try:
            await self._read_all(caller)
        except Exception as error:  # it is raised where the pages are taken
            await self._waiting.put(error)
        else:
            await self._waiting.put(None)

    async def _read_all(self, caller: Caller) -> None:
        cursor = self._range.start
        began_ms = moved_ms = monotonic_ms()
        fetched_bytes = 0
        while cursor < self._range.end:
            page = await self._page(caller, cursor)
            if isinstance(page, Gap):
                self._note_gap(page.start, page.end, page.reason)
                cursor = page.end
                continue
            if page.next_offset == cursor:
                # A replica that is behind, or a leader that has just begun: what was committed comes back.
                if monotonic_ms() - moved_ms > self._options.connection.timeout_s * 1000:
                    raise SparkSourceError(
                        f"{self._range.topic}-{self._range.partition} ends at {cursor}, although {self._range.end} was "
                        "committed when the read was planned: messages were lost"
                    )
                await asyncio.sleep(BEHIND_PAUSE_S)
                continue
            cursor, moved_ms = page.next_offset, monotonic_ms()
            fetched_bytes += page.size_bytes
            await self._waiting.put(page)
            await self._hold_rate(fetched_bytes, began_ms)

    async def _hold_rate(self, fetched_bytes: int, began_ms: float) -> None:
        rate = self._options.max_bytes_per_second
        if rate is not None:
            due_ms = began_ms + fetched_bytes * 1000 / rate
            await asyncio.sleep(max(0.0, (due_ms - monotonic_ms()) / 1000))

    async def _page(self, caller: Caller, offset: int) -> Page | Gap:
        """The gap where retention has removed the offset, or where it cannot be read and need not be. Raises
        AcklogError, SparkSourceError."""
        try:
            response = await self._ask(caller, offset)
        except LogDiverged as error:
            raise DataLossError(
                f"{self._range.topic}-{self._range.partition} was cut at {error.extra.get('divergedAt')} after it had "
                f"been read up to {offset}, and has other messages from there on: the server lost some"
            ) from None
        except OffsetOutOfRange as error:
            log_start = error.extra.get("logStart")
            if isinstance(log_start, int) and offset < log_start:
                return self._gap(offset, log_start, "retention")
            # Beyond the high watermark that this replica knows: it catches up.
            return Page(self._range, offset, offset, b"")
        except MessageExpired:  # the partition was decommissioned, and is gone
            return self._gap(offset, self._range.end, "retention")
        except RecordsCorrupt as error:
            behind = error.extra.get("next_offset")
            if self._options.fail_on_data_loss or not isinstance(behind, int) or behind <= offset:
                raise
            return self._gap(offset, behind, "damaged")
        except TopicNotFound:
            raise TopicChangedError(f"topic {self._range.topic!r} was deleted while it was read") from None
        return self._checked(offset, response)

    async def _ask(self, caller: Caller, offset: int) -> Response:
        """Raises AcklogError."""
        while True:
            try:
                response = await caller.perform(self._call(offset))
            except (UnknownField, NodesTooOld) as error:  # of an earlier version, in the middle of an upgrade
                if error.field == "filter" and self._is_filter_known:
                    self._is_filter_known = False  # everything comes then, and is filtered here
                elif self._epoch is not None:
                    self._epoch = None
                else:
                    raise
                continue
            self._epoch = response.headers.get("x-acklog-epoch")
            return response

    def _call(self, offset: int) -> Call[Response]:
        query: list[tuple[str, object | None]] = [
            ("offset", offset),
            ("until", self._range.end),
            ("maxBytes", page_bytes(self._options)),
        ]
        if self._epoch is not None:
            query.append(("epoch", self._epoch))
        if self._options.read_from is ReadFrom.NEAREST:
            query.append(("readFrom", self._options.read_from.value))
        if self._is_filtered_there:
            query.append(("filter", self._options.filter_text))
        path = f"/topics/{segment(self._range.topic)}/partitions/{self._range.partition}/records"
        return Call(Request("GET", target(path, query), headers={"Accept": MEDIA_TYPE}), _successful)

    def _checked(self, offset: int, response: Response) -> Page:
        """Raises SparkSourceError where it is of another topic, or leaves something out."""
        topic_id = response.headers.get("x-acklog-topic-id", "")
        if topic_id != self._range.topic_id:
            raise changed(self._range.topic, self._range.topic_id, topic_id)
        next_offset = min(int(response.headers["x-acklog-next-offset"]), self._range.end)
        expected = offset
        try:
            for header in headers(response.body):
                if header.is_control or self._is_filtered_there:
                    continue
                if expected < min(header.base_offset, next_offset):
                    self._note_gap(expected, min(header.base_offset, next_offset), "missing")
                expected = max(expected, header.next_offset)
        except ValueError as error:
            where = f"{self._range.topic}-{self._range.partition}, from {offset} on"
            raise SparkSourceError(f"{where}: a batch is damaged: {error}") from None
        # What a filter passes over is left out, too: then the leader, which read it all, says what cannot be read.
        if expected < next_offset and not self._is_filtered_there:
            self._note_gap(expected, next_offset, "missing")
        on_undecodable = None if self._options.fail_on_data_loss else self._note_undecodable
        return Page(self._range, offset, next_offset, response.body, on_undecodable, self._filter)

    @property
    def _is_filtered_there(self) -> bool:
        """Whether the server is asked for what matches. What it sends are whole batches, with what does not beside."""
        return self._filter is not None and self._is_filter_known

    def _note_undecodable(self, header: BatchHeader, _error: ValueError) -> None:
        start, end = max(header.base_offset, self._range.start), min(header.next_offset, self._range.end)
        self._note_gap(start, end, "damaged")

    def _gap(self, start: int, end: int, reason: str) -> Gap:
        return Gap(self._range.topic, self._range.partition, start, min(end, self._range.end), reason)

    def _note_gap(self, start: int, end: int, reason: str) -> None:
        if self._options.fail_on_data_loss:
            raise lost(self._range.topic, self._range.partition, start, end, reason=reason)
        if self._on_gap is not None:
            self._on_gap(self._gap(start, end, reason))


def page_bytes(options: FetchOptions) -> int:
    """How much one request asks for."""
    rate = options.max_bytes_per_second
    return options.fetch_bytes if rate is None else min(options.fetch_bytes, max(1, rate // PAGES_PER_SECOND))


def changed(topic: str, known: str, found: str) -> TopicChangedError:
    """The error for a topic with another id than the one that is read."""
    return TopicChangedError(
        f"topic {topic!r} was deleted and made anew (its id was {known}, now it is {found or 'not told'}): "
        "its offsets mean other messages now; begin a new query, with a new checkpoint if it is a stream"
    )


def _successful(response: Response) -> Response:
    raise_for_problem(response)
    return response
