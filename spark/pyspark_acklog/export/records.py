"""A table's rows: which columns they have, and Spark's expressions for them."""

from typing import TYPE_CHECKING

import pyarrow as pa

from pyspark_acklog import columns
from pyspark_acklog.export.failures import LayoutError
from pyspark_acklog.export.layout import DERIVED_COLUMNS, TableLayout
from pyspark_acklog.failures import one_line

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

STORED_NAMES = ("partition", "offset", "key", "value", "headers", "tags", "timestamp", "appendTime", "contentType")
"""In every file. With `contentType` (null for JSON) a row holds all of its message; the topic stands in the path."""
STORED_DDL = (
    "partition int, offset bigint, key string, value binary, headers map<string,string>, tags array<string>, "
    "timestamp timestamp, appendTime timestamp, contentType string"
)
BODY = "body"
ARROW = pa.schema(
    [
        *(columns.ARROW.field(name) for name in STORED_NAMES if name != "contentType"),
        pa.field("contentType", pa.string()),
        columns.ARROW.field(BODY),
    ]
)
SOURCE_DDL = f"{STORED_DDL}, {BODY} string"
_DAY_MS = 86_400_000


def stored_batch(records: pa.RecordBatch, *, has_body: bool) -> pa.RecordBatch:
    """What the records endpoint sends, as a table's rows. Without `has_body` the column is null."""
    names = [name for name in STORED_NAMES if name != "contentType"]
    arrays = columns.table_batch(records, "", names).columns
    body = columns.table_batch(records, "", [BODY]).column(0) if has_body else pa.nulls(records.num_rows, pa.string())
    content_types = records.column("contentType").cast(pa.string())
    return pa.RecordBatch.from_arrays([*arrays, content_types, body], schema=ARROW)


def laid_out(rows: "DataFrame", layout: TableLayout) -> "DataFrame":
    """The rows with the columns of their bodies and those that the table is partitioned by. Raises LayoutError."""
    from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

    found = rows if layout.has_body_text else rows.drop(BODY)
    if layout.body_schema:
        json_text = F.when(F.col("contentType").isNull(), body_text())
        parsed = found.withColumn("_parsed", F.from_json(json_text, _parsed_ddl(layout.body_schema)))
        names = parsed.select("_parsed.*").columns
        taken = [name for name in names if name.lower() in {each.lower() for each in found.columns}]
        if taken:
            raise LayoutError(f"--schema has a column {taken[0]!r}, which every row has already: name it otherwise")
        found = parsed.select(*found.columns, "_parsed.*")
    for name in layout.partition_by:
        if name in DERIVED_COLUMNS:
            found = found.withColumn(name, _day_of(F.col(DERIVED_COLUMNS[name])))
        elif name not in found.columns or name in rows.columns:
            of_body = [each for each in found.columns if each not in rows.columns]
            possible = ", ".join([*DERIVED_COLUMNS, *of_body])
            raise LayoutError(
                f"--partition-by {name}: a table can be partitioned by columns of --schema, and by {possible}"
            )
    return found


def _parsed_ddl(ddl: str) -> "StructType":
    """Raises LayoutError."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        parsed = StructType.fromDDL(ddl)
    except PySparkException as error:
        raise LayoutError(f"--schema {ddl!r} is no list of columns with their types: {one_line(error)}") from None
    assert isinstance(parsed, StructType)
    return parsed


def schema_of(layout: TableLayout) -> "StructType":
    """The columns that stand in the table's files: those that it is partitioned by stand in their paths."""
    from pyspark.sql.types import StructType

    ddl = [STORED_DDL, *([f"{BODY} string"] if layout.has_body_text else []), *filter(None, [layout.body_schema])]
    table = StructType.fromDDL(", ".join(ddl))
    assert isinstance(table, StructType)
    return StructType([field for field in table if field.name not in layout.partition_by])


def checksum_of_row() -> "Column":
    """64 bits over everything that a message is, the same whatever format the row was read from."""
    from pyspark.sql import functions as F  # noqa: N812

    # Spark hashes no maps; their entries keep their order in every format. A map's absence is told from an empty one,
    # and so is that of anything else, because what is null adds nothing while what is empty adds its length.
    parts = [F.col(name) for name in STORED_NAMES if name not in {"headers", "timestamp", "appendTime"}]
    times = [F.unix_micros(F.col(name)) for name in ("timestamp", "appendTime")]
    is_null = [F.col(name).isNull() for name in ("key", "headers", "tags", "contentType")]
    return F.xxhash64(*parts, F.map_entries(F.col("headers")), *times, *is_null)


def body_text() -> "Column":
    """The body as the data source has it: a JSON string without its quotes and escapes, null for what is no UTF-8."""
    from pyspark.sql import functions as F  # noqa: N812

    text = F.try_validate_utf8(F.col("value").cast("string"))
    is_json_string = F.col("contentType").isNull() & F.ltrim(text).startswith('"')
    unquoted = F.get_json_object(F.concat(F.lit('{"body":'), text, F.lit("}")), "$.body")
    return F.when(is_json_string, unquoted).otherwise(text)


def _day_of(column: "Column") -> "Column":
    """The UTC date, whatever time zone the session has."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.date_from_unix_date(F.floor(F.unix_millis(column) / _DAY_MS).cast("int"))
