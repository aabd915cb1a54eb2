"""A batch write."""

from collections.abc import Iterator

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from acklog.errors import AcklogError
from acklog.runtime import unique_name
from pyspark_acklog.failures import of_server
from pyspark_acklog.ledger import open_ledger
from pyspark_acklog.options import WriteIdentity, WriteOptions
from pyspark_acklog.outgoing import OutgoingRows
from pyspark_acklog.task_writer import TaskWriter
from pyspark_acklog.write_identity import TaskIdentity


class AcklogWriter(DataSourceArrowWriter):
    """Made on the driver; `write` runs on the workers.

    With the option `writeId` the same write, done again later, adds nothing twice. Without, each write has an identity
    of its own, and only its tasks can be repeated.
    """

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        OutgoingRows(schema, options.topic)  # wrong columns are told before anything runs
        self._options = options
        self._schema = schema
        self._write_id = options.write_id or f"batch-{unique_name()}"
        ledger_end = prepare(options)
        self._since = 0 if options.write_id else ledger_end

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Runs on a worker. Raises SparkSourceError."""
        identity = TaskIdentity(self._write_id, 0, _task().partitionId())
        return TaskWriter(self._options, self._schema, identity, since=self._since).write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing to do: what a task has written is in the topic."""

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """What was written stays: a log takes nothing back."""


def prepare(options: WriteOptions) -> int:
    """See to it, on the driver, that the server is there and has a ledger; says where that ends. Raises
    SparkSourceError."""
    if options.identity is WriteIdentity.WINDOW:
        return 0
    try:
        with options.connection.client() as client:
            return open_ledger(client)
    except AcklogError as error:
        raise of_server(error, options.connection.urls, "preparing the write") from None


def _task() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "Spark runs this in a task"
    return context
