"""Spark writes the files of a run, and reads them again."""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark_acklog.export import sample
from pyspark_acklog.export.compaction import Join
from pyspark_acklog.export.delta import publish as publish_to_delta
from pyspark_acklog.export.failures import ExportError
from pyspark_acklog.export.inspection import Inspection, inspected
from pyspark_acklog.export.layout import TableLayout
from pyspark_acklog.export.plan import Plan
from pyspark_acklog.export.ports import Figures, Found, FoundFile
from pyspark_acklog.export.records import checksum_of_row, laid_out, schema_of
from pyspark_acklog.export.slice_source import source_of
from pyspark_acklog.export.spans import Span
from pyspark_acklog.export.storage import Storage
from pyspark_acklog.failures import SparkSourceError, one_line
from pyspark_acklog.options import FetchOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOOK_EVERY_S = 0.5
_PART = re.compile(r"part-([0-9]+)-[^/]*$")
_MASK = (1 << 64) - 1

OnPieces = Callable[[int, int], None]
"""Called now and then with how many pieces are done, and how many there are."""


class SparkWorkshop:
    """All of a run's work with rows. Failures are one line each."""

    def __init__(
        self,
        open_spark: "Callable[[], SparkSession]",
        storage: Storage,
        options: FetchOptions,
        *,
        on_pieces: OnPieces | None = None,
    ) -> None:
        self._open_spark = open_spark
        self._storage = storage
        self._options = options
        self._on_pieces = on_pieces

    @cached_property
    def _spark(self) -> "SparkSession":
        """Begun when it is needed: a run that finds nothing new does without. Why it cannot be begun is the opener's to
        say."""
        return self._open_spark()

    def row_bytes(self, topic: str, span: Span, layout: TableLayout) -> float:
        return sample.row_bytes(topic, span, layout, self._options)

    def write(self, plan: Plan, directory: str) -> Figures:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F  # noqa: N812

        layout = plan.layout
        # What the log leaves out is judged when the files are read again.
        options = replace(self._options, fail_on_data_loss=False, filter_text="")
        source = source_of(plan.topic, plan.pieces, options, has_body=layout.has_body_text)
        spark = self._spark
        with _one_line_each(), self._watched(plan):
            spark.dataSource.register(source)
            rows = laid_out(spark.read.format(source.name()).load(), layout)
            observation = Observation()
            watched = rows.observe(
                observation,
                F.count(F.lit(1)).alias("rows"),
                F.sum(F.length("value").cast("bigint")).alias("valueBytes"),
                F.bit_xor(checksum_of_row()).alias("checksum"),
            )
            if layout.partition_by:
                watched = watched.sortWithinPartitions(*layout.partition_by, "partition", "offset")
            self._save(watched, layout, directory, layout.partition_by)
            seen = observation.get
        return Figures(int(seen["rows"] or 0), int(seen["valueBytes"] or 0), int(seen["checksum"] or 0) & _MASK)

    def found(self, plan: Plan, directory: str) -> Found:
        topic_id = plan.pieces[0].spans[0].topic_id
        inspection = self._inspected(plan.layout, directory, topic_id)
        files = []
        for file in inspection.files:
            relative = file.path.removeprefix(directory + "/")
            match = _PART.search(relative)
            if match is None:
                raise ExportError(f"Spark wrote {relative}, which is no part of what it was told to write")
            parent = relative.rpartition("/")[0]
            files.append(FoundFile(file.path, parent, int(match[1]), file.size_bytes, file.figures))
        return Found(tuple(files), inspection.seen, inspection.twice)

    def join(self, layout: TableLayout, join: Join, directory: str) -> FoundFile:
        spark = self._spark
        with _one_line_each():
            urls = [self._storage.url(file.path) for file in join.files]
            rows = spark.read.format(layout.format).schema(schema_of(layout)).load(urls)
            # In the order of their offsets, so that readers of a range skip what they do not need.
            self._save(rows.coalesce(1).sortWithinPartitions("partition", "offset"), layout, directory, ())
        inspection = self._inspected(layout, directory, join.files[0].spans[0].topic_id)
        if len(inspection.files) != 1:
            raise ExportError(f"{join.target} has become {len(inspection.files)} files")
        file = inspection.files[0]
        return FoundFile(file.path, "", 0, file.size_bytes, file.figures)

    def publish(self, layout: TableLayout, topic: str, number: int, sources: Iterable[str]) -> None:
        spark = self._spark
        with _one_line_each():
            publish_to_delta(spark, self._storage, layout, topic, number, list(sources))

    def _inspected(self, layout: TableLayout, directory: str, topic_id: str) -> Inspection:
        spark = self._spark
        with _one_line_each():
            return inspected(spark, layout, self._storage.url(directory), directory, topic_id=topic_id)

    def _save(self, rows: "DataFrame", layout: TableLayout, directory: str, partition_by: Sequence[str]) -> None:
        writer = rows.write.format("parquet" if layout.format == "delta" else layout.format).mode("errorifexists")
        writer = writer.option("maxRecordsPerFile", 0)
        if layout.compression:
            writer = writer.option("compression", layout.compression)
        if partition_by:
            writer = writer.partitionBy(*partition_by)
        writer.save(self._storage.url(directory))

    @contextmanager
    def _watched(self, plan: Plan) -> Iterator[None]:
        """Tell of finished tasks while the block runs."""
        if self._on_pieces is None:
            yield
            return
        on_pieces, context = self._on_pieces, self._spark.sparkContext
        group = f"acklog export {plan.topic} {plan.number}"
        context.setJobGroup(group, group)
        tracker = context.statusTracker()
        is_over = threading.Event()

        def look() -> None:
            while not is_over.wait(LOOK_EVERY_S):
                stages = [
                    tracker.getStageInfo(stage)
                    for number in tracker.getJobIdsForGroup(group)
                    if (job := tracker.getJobInfo(number)) is not None
                    for stage in job.stageIds
                ]
                done = sum(stage.numCompletedTasks for stage in stages if stage is not None)
                on_pieces(min(done, len(plan.pieces)), len(plan.pieces))

        thread = threading.Thread(target=look, name="acklog-export-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()


@contextmanager
def _one_line_each() -> Iterator[None]:
    """Around what Spark does."""
    try:
        yield
    except SparkSourceError:
        raise
    except Exception as error:
        raise ExportError(one_line(error)) from error
