"""Files read again: which rows they have, file by file, and which offsets all together, with one pass over the data."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from pyspark_acklog.export.layout import TableLayout
from pyspark_acklog.export.ports import Figures
from pyspark_acklog.export.records import STORED_DDL, checksum_of_row
from pyspark_acklog.export.spans import Span, joined

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

BUCKET_OFFSETS = 32_768
"""Offsets of one of Spark's bitmaps, which has 4 KiB: a bit per row, wherever in the files the rows are."""
_MASK = (1 << 64) - 1
_TOPIC_ID_IN_NAME = r"/([0-9a-z]{13})-p[^/]*$"


class InspectedFile(NamedTuple):
    """`path` is below the table's root."""

    path: str
    size_bytes: int
    figures: Figures


class Inspection(NamedTuple):
    """Files by path; the offsets that were seen; and runs of offsets in which some were seen more than once."""

    files: tuple[InspectedFile, ...]
    seen: tuple[Span, ...]
    twice: tuple[Span, ...]


def inspected(
    spark: "SparkSession", layout: TableLayout, url: str, directory: str, *, topic_id: str = ""
) -> Inspection:
    """Of all files in and below the directory, whose address is `url`. Without a `topic_id` it is that in their names.

    Raises what Spark raises for files that cannot be read.
    """
    from pyspark.sql import functions as F  # noqa: N812

    rows = (
        spark.read.format("parquet" if layout.format == "delta" else layout.format)
        .schema(STORED_DDL)
        .option("recursiveFileLookup", "true")
        .load(url)
    )
    path = F.col("_metadata.file_path")
    log = F.lit(topic_id) if topic_id else F.regexp_extract(path, _TOPIC_ID_IN_NAME, 1)
    buckets = (
        rows.select(
            path.alias("path"),
            F.col("_metadata.file_size").alias("sizeBytes"),
            log.alias("topicId"),
            "partition",
            F.expr(f"offset div {BUCKET_OFFSETS}").alias("bucket"),
            (F.col("offset") % BUCKET_OFFSETS).alias("bit"),
            F.length("value").cast("bigint").alias("valueBytes"),
            checksum_of_row().alias("checksum"),
        )
        .groupBy("path", "sizeBytes", "topicId", "partition", "bucket")
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.sum("valueBytes").alias("valueBytes"),
            F.bit_xor("checksum").alias("checksum"),
            F.bitmap_construct_agg("bit").alias("bits"),
        )
        .persist()
    )
    try:
        return Inspection(tuple(_files(buckets, directory)), *_offsets(buckets))
    finally:
        buckets.unpersist()


def _files(buckets: "DataFrame", directory: str) -> Iterator[InspectedFile]:
    from pyspark.sql import functions as F  # noqa: N812

    by_file = buckets.groupBy("path", "sizeBytes").agg(
        F.sum("rows").alias("rows"), F.sum("valueBytes").alias("valueBytes"), F.bit_xor("checksum").alias("checksum")
    )
    for row in sorted(by_file.collect(), key=lambda row: str(row.path)):
        decoded = unquote(row.path)
        path = decoded[decoded.rindex(f"/{directory}/") + 1 :]
        figures = Figures(int(row.rows), int(row.valueBytes or 0), int(row.checksum) & _MASK)
        yield InspectedFile(path, int(row.sizeBytes), figures)


def _offsets(buckets: "DataFrame") -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    from pyspark.sql import functions as F  # noqa: N812

    merged = buckets.groupBy("topicId", "partition", "bucket").agg(
        F.bitmap_or_agg("bits").alias("bits"), F.sum("rows").alias("rows")
    )
    distinct = F.bitmap_count("bits")
    is_whole = distinct == BUCKET_OFFSETS
    collected = merged.select(
        "topicId", "partition", "bucket", "rows", distinct.alias("distinct"), _unless(is_whole, "bits").alias("bits")
    ).collect()
    seen: list[Span] = []
    twice: list[Span] = []
    for row in collected:
        start = int(row.bucket) * BUCKET_OFFSETS
        seen += _spans(row.topicId, int(row.partition), start, row.bits)
        if row.rows != row.distinct:
            twice.append(Span(row.topicId, int(row.partition), start, start + BUCKET_OFFSETS))
    return tuple(joined(seen)), tuple(joined(twice))


def _unless(condition: "Column", name: str) -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.when(~condition, F.col(name))


def _spans(topic_id: str, partition: int, start: int, bits: Any) -> Iterable[Span]:
    """The runs of a bucket; None is a bucket with all of its offsets."""
    if bits is None:
        return [Span(topic_id, partition, start, start + BUCKET_OFFSETS)]
    flags = np.unpackbits(np.frombuffer(bytes(bits), np.uint8), bitorder="little")
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags, [0]))))
    return [
        Span(topic_id, partition, start + int(first), start + int(end))
        for first, end in zip(edges[::2], edges[1::2], strict=True)
    ]
