"""Ranges of offsets out of an export instead of a server, for the data source's option `archive`."""

from base64 import b64decode
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import msgspec.structs
import pyarrow as pa
import pyarrow.compute as pc

from acklog.catalog import PartitionState
from pyspark_acklog.archive.read_only_storage import ReadOnlyStorage, file_system_of
from pyspark_acklog.archive.table import files_with, table_of
from pyspark_acklog.export.failures import ExportError
from pyspark_acklog.export.records import ARROW, STORED_NAMES
from pyspark_acklog.export.spans import Span, total_length, without
from pyspark_acklog.export.table import Table
from pyspark_acklog.failures import DataLossError
from pyspark_acklog.ranges import OffsetRange

BATCH_ROWS = 16_384
_SCHEMA = pa.schema([ARROW.field(name) for name in STORED_NAMES])


class ArchivedRange(msgspec.Struct, frozen=True):
    """A range that was exported, with the files that have its rows. `missing` offsets are recorded as gaps that
    retention has left; those that never held a message are not among them."""

    range: OffsetRange
    path: str
    format: str
    files: tuple[str, ...]
    rows: int
    missing: int


class Archive:
    """An export of one topic, as it is when it is asked for the first time. Raises SparkSourceError."""

    def __init__(self, path: str, topic: str) -> None:
        self._path = path
        self._table: Table = table_of(ReadOnlyStorage(path), topic)
        if self._table.last is None or self._table.last.layout.format == "delta":
            raise ExportError(f"{path}: option 'archive' reads exports as parquet, orc and json")
        self._format = self._table.last.layout.format

        rows = max(1, self._table.rows)
        self.bytes_per_offset = max(1.0, sum(file.value_bytes for file in self._table.files.values()) / rows)
        """Of bodies, on average."""

    def extended(self, topic_id: str, state: PartitionState, *, fail_on_data_loss: bool) -> PartitionState:
        """The partition as if the archive's offsets were on the server. Raises DataLossError where the log begins
        behind the archive's end."""
        span = self._table.positions.get((topic_id, state.partition))
        if span is None or state.log_start is None or span.start >= state.log_start:
            return state
        if span.end < state.log_start and fail_on_data_loss:
            raise DataLossError(
                f"{self._table.topic}-{state.partition}: the archive {self._path} ends at {span.end}, and the log"
                f" begins at {state.log_start}: {state.log_start - span.end:,} messages are in neither; with"
                " failOnDataLoss=false they are left out"
            )
        return msgspec.structs.replace(state, log_start=span.start)

    def parts(self, range_: OffsetRange) -> list[ArchivedRange | OffsetRange]:
        """The range as what the archive has, and what the servers have to be asked for."""
        span = self._table.positions.get((range_.topic_id, range_.partition))
        archived = range_.within(range_.start, range_.start) if span is None else range_.within(span.start, span.end)
        if archived.is_empty:
            return [range_]
        before = range_.within(None, archived.start)
        behind = range_.within(archived.end, None)
        found: list[ArchivedRange | OffsetRange] = [self._archived(archived)]
        return [*([before] if not before.is_empty else []), *found, *([behind] if not behind.is_empty else [])]

    def _archived(self, range_: OffsetRange) -> ArchivedRange:
        wanted = [Span(range_.topic_id, range_.partition, range_.start, range_.end)]
        files = tuple(file.path for file in files_with(self._table, wanted))
        gaps = {
            reason: [gap.span for gap in self._table.gaps if gap.reason == reason]
            for reason in ("retention", "compaction")
        }
        lost = total_length(wanted) - total_length(without(wanted, gaps["retention"]))
        rows = total_length(without(without(wanted, gaps["retention"]), gaps["compaction"]))
        return ArchivedRange(range_, self._path, self._format, files, rows, lost)


def batches(archived: ArchivedRange, *, fail_on_data_loss: bool) -> Iterator[pa.RecordBatch]:
    """The rows as the records endpoint would send them, in order. Raises DataLossError, ExportError."""
    range_ = archived.range
    if archived.missing and fail_on_data_loss:
        raise DataLossError(
            f"{range_}: the archive {archived.path} lacks {archived.missing:,} messages that retention had removed"
            " before they were exported; with failOnDataLoss=false they are left out"
        )
    rows = _rows(archived)
    if rows.num_rows != archived.rows:
        raise ExportError(
            f"{range_}: the archive {archived.path} has {rows.num_rows:,} rows of it, its manifests say"
            f" {archived.rows:,}: look at it with acklog export verify"
        )
    yield from rows.sort_by("offset").combine_chunks().to_batches(max_chunksize=BATCH_ROWS)


def _rows(archived: ArchivedRange) -> pa.Table:
    system, directory = file_system_of(archived.path)
    paths = [f"{directory}/{path}" for path in archived.files]
    range_ = archived.range
    partition, offset = pc.field("partition"), pc.field("offset")
    wanted = (partition == range_.partition) & (offset >= range_.start) & (offset < range_.end)
    if not paths:
        return _SCHEMA.empty_table()
    try:
        if archived.format == "json":
            table = pa.Table.from_pylist([row for path in paths for row in _json_rows(system, path)], schema=_SCHEMA)
            return table.filter(wanted)
        from pyarrow import dataset

        files = dataset.dataset(paths, filesystem=system, format=archived.format)
        table = files.to_table(columns=list(STORED_NAMES), filter=wanted)
        return pa.table([_as(table.column(name), _SCHEMA.field(name)) for name in STORED_NAMES], schema=_SCHEMA)
    except (OSError, pa.ArrowException) as error:
        told = str(error).splitlines()[0]
        raise ExportError(f"{range_}: the archive {archived.path} cannot be read: {told}") from None


def _as(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    if column.type == field.type:
        return column
    if pa.types.is_timestamp(column.type) and column.type.tz is None:
        return column.cast(pa.timestamp(column.type.unit)).cast(pa.timestamp("us"), safe=False).cast(field.type)
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(field.type, safe=False)  # nothing is behind the milliseconds
    return column.cast(field.type)


def _json_rows(system: Any, path: str) -> Iterator[dict[str, object]]:
    from datetime import datetime

    with system.open_input_stream(path) as file:
        for line in file.read().splitlines():
            row = msgspec.json.decode(line)
            yield {
                **{name: row.get(name) for name in STORED_NAMES},
                "value": b64decode(row["value"]),
                "headers": None if row.get("headers") is None else list(row["headers"].items()),
                "timestamp": datetime.fromisoformat(row["timestamp"]),
                "appendTime": datetime.fromisoformat(row["appendTime"]),
            }


def archived_parts(path: str, ranges: Sequence[OffsetRange]) -> list[ArchivedRange | OffsetRange]:
    """Every range as its parts, in order: what the archive has, and what the servers have to be asked for."""
    archives = {topic: Archive(path, topic) for topic in dict.fromkeys(each.topic for each in ranges)}
    return [part for each in ranges for part in archives[each.topic].parts(each)]
