"""A streaming read: micro-batches of pinned ranges. Spark's checkpoint is all that is remembered."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import monotonic, sleep
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from acklog import Client
from pyspark_acklog import plan, ranges, stream_offsets
from pyspark_acklog.failures import DataLossError, OptionError
from pyspark_acklog.filters import Pushed
from pyspark_acklog.options import ReadOptions
from pyspark_acklog.positions import Bound, Position
from pyspark_acklog.ranges import OffsetRange
from pyspark_acklog.reader import RangePartition, read_range
from pyspark_acklog.rows import Rows
from pyspark_acklog.stream_offsets import StreamOffsets, TopicOffsets

BEHIND_PAUSE_S = 1.0
ASSUMED_MESSAGE_BYTES = 1_000.0
"""Where a checkpoint of an earlier version does not say how its micro-batches are cut."""

_Bounds = tuple[dict[str, TopicOffsets], dict[str, TopicOffsets]]


class AcklogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """All but `read` runs on the driver. A micro-batch is what lies between two checkpointed offsets, however often it
    is read. Every method raises SparkSourceError."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        if options.archive:
            raise OptionError("archive", "is for batch reads: a stream reads what servers have")
        self._options = options
        self._rows = Rows(schema, options)
        self._last: _Bounds | None = None
        self._density: dict[tuple[str, int], float] = {}
        self._client: Client | None = None
        self._lost_since_s: float | None = None

    def __getstate__(self) -> dict[str, Any]:
        # What workers get: connections stay here.
        return {**self.__dict__, "_client": None}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a new query begins; by default with what comes after its start."""
        starting = Bound.LATEST if self._options.starting is None else self._options.starting
        return stream_offsets.to_document(stream_offsets.of_ranges(self._pinned(starting), at_end=False))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        limit = self._options.max_messages_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """What is there now is all that this query reads."""
        self._last = self._bounds()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next micro-batch."""
        messages_max = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        first = stream_offsets.of_document(start)
        log_starts, now = self._bounds() if self._last is None else self._last
        while self._is_behind(first, now) and self._last is not None:
            sleep(BEHIND_PAUSE_S)  # it is not asked again, as other queries are: it would end as if all were well
            log_starts, now = self._last = self._bounds()
        # What came after the query's begin is to be read whole: from 0 on, or it fails where retention was faster.
        begins = {} if self._options.fetch.fail_on_data_loss else log_starts
        ends = stream_offsets.advanced(first, begins, now, messages_max=messages_max)
        if stream_offsets.is_same_place(ends, first):
            return start  # anything else would be a new micro-batch to Spark
        return stream_offsets.to_document(stream_offsets.with_slices(ends, self._slice_lengths()))

    def _is_behind(self, first: StreamOffsets, now: StreamOffsets) -> bool:
        """Whether a log ends before the query's place: what it stores there from now on would be passed over. A leader
        that has just taken over may need a moment to know of everything.

        Raises DataLossError when it has been so for longer.
        """
        lost = stream_offsets.beyond_the_log(first, now)
        if not lost or not self._options.fetch.fail_on_data_loss:
            self._lost_since_s = None
            return False
        if self._lost_since_s is None:
            self._lost_since_s = monotonic()
        if monotonic() - self._lost_since_s > self._options.connection.timeout_s:
            raise DataLossError(
                f"{lost[0]} was read already, and the log ends before it: has the server been restored from a copy? "
                "Begin a new query with a new checkpoint, or set failOnDataLoss=false to wait until the log is there"
            )
        return True

    def _slice_lengths(self) -> dict[str, int]:
        """By topic, for its largest messages."""
        bytes_max = self._options.max_bytes_per_partition
        densities: dict[str, float] = {}
        for (topic, _), bytes_per_offset in self._density.items():
            densities[topic] = max(bytes_per_offset, densities.get(topic, 0.0))
        return {
            topic: ranges.slice_length(bytes_per_offset=density, bytes_max=bytes_max)
            for topic, density in densities.items()
        }

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """For the query's progress: where the topics end."""
        return stream_offsets.to_document(self._bounds()[1])

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The same for the same two offsets."""
        last = stream_offsets.of_document(end)
        default = ranges.slice_length(
            bytes_per_offset=ASSUMED_MESSAGE_BYTES, bytes_max=self._options.max_bytes_per_partition
        )
        return [
            RangePartition(each)
            for whole in stream_offsets.between(stream_offsets.of_document(start), last)
            for each in ranges.split_evenly(whole, last[whole.topic].slice_length or default)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Runs on a worker."""
        range_: OffsetRange = partition.value
        return read_range(range_, self._options, self._rows, Pushed())

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to do: Spark's checkpoint holds the position, and retention goes by time."""

    def stop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _bounds(self) -> _Bounds:
        """Where the logs begin now, and where they end."""
        pinned = self._pinned(Bound.EARLIEST)
        return stream_offsets.of_ranges(pinned, at_end=False), stream_offsets.of_ranges(pinned, at_end=True)

    def _pinned(self, starting: Position) -> list[OffsetRange]:
        if self._client is None:
            self._client = self._options.connection.client()
        found = plan.pin_partitions(self._client, replace(self._options, starting=starting, ending=Bound.LATEST))
        self._density.update({(each.range.topic, each.range.partition): each.bytes_per_offset for each in found})
        return [each.range for each in found]
