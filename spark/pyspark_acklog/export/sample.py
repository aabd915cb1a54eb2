"""How large rows become in files, before there are any: by a few of them."""

from dataclasses import replace

import pyarrow as pa

from pyspark_acklog import fetch
from pyspark_acklog.export.layout import TableLayout
from pyspark_acklog.export.records import stored_batch
from pyspark_acklog.export.spans import Span
from pyspark_acklog.options import FetchOptions
from pyspark_acklog.ranges import OffsetRange

SAMPLE_BYTES = 4 * 1024 * 1024
_JSON_FIELDS_BYTES = 180  # names, quotes and times of a row
_DEFAULT_COMPRESSION = {"parquet": "snappy", "orc": "zstd"}
_WITHOUT = {"", "none", "uncompressed"}


def row_bytes(topic: str, span: Span, layout: TableLayout, options: FetchOptions) -> float:
    """By about SAMPLE_BYTES from the middle of the span; 1 where that holds no message. Raises SparkSourceError."""
    lenient = replace(options, fail_on_data_loss=False, filter_text="")
    middle = OffsetRange(topic, span.topic_id, span.partition, (span.start + span.end) // 2, span.end)
    batches: list[pa.RecordBatch] = []
    taken_bytes = 0
    for page in fetch.pages(middle, lenient):
        batches += [stored_batch(records, has_body=layout.has_body_text) for records in page.batches]
        taken_bytes += page.size_bytes
        if taken_bytes >= SAMPLE_BYTES:
            break
    rows = sum(int(batch.num_rows) for batch in batches)
    if not rows:
        return 1.0
    table = pa.Table.from_batches(batches)
    return max(1.0, _size_bytes(table, layout) / rows)


def _size_bytes(table: pa.Table, layout: TableLayout) -> int:
    if layout.format == "json":
        value_bytes = int(table.column("value").nbytes)
        other_bytes = sum(int(table.column(name).nbytes) for name in ("key", "headers", "tags", "contentType", "body"))
        return value_bytes * 4 // 3 + other_bytes + int(table.num_rows) * _JSON_FIELDS_BYTES
    sink = pa.BufferOutputStream()
    compression = layout.compression.lower() or _DEFAULT_COMPRESSION["orc" if layout.format == "orc" else "parquet"]
    if layout.format == "orc":
        from pyarrow import orc

        # ORC of pyarrow knows no maps with fields of other names, and headers are rarely what decides.
        orc.write_table(table.drop_columns(["headers"]), sink, compression=_codec(compression))
    else:
        from pyarrow import parquet

        parquet.write_table(table, sink, compression=_codec(compression))
    return int(sink.getvalue().size)


def _codec(compression: str) -> str:
    """A codec that pyarrow has, for one that Spark has."""
    if compression in _WITHOUT:
        return "uncompressed"
    return compression if compression in {"snappy", "zstd", "lz4", "gzip", "brotli"} else "zstd"
