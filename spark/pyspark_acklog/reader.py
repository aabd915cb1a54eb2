"""A batch read: planned once on the driver, read range by range on the workers."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from acklog import Client
from acklog.errors import AcklogError
from pyspark_acklog import fetch, plan, ranges
from pyspark_acklog.archive.reading import ArchivedRange, archived_parts
from pyspark_acklog.archive.reading import batches as archived_batches
from pyspark_acklog.failures import of_server
from pyspark_acklog.filters import Pushed, keep_matching, keep_rows, push
from pyspark_acklog.options import ReadOptions
from pyspark_acklog.ranges import OffsetRange, PinnedPartition
from pyspark_acklog.rows import Rows

_PUSHDOWN_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"


class RangePartition(InputPartition):
    """What one task reads."""

    def __init__(self, range_: OffsetRange | ArchivedRange | None) -> None:
        super().__init__(range_)


def read_range(
    range_: OffsetRange | ArchivedRange, options: ReadOptions, rows: Rows, pushed: Pushed
) -> Iterator[pa.RecordBatch]:
    """The rows of one task. Raises SparkSourceError."""
    if isinstance(range_, ArchivedRange):
        topic = range_.range.topic
        archived = archived_batches(range_, fail_on_data_loss=options.fetch.fail_on_data_loss)
        wanted = options.fetch.message_filter
        found = archived if wanted is None else (keep_matching(records, wanted) for records in archived)
    else:
        topic = range_.topic
        found = (records for page in fetch.pages(range_, options.fetch) for records in page.batches)
    for records in found:
        kept = keep_rows(records, pushed.on_rows) if pushed.on_rows else records
        if kept.num_rows:
            yield rows.batch(kept, topic)


class AcklogReader(DataSourceReader):
    """Plans in `partitions`, on the driver; `read` runs on the workers and depends on its range only."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        self._options = options
        self._rows = Rows(schema, options)
        self._pushed = Pushed()

    def partitions(self) -> Sequence[InputPartition]:
        """The ranges that are left of the plan. Raises SparkSourceError."""
        with self._options.connection.client() as client:
            pinned = [self._cut(client, each) for each in plan.pin_partitions(client, self._options)]
        slices = ranges.split_all(pinned, bytes_max=self._options.max_bytes_per_partition)
        parts = archived_parts(self._options.archive, slices) if self._options.archive else slices
        return [RangePartition(each) for each in parts] or [RangePartition(None)]

    def _cut(self, client: Client, pinned: PinnedPartition) -> PinnedPartition:
        range_ = self._pushed.cut(pinned.range)
        if self._options.archive:  # the servers' index of times knows nothing of what they have removed
            return replace(pinned, range=range_)
        first_ms, last_ms = self._pushed.first_append_time_ms(), self._pushed.last_append_time_ms()
        try:
            if first_ms is not None and not range_.is_empty:
                range_ = range_.within(plan.offset_at_time(client, range_, first_ms), None)
            if last_ms is not None and not range_.is_empty:
                range_ = range_.within(None, plan.offset_at_time(client, range_, last_ms + 1))
        except AcklogError as error:
            raise of_server(error, self._options.connection.urls, "planning the read") from None
        return PinnedPartition(range_, pinned.bytes_per_offset, pinned.log_start, pinned.high_watermark)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Raises SparkSourceError."""
        range_: OffsetRange | ArchivedRange | None = partition.value
        return iter(()) if range_ is None else read_range(range_, self._options, self._rows, self._pushed)


class PushdownReader(AcklogReader):
    """The same, for a Spark that pushes filters down: where that is switched off, it refuses a reader that could."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Takes over conditions on topic, partition and offset, and drops rows early by times and keys."""
        self._pushed, left = push(filters)
        return left


def reader_class() -> type[AcklogReader]:
    """Spark asks in one of two kinds of process, and only one of them has filters to push down."""
    main = sys.modules.get("__main__")
    name = getattr(getattr(main, "__spec__", None), "name", "")
    return PushdownReader if name == _PUSHDOWN_WORKER or _PUSHDOWN_WORKER in sys.modules else AcklogReader
