"""The table that a topic is: its columns, and how the records endpoint's Arrow becomes them."""

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

DDL = (
    "topic string, partition int, offset bigint, key string, value binary, body string, "
    "headers map<string,string>, tags array<string>, timestamp timestamp, appendTime timestamp"
)
"""Spark's names for the columns, in their order. `ARROW` is the same for pyarrow, as Spark wants it."""

_TIME = pa.timestamp("us", tz="UTC")
_HEADERS = pa.map_(pa.string(), pa.field("value", pa.string(), nullable=True))
_TAGS = pa.list_(pa.field("element", pa.string(), nullable=True))
ARROW = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("key", pa.string()),
        pa.field("value", pa.binary()),
        pa.field("body", pa.string()),
        pa.field("headers", _HEADERS),
        pa.field("tags", _TAGS),
        pa.field("timestamp", _TIME),
        pa.field("appendTime", _TIME),
    ]
)
NAMES: tuple[str, ...] = tuple(ARROW.names)
_WHITESPACE = (b" ", b"\t", b"\n", b"\r")


def table_batch(records: pa.RecordBatch, topic: str, names: Sequence[str] = NAMES) -> pa.RecordBatch:
    """The columns `names` of the messages that a record batch of the records endpoint holds."""
    arrays = [column(name, records, topic) for name in names]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([ARROW.field(name) for name in names]))


def column(name: str, records: pa.RecordBatch, topic: str) -> pa.Array:
    """One of the table's columns."""
    if name == "topic":
        return pa.repeat(pa.scalar(topic, pa.string()), records.num_rows)
    if name == "body":
        return body_texts(records.column("value"), records.column("contentType"))
    column = records.column(name)
    wanted = ARROW.field(name).type
    return column if column.type.equals(wanted, check_metadata=False) and name != "headers" else _as(column, wanted)


def _as(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_map(wanted):
        # Of one layout, but for the names of the fields inside.
        return pa.MapArray.from_buffers(
            wanted, len(column), column.buffers()[:2], column.null_count, column.offset, [_entries(column, wanted)]
        )
    return column.cast(wanted)


def _entries(column: pa.MapArray, wanted: pa.MapType) -> pa.StructArray:
    return pa.StructArray.from_arrays([column.keys, column.items], fields=[wanted.key_field, wanted.item_field])


def body_texts(values: pa.Array, content_types: pa.Array) -> pa.Array:
    """The bodies as text: JSON as it stands, a JSON string without its quotes and escapes, null for what is not UTF-8.

    `values` are the stored bytes; a body is JSON where its content type is null.
    """
    try:
        texts = values.cast(pa.string())
    except pa.ArrowInvalid:
        return _one_by_one(values, content_types)
    first = pc.binary_slice(values, 0, 1)
    is_json = pc.is_null(content_types)
    if pc.any(pc.and_(is_json, pc.is_in(first, value_set=pa.array(_WHITESPACE, pa.binary())))).as_py():
        return _one_by_one(values, content_types)
    is_text = pc.and_(is_json, pc.equal(first, b'"'))
    if not pc.any(is_text).as_py():
        return texts
    if _may_have_escapes(values) and pc.any(pc.and_(is_text, pc.match_substring(values, b"\\"))).as_py():
        return _one_by_one(values, content_types)
    bare = pc.binary_slice(values, 1, -1).cast(pa.string(), safe=False)
    return bare if pc.all(is_text).as_py() else pc.if_else(is_text, bare, texts)


def _may_have_escapes(values: pa.Array) -> bool:
    """Whether there is a backslash in any of them: to look at each would cost more than all the rest."""
    _, ends, data = values.buffers()
    if data is None or not len(values):
        return False
    at = memoryview(ends).cast("i")
    return b"\\" in bytes(memoryview(data)[at[values.offset] : at[values.offset + len(values)]])


def _one_by_one(values: pa.Array, content_types: pa.Array) -> pa.Array:
    texts = [
        _text(value, is_json=content_type is None)
        for value, content_type in zip(values.to_pylist(), content_types.to_pylist(), strict=True)
    ]
    return pa.array(texts, pa.string())


def _text(value: bytes, *, is_json: bool) -> str | None:
    try:
        if is_json and value.lstrip().startswith(b'"'):
            decoded = json.loads(value)
            decoded.encode()  # a lone surrogate, which JSON can say and UTF-8 cannot
            return str(decoded)
        return value.decode()
    except (UnicodeError, ValueError):
        return None
