"""Messages as Arrow's record batches: of a size of the caller's choice, however small the log's own batches are.

pyarrow is optional for clients: it is loaded on first use.
"""

from array import array
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from acklog.wire.log_page import Run
from acklog.wire.record import Record

if TYPE_CHECKING:
    import pyarrow as pa


def record_batches(
    partition: int, runs: Iterable[Run], *, rows_max: int, bytes_max: int, topic_ttl_ms: int | None = None
) -> "Iterator[pa.RecordBatch]":
    """partition, offset, key, value, headers, tags, timestamp, appendTime, contentType, expiresAt, as `schema` says; at
    most `rows_max` messages in each, and about `bytes_max` bytes of bodies. `topic_ttl_ms` is the time to live of
    messages that name none; None: no end."""
    load_library()
    for chunk in _chunks(runs, rows_max, bytes_max):
        yield _record_batch(partition, chunk, topic_ttl_ms)


def load_library() -> None:
    """What happens on first use otherwise."""
    import pyarrow.compute  # what `_timestamps` needs

    pyarrow.array([None])  # looks for pandas, and loads it where it is installed


def _chunks(runs: Iterable[Run], rows_max: int, bytes_max: int) -> Iterator[list[Run]]:
    """The runs, cut and joined."""
    chunk: list[Run] = []
    room, bytes_left = rows_max, bytes_max
    for header, first, records in runs:
        # What a message of this batch costs on average is enough to know: no body is looked at for it.
        record_bytes = max(1, header.length // header.count)
        at = 0
        while at < len(records):
            count = min(len(records) - at, room, max(1, bytes_left // record_bytes))
            chunk.append((header, first + at, records[at : at + count] if count < len(records) else records))
            at += count
            room -= count
            bytes_left -= count * record_bytes
            if room <= 0 or bytes_left <= 0:
                yield chunk
                chunk, room, bytes_left = [], rows_max, bytes_max
    if chunk:
        yield chunk


@cache
def schema() -> "pa.Schema":
    """The columns, in their order. `timestamp` is the append time of messages without one."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("partition", pa.int32(), nullable=False),
            pa.field("offset", pa.int64(), nullable=False),
            pa.field("key", pa.string()),
            pa.field("value", pa.binary(), nullable=False),
            pa.field("headers", pa.map_(pa.string(), pa.string())),
            pa.field("tags", pa.list_(pa.string())),
            pa.field("timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
            pa.field("appendTime", pa.timestamp("ms", tz="UTC"), nullable=False),
            pa.field("contentType", pa.string()),
            pa.field("expiresAt", pa.timestamp("ms", tz="UTC")),
        ]
    )


def _record_batch(partition: int, runs: list[Run], topic_ttl_ms: int | None) -> "pa.RecordBatch":
    import pyarrow as pa

    columns = schema()
    records = runs[0][2] if len(runs) == 1 else [record for _, _, part in runs for record in part]
    offsets, appended = array("q"), array("q")
    for header, first, part in runs:
        offsets.extend(range(first, first + len(part)))
        appended.extend(array("q", (header.append_time_ms,)) * len(part))
    append_times = _integers(appended, columns.field("appendTime").type)
    arrays = {
        "partition": pa.repeat(pa.scalar(partition, pa.int32()), len(records)),
        "offset": _integers(offsets, pa.int64()),
        "value": pa.array([record.body for record in records], pa.binary()),
        "timestamp": _timestamps(records, append_times),
        "appendTime": append_times,
        "expiresAt": _expiries(records, append_times, topic_ttl_ms),
    }
    # Most messages have no headers, no tags and no content type: a column of nulls costs nothing.
    headers = [record.headers for record in records]
    pairs = (
        headers
        if headers.count(None) == len(headers)
        else [None if each is None else list(each.items()) for each in headers]
    )
    for name, column in (
        ("key", [record.key for record in records]),
        ("headers", pairs),
        ("tags", [record.tags for record in records]),
        ("contentType", [record.content_type for record in records]),
    ):
        kind = columns.field(name).type
        arrays[name] = pa.nulls(len(column), kind) if column.count(None) == len(column) else pa.array(column, kind)
    return pa.record_batch([arrays[field.name] for field in columns], schema=columns)


def _integers(numbers: "array[int]", kind: "pa.DataType") -> "pa.Array":
    """Without a copy, and without a Python object for each."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def _timestamps(records: list[Record], append_times: "pa.Array") -> "pa.Array":
    """The producers' times, or the append times of messages without one."""
    import pyarrow as pa

    given = [record.timestamp_ms for record in records]
    missing = given.count(None)
    if missing == len(given):
        return append_times
    timestamps = pa.array(given, append_times.type)
    return pa.compute.coalesce(timestamps, append_times) if missing else timestamps


def _expiries(records: list[Record], append_times: "pa.Array", topic_ttl_ms: int | None) -> "pa.Array":
    """When each is delivered no more; null: that does not end."""
    import pyarrow as pa

    own = [record.ttl_ms for record in records]
    if own.count(None) == len(own) and topic_ttl_ms is None:
        return pa.nulls(len(own), append_times.type)
    lives = pa.array([topic_ttl_ms if each is None else each for each in own], pa.int64())
    return pa.compute.add(append_times.cast(pa.int64()), lives).cast(append_times.type)
