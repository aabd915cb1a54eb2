"""Rows as messages: what the columns of a write mean."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import types as spark_types

from acklog import OutgoingMessage
from pyspark_acklog.failures import OptionError, WriteError
from pyspark_acklog.write_identity import HEADER

_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode
_T = spark_types
_KINDS: Mapping[str, tuple[type[spark_types.DataType], ...]] = {
    "topic": (_T.StringType,),
    "partition": (_T.IntegerType, _T.LongType, _T.ShortType),
    "key": (_T.StringType,),
    "value": (_T.BinaryType, _T.StringType),
    "headers": (_T.MapType,),
    "tags": (_T.ArrayType,),
    "timestamp": (_T.TimestampType, _T.LongType),
    "contentType": (_T.StringType,),
}
_IGNORED = frozenset({"offset", "appendTime"})
"""What a read adds: a table that was read can be written as it is."""
COLUMNS = (*_KINDS, "body")


@dataclass(frozen=True, slots=True)
class OutgoingRow:
    """A message and its topic. `size_bytes` counts body and key."""

    topic: str
    message: OutgoingMessage
    size_bytes: int


class OutgoingRows:
    """Checks a schema, and makes messages of its rows. Raises OptionError for columns that cannot be written.

    `value` holds the stored bytes: JSON where they are valid JSON, else bytes with the content type in `contentType`
    (application/octet-stream without). `body` is any value of Spark's, stored as JSON: a text becomes a JSON string.
    Where both are there, `value` counts.
    """

    def __init__(self, schema: spark_types.StructType, topic: str) -> None:
        self._topic = topic
        self._names = [field.name for field in schema.fields]
        for field in schema.fields:
            _check(field)
        if "value" not in self._names and "body" not in self._names:
            raise OptionError("", "there is nothing to write: name a column 'body' (any value) or 'value' (bytes)")
        if "topic" not in self._names and not topic:
            raise OptionError("topic", "name the topic to write to, by this option or by a column 'topic'")
        self._time_unit = next((_unit(field.dataType) for field in schema.fields if field.name == "timestamp"), 1)
        self._plain: Callable[[Any], Any] = lambda value: value
        for field in schema.fields:
            if field.name == "body":
                self._plain = _plain_of(field.dataType)

    def messages(self, batch: pa.RecordBatch) -> Iterator[OutgoingRow]:
        """In the order of the rows. Raises WriteError for a row without topic or body."""
        count = batch.num_rows
        columns = {name: column for name, column in zip(self._names, batch.columns, strict=True) if name in COLUMNS}
        if "timestamp" in columns:
            columns["timestamp"] = columns["timestamp"].cast(pa.int64())
        values = {name: column.to_pylist() for name, column in columns.items()}
        nothing: list[Any] = [None] * count
        for topic, partition, key, headers, tags, timestamp, content_type, body in zip(
            [self._topic] * count if self._topic else values["topic"],
            values.get("partition", nothing),
            values.get("key", nothing),
            values.get("headers", nothing),
            values.get("tags", nothing),
            values.get("timestamp", nothing),
            values.get("contentType", nothing),
            values["value"] if "value" in values else map(self._plain, values["body"]),
            strict=True,
        ):
            if not topic:
                raise WriteError("a row has no topic: column 'topic' is null, and there is no option 'topic'")
            content = _stored(body, content_type) if "value" in values else _as_json(body)
            message = OutgoingMessage(
                content,
                key,
                _headers(headers),
                [tag for tag in tags if tag is not None] or None if tags else None,
                None if timestamp is None else timestamp // self._time_unit,
                partition,
                None,
                content_type if isinstance(content, bytes) else None,
            )
            yield OutgoingRow(topic, message, len(memoryview(content)) + (len(key) if key else 0))


def _check(field: spark_types.StructField) -> None:
    if field.name in _IGNORED or field.name == "body":
        return
    kinds = _KINDS.get(field.name)
    if kinds is None:
        names = ", ".join(COLUMNS)
        raise OptionError("", f"there is no place for column {field.name!r} in a message; the columns are {names}")
    if not isinstance(field.dataType, kinds):
        found = field.dataType.simpleString()
        wanted = " or ".join(kind().simpleString() for kind in kinds if kind not in {_T.MapType, _T.ArrayType})
        wanted = wanted or ("map<string,string>" if field.name == "headers" else "array<string>")
        raise OptionError("", f"column {field.name!r} must be {wanted}, not {found}")


def _unit(kind: spark_types.DataType) -> int:
    """How many of the column's units make a millisecond."""
    return 1_000 if isinstance(kind, _T.TimestampType) else 1


def _stored(value: Any, content_type: str | None) -> bytes | msgspec.Raw:
    if value is None:
        raise WriteError("a row has no body: column 'value' is null")
    content = value.encode() if isinstance(value, str) else bytes(value)
    if content_type is not None:
        return content
    try:
        content.decode()
        raw = _decode_raw(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return content
    # What is not JSON to the last byte (spaces around it) would not come back as it was.
    return raw if len(memoryview(raw)) == len(content) else content


def _as_json(body: Any) -> msgspec.Raw:
    try:
        return msgspec.Raw(msgspec.json.encode(body))
    except (TypeError, ValueError, OverflowError) as error:
        raise WriteError(f"a body cannot be JSON: {error}") from None


def _headers(pairs: Any) -> dict[str, str] | None:
    """Without the identity of an earlier write, should the row come from one."""
    if not pairs:
        return None
    return {name: value for name, value in pairs if name != HEADER and value is not None} or None


def _plain_of(kind: spark_types.DataType) -> Callable[[Any], Any]:
    """Maps are lists of pairs in Arrow, and objects in JSON."""
    if isinstance(kind, _T.MapType):
        inner = _plain_of(kind.valueType)
        return lambda value: None if value is None else {str(key): inner(each) for key, each in value}
    if isinstance(kind, _T.ArrayType):
        inner = _plain_of(kind.elementType)
        return lambda value: None if value is None else [inner(each) for each in value]
    if isinstance(kind, _T.StructType):
        parts = [(field.name, _plain_of(field.dataType)) for field in kind.fields]
        return lambda value: None if value is None else {name: inner(value[name]) for name, inner in parts}
    return lambda value: value
