"""Delta tables: their own log takes in the files of a run, once per number."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pyspark_acklog.export.directory import folder_of
from pyspark_acklog.export.failures import ExportError
from pyspark_acklog.export.layout import TableLayout
from pyspark_acklog.export.records import BODY, STORED_DDL, laid_out
from pyspark_acklog.export.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
HINT = (
    "Delta tables need the package delta-spark and its jars, both of a release that was built for this version of Spark"
    " (pip install --no-deps delta-spark==<version>, --conf spark.jars.packages=io.delta:delta-spark_2.13:<version>)"
)


def require_delta() -> None:
    """Raises ExportError where the package is not there."""
    if find_spec("delta") is None:
        raise ExportError(f"--format delta: the package is not installed. {HINT}")


def publish(
    spark: "SparkSession", storage: Storage, layout: TableLayout, topic: str, number: int, sources: Sequence[str]
) -> None:
    """Append the files' rows to the topic's table, unless that has been done for this number.

    Delta remembers the last number of an application with its own commit, so a run that is killed in between is told
    from one that is not.
    """
    require_delta()
    ddl = f"{STORED_DDL}, {BODY} string" if layout.has_body_text else STORED_DDL
    rows = spark.read.format("parquet").schema(ddl).load([storage.url(path) for path in sources])
    (
        laid_out(rows, layout)
        .write.format("delta")
        .mode("append")
        .option("txnAppId", f"acklog-export-{topic}")
        .option("txnVersion", number)
        .partitionBy(*layout.partition_by)
        .save(storage.url(f"topic={folder_of(topic)}"))
    )
