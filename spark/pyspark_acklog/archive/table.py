"""An export as a table with the data source's own columns, read by Spark itself."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pyspark_acklog import columns
from pyspark_acklog.export.directory import ExportDirectory, folder_of
from pyspark_acklog.export.failures import ExportError
from pyspark_acklog.export.manifest import ExportedFile
from pyspark_acklog.export.records import BODY, STORED_DDL, body_text
from pyspark_acklog.export.spans import Span, common, joined
from pyspark_acklog.export.storage import Storage
from pyspark_acklog.export.storages import storage_at
from pyspark_acklog.export.table import Table

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def load(spark: "SparkSession", path: str, topic: str, *, topic_id: str = "") -> "DataFrame":
    """All that was exported of the topic, in the columns of `format("acklog")`. Of a topic that was made anew it is
    the newest, unless a `topic_id` is given. Raises SparkSourceError."""
    storage = storage_at(path, spark)
    table = table_of(storage, topic)
    chosen = topic_id or newest_topic_id(table)
    spans = [span for span in table.positions.values() if span.topic_id == chosen]
    if not spans:
        raise ExportError(f"{path} has nothing of {topic} with the id {chosen}")
    return rows_of(spark, storage, table, spans).select(*columns.NAMES)


def table_of(storage: Storage, topic: str) -> Table:
    """Raises ExportError where nothing was exported, ManifestError where the manifests are not whole."""
    table = ExportDirectory(storage, topic).table()
    if table.last is None:
        raise ExportError(f"{storage.root} has no export of {topic}")
    if table.faults:
        raise ExportError(f"{table.faults[0]}: look at it with acklog export verify {storage.root}")
    return table


def newest_topic_id(table: Table) -> str:
    """That of the last run which added something."""
    last = table.last
    if last is None:
        raise ExportError(f"there is no export of {table.topic}")
    return (last.spans or last.positions)[-1].topic_id


def files_with(table: Table, spans: Iterable[Span]) -> list[ExportedFile]:
    """The files that may have rows of these spans, by path."""
    wanted = joined(spans)
    return [file for _, file in sorted(table.files.items()) if common(file.spans, wanted)]


def rows_of(spark: "SparkSession", storage: Storage, table: Table, spans: Sequence[Span]) -> "DataFrame":
    """The rows of spans of one topic id, with `topic`, `body` and `contentType`."""
    from pyspark.sql import functions as F  # noqa: N812

    if table.last is None:
        raise ExportError(f"there is no export of {table.topic}")
    layout = table.last.layout
    if layout.format == "delta":
        stored = spark.read.format("delta").load(storage.url(f"topic={folder_of(table.topic)}"))
    else:
        urls = [storage.url(file.path) for file in files_with(table, spans)]
        if not urls:
            stored = spark.createDataFrame([], STORED_DDL)
        else:
            stored = spark.read.format(layout.format).schema(STORED_DDL).load(urls)
    wanted: Column = F.lit(False)
    for span in joined(spans):
        wanted = wanted | (
            F.col("partition").eqNullSafe(span.partition) & F.col("offset").between(span.start, span.end - 1)
        )
    return stored.where(wanted).withColumn("topic", F.lit(table.topic)).withColumn(BODY, body_text())
