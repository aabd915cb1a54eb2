"""The `schema` option: JSON bodies parsed into columns, one by one, so that a bad one never hurts its neighbours."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import to_arrow_schema

from pyspark_acklog.failures import BadBodyError, OptionError
from pyspark_acklog.options import BadBodies

BAD_BODY = "badBody"
"""The column for the text of bad bodies, with `badBodies=column`."""
_BITS: dict[type[spark_types.DataType], int] = {
    spark_types.ByteType: 8,
    spark_types.ShortType: 16,
    spark_types.IntegerType: 32,
    spark_types.LongType: 64,
}
_PLAIN: dict[type[spark_types.DataType], Any] = {
    spark_types.StringType: str,
    spark_types.VarcharType: str,
    spark_types.CharType: str,
    spark_types.BooleanType: bool,
    spark_types.FloatType: float,
    spark_types.DoubleType: float,
    spark_types.TimestampType: datetime,
    spark_types.TimestampNTZType: datetime,
    spark_types.DateType: date,
    spark_types.DecimalType: Decimal,
    spark_types.BinaryType: bytes,  # base64, as JSON carries bytes
}
_decode_text = msgspec.json.Decoder(str).decode


@dataclass(slots=True)
class ParsedBodies:
    """A column for each field of the schema, and the text of the bad ones (null for good ones)."""

    columns: dict[str, pa.Array]
    bad: pa.Array


class BodyParser:
    """Parses into the fields of `schema`. Raises OptionError for types that JSON cannot have."""

    def __init__(self, schema: spark_types.StructType, policy: BadBodies) -> None:
        self._schema = schema
        self._policy = policy
        self._arrow = to_arrow_schema(schema, timezone="UTC")
        self._attributes = [f"field_{number}" for number in range(len(schema.fields))]
        self._decode = msgspec.json.Decoder(_struct_of(schema)).decode
        self._plain = [_plain_of(each.dataType) for each in schema.fields]

    def __reduce__(self) -> tuple[Any, ...]:
        return BodyParser, (self._schema, self._policy)  # a decoder cannot travel to a worker: it is made there

    def parse(self, records: pa.RecordBatch, topic: str) -> ParsedBodies:
        """Of a record batch of the records endpoint. Raises BadBodyError with the policy `fail`."""
        rows: list[Any] = []
        bad: list[str | None] = []
        for number, value in enumerate(records.column("value").to_pylist()):
            try:
                rows.append(self._decode(_unwrapped(value)))
                bad.append(None)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                if self._policy is BadBodies.FAIL:
                    raise _bad_body(records, number, topic, error) from None
                rows.append(None)
                bad.append(value.decode("utf-8", "replace"))
        columns = {}
        for attribute, plain, field in zip(self._attributes, self._plain, self._arrow, strict=True):
            values = [None if row is None else getattr(row, attribute) for row in rows]
            if plain is not None:
                values = [None if value is None else plain(value) for value in values]
            columns[field.name] = _array(values, field, records, topic)
        return ParsedBodies(columns, pa.array(bad, pa.string()))


def _unwrapped(value: bytes) -> bytes | str:
    """A body that is a JSON string holds its JSON as text: senders that have text already send it like that."""
    return _decode_text(value) if value[:1] == b'"' else value


def _array(values: Sequence[Any], field: pa.Field, records: pa.RecordBatch, topic: str) -> pa.Array:
    try:
        return pa.array(values, field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        # A decimal with more digits than the column has: what msgspec cannot check.
        partition, offset = records.column("partition")[0], records.column("offset")[0]
        where = f"{topic}-{partition} from offset {offset} on"
        raise BadBodyError(f"bodies of {where} do not fit column {field.name!r} of option 'schema': {error}") from None


def _bad_body(records: pa.RecordBatch, number: int, topic: str, error: Exception) -> BadBodyError:
    partition, offset = records.column("partition")[number], records.column("offset")[number]
    return BadBodyError(
        f"the body at offset {offset} of {topic}-{partition} does not fit option 'schema': {error}; "
        "badBodies=null or badBodies=column goes on"
    )


def _struct_of(schema: spark_types.StructType) -> type[msgspec.Struct]:
    """Fields by number, since a column may have any name; one that is missing in the JSON is null."""
    fields = []
    names = {}
    for number, each in enumerate(schema.fields):
        names[f"field_{number}"] = each.name
        fields.append((f"field_{number}", _type_of(each.dataType, each.name) | None, None))
    return msgspec.defstruct("Body", fields, rename=names, gc=False)


def _type_of(kind: spark_types.DataType, name: str) -> Any:
    bits = _BITS.get(type(kind))
    if bits is not None:
        limit = 1 << (bits - 1)
        return Annotated[int, msgspec.Meta(ge=-limit, le=limit - 1)]
    plain = _PLAIN.get(type(kind))
    if plain is not None:
        return plain
    if isinstance(kind, spark_types.ArrayType):
        return list[_type_of(kind.elementType, name) | None]  # type: ignore[misc]
    if isinstance(kind, spark_types.MapType) and isinstance(kind.keyType, spark_types.StringType):
        return dict[str, _type_of(kind.valueType, name) | None]  # type: ignore[misc]
    if isinstance(kind, spark_types.StructType):
        return _struct_of(kind)
    raise OptionError("schema", f"column {name!r} has the type {kind.simpleString()}, which JSON bodies cannot have")


def _plain_of(kind: spark_types.DataType) -> Callable[[Any], Any] | None:
    """How a parsed value becomes what pyarrow takes; None where it is that already."""
    if isinstance(kind, spark_types.StructType):
        parts = [(f"field_{number}", each.name, _plain_of(each.dataType)) for number, each in enumerate(kind.fields)]
        return lambda value: {
            name: part if part is None or plain is None else plain(part)
            for attribute, name, plain in parts
            for part in (getattr(value, attribute),)
        }
    if isinstance(kind, spark_types.ArrayType):
        of_element = _plain_of(kind.elementType)
        if of_element is None:
            return None
        convert = of_element
        return lambda value: [None if each is None else convert(each) for each in value]
    if isinstance(kind, spark_types.MapType):
        inner = _plain_of(kind.valueType)
        return lambda value: [
            (key, each if each is None or inner is None else inner(each)) for key, each in value.items()
        ]
    return None
