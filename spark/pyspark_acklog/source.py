"""The data source as Spark knows it: `format("acklog")`."""

from collections.abc import MutableMapping

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from pyspark_acklog.failures import OptionError
from pyspark_acklog.options import parse_read, parse_write
from pyspark_acklog.positions import Bound
from pyspark_acklog.reader import AcklogReader, reader_class
from pyspark_acklog.rows import table_ddl
from pyspark_acklog.stream_reader import AcklogStreamReader
from pyspark_acklog.stream_writer import AcklogStreamWriter
from pyspark_acklog.writer import AcklogWriter


class AcklogSource(DataSource):
    """Reads and writes topics. All options: `option_table`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options)

    @classmethod
    def name(cls) -> str:
        return "acklog"

    def schema(self) -> str:
        """Raises OptionError, as every method does that needs the options."""
        return table_ddl(parse_read(self._given))

    def reader(self, schema: StructType) -> AcklogReader:
        options = parse_read(self._given)
        if options.max_messages_per_trigger is not None:
            raise OptionError("maxMessagesPerTrigger", "is for readStream")
        return reader_class()(options, schema)

    def streamReader(self, schema: StructType) -> AcklogStreamReader:  # noqa: N802
        options = parse_read(self._given)
        if options.ending is not Bound.LATEST:
            raise OptionError("", "a stream has no end: the options ending... are for batch reads")
        return AcklogStreamReader(options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> AcklogWriter:
        if overwrite:
            raise OptionError("", "a topic cannot be overwritten: use mode('append')")
        return AcklogWriter(parse_write(self._given), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> AcklogStreamWriter:  # noqa: N802
        if overwrite:
            raise OptionError("", "a topic takes no complete results: use outputMode('append') or 'update'")
        return AcklogStreamWriter(parse_write(self._given), schema)
