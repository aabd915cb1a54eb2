"""Spark's view of a plan: one partition of a table per piece."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pyspark_acklog import fetch
from pyspark_acklog.export.plan import Piece
from pyspark_acklog.export.records import SOURCE_DDL, stored_batch
from pyspark_acklog.failures import SparkSourceError
from pyspark_acklog.options import FetchOptions
from pyspark_acklog.ranges import OffsetRange


class PiecePartition(InputPartition):
    """A piece of a plan: read twice it gives the same rows, in the same order."""

    def __init__(self, number: int, piece: Piece) -> None:
        super().__init__(number)
        self.piece = piece


def source_of(topic: str, pieces: Sequence[Piece], options: FetchOptions, *, has_body: bool) -> type[DataSource]:
    """A data source of these pieces. It travels to the workers with all that they need."""

    class PieceReader(DataSourceReader):
        def partitions(self) -> Sequence[InputPartition]:
            return [PiecePartition(number, piece) for number, piece in enumerate(pieces)]

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            if not isinstance(partition, PiecePartition):
                raise SparkSourceError(f"a task got {type(partition).__name__} to read, not a piece of the plan")
            for span in partition.piece.spans:
                range_ = OffsetRange(topic, span.topic_id, span.partition, span.start, span.end)
                for page in fetch.pages(range_, options):
                    for records in page.batches:
                        if records.num_rows:
                            yield stored_batch(records, has_body=has_body)

    class PieceSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "acklog-pieces"

        def schema(self) -> str:
            return SOURCE_DDL

        def reader(self, schema: StructType) -> DataSourceReader:
            return PieceReader()

    return PieceSource
