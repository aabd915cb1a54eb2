"""The columns that a query gets: those of the table, those of the bodies, as its schema has them."""

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructType

from pyspark_acklog import columns
from pyspark_acklog.bodies import BAD_BODY, BodyParser
from pyspark_acklog.failures import OptionError
from pyspark_acklog.options import BadBodies, ReadOptions


def table_ddl(options: ReadOptions) -> str:
    """The table's schema as Spark parses it."""
    ddl = columns.DDL
    if options.body_schema:
        ddl += f", {options.body_schema}"
        if options.bad_bodies is BadBodies.COLUMN:
            ddl += f", {BAD_BODY} string"
    return ddl


class Rows:
    """Makes a query's rows. `schema` is `table_ddl`, or some of its columns (given by `.schema(...)`): only those are
    made. Raises OptionError for columns that are not there."""

    def __init__(self, schema: StructType, options: ReadOptions) -> None:
        self._arrow = to_arrow_schema(schema, timezone="UTC")
        names = schema.fieldNames()
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise OptionError("schema", f"column {repeated[0]!r} is one of the table's own: name it otherwise")
        of_bodies = [field for field in schema.fields if field.name not in columns.NAMES]
        if options.bad_bodies is BadBodies.COLUMN and options.body_schema:
            of_bodies = [field for field in of_bodies if field.name != BAD_BODY or field.dataType != StringType()]
        if of_bodies and not options.body_schema:
            known = ", ".join(columns.NAMES)
            raise OptionError("", f"there is no column {of_bodies[0].name!r}; there are {known}")
        for name in names:
            wanted = self._arrow.field(name).type
            if name in columns.NAMES and not wanted.equals(columns.ARROW.field(name).type):
                kind = schema[name].dataType.simpleString()
                raise OptionError("", f"column {name!r} is no {kind}; the columns are: {columns.DDL}")
        self._parser = BodyParser(StructType(of_bodies), options.bad_bodies) if of_bodies else None

    def batch(self, records: pa.RecordBatch, topic: str) -> pa.RecordBatch:
        """Raises BadBodyError."""
        made: dict[str, pa.Array] = {}
        if self._parser is not None:
            parsed = self._parser.parse(records, topic)
            made = {**parsed.columns, BAD_BODY: parsed.bad}
        arrays = [
            columns.column(name, records, topic) if name in columns.NAMES else made[name] for name in self._arrow.names
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._arrow)
