"""A streaming write: each task of each epoch under an identity that outlives driver and workers."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from pyspark_acklog.failures import WriteError
from pyspark_acklog.options import WriteOptions
from pyspark_acklog.outgoing import OutgoingRows
from pyspark_acklog.task_writer import TaskWriter
from pyspark_acklog.write_identity import TaskIdentity
from pyspark_acklog.writer import prepare

_QUERY_ID = "sql.streaming.queryId"
_EPOCH = "streaming.sql.batchId"


class AcklogStreamWriter(DataSourceStreamArrowWriter):
    """Made on the driver for each micro-batch; `write` runs on the workers. The query's id is its checkpoint's."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        OutgoingRows(schema, options.topic)
        self._options = options
        self._schema = schema
        prepare(options)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Runs on a worker. Raises SparkSourceError."""
        return TaskWriter(self._options, self._schema, identity_of_task(), since=0).write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing to do: what a task has written is in the topic."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing to do: the epoch is tried again, and adds what is missing."""


def identity_of_task() -> TaskIdentity:
    """Of the task that this process runs. Raises WriteError where Spark does not tell the query and the epoch."""
    context = TaskContext.get()
    query, epoch = (None, None) if context is None else (context.getLocalProperty(_QUERY_ID), _epoch(context))
    if context is None or not query or epoch is None:
        raise WriteError("Spark does not tell which query and epoch a task belongs to: use a trigger of micro-batches")
    return TaskIdentity(query, epoch, context.partitionId())


def _epoch(context: TaskContext) -> int | None:
    text = context.getLocalProperty(_EPOCH)
    return int(text) if text is not None and text.isdigit() else None
