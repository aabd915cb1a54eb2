"""The records endpoint's Arrow as Spark's columns."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from acklog.wire import records_arrow
from pyspark_acklog import columns

SPARK = t.StructType(
    [
        t.StructField("topic", t.StringType()),
        t.StructField("partition", t.IntegerType()),
        t.StructField("offset", t.LongType()),
        t.StructField("key", t.StringType()),
        t.StructField("value", t.BinaryType()),
        t.StructField("body", t.StringType()),
        t.StructField("headers", t.MapType(t.StringType(), t.StringType())),
        t.StructField("tags", t.ArrayType(t.StringType())),
        t.StructField("timestamp", t.TimestampType()),
        t.StructField("appendTime", t.TimestampType()),
    ]
)
ANSWER = records_arrow.schema()


def answer(**values: list[object]) -> pa.RecordBatch:
    count = len(next(iter(values.values())))
    defaults: dict[str, object] = {"partition": 0, "offset": 0, "value": b"1", "timestamp": 0, "appendTime": 0}
    arrays = [pa.array(values.get(field.name, [defaults.get(field.name)] * count), field.type) for field in ANSWER]
    return pa.record_batch(arrays, schema=ANSWER)


def texts(values: list[bytes], content_types: list[str | None] | None = None) -> list[str | None]:
    kinds = content_types or [None] * len(values)
    found: list[str | None] = columns.body_texts(
        pa.array(values, pa.binary()), pa.array(kinds, pa.string())
    ).to_pylist()
    return found


def test_the_schema_is_what_spark_makes_of_the_ddl() -> None:
    assert to_arrow_schema(SPARK, timezone="UTC").equals(columns.ARROW)
    assert ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in SPARK) == columns.DDL


def test_all_columns_come_across() -> None:
    records = answer(
        partition=[3, 3],
        offset=[5, 6],
        key=["k", None],
        value=[b'"a"', b"\xff"],
        headers=[[("h", "v"), ("i", "")], None],
        tags=[["x", "y"], None],
        timestamp=[1_500, 2_000],
        appendTime=[3_000, 4_000],
        contentType=[None, "image/png"],
    )
    batch = columns.table_batch(records, "flights")
    assert batch.schema.equals(columns.ARROW)
    batch.validate(full=True)
    first, second = batch.to_pylist()
    assert first["timestamp"].timestamp() == 1.5
    assert {
        name: first[name] for name in ("topic", "partition", "offset", "key", "value", "body", "headers", "tags")
    } == {
        "topic": "flights",
        "partition": 3,
        "offset": 5,
        "key": "k",
        "value": b'"a"',
        "body": "a",
        "headers": [("h", "v"), ("i", "")],
        "tags": ["x", "y"],
    }
    assert (second["key"], second["body"], second["headers"], second["tags"]) == (None, None, None, None)


def test_a_slice_comes_across_like_the_whole() -> None:
    records = answer(
        value=[b"1", b"2", b"3"], headers=[[("a", "1")], None, [("b", "2"), ("c", "3")]], tags=[["x"], None, []]
    )
    whole = columns.table_batch(records, "t").to_pylist()
    sliced = columns.table_batch(records.slice(1), "t")
    sliced.validate(full=True)
    assert sliced.to_pylist() == whole[1:]


@pytest.mark.parametrize(
    ("stored", "content_type", "body"),
    [
        (b'{"a": 1}', None, '{"a": 1}'),
        (b'"text"', None, "text"),
        (b'"\\u00e9\\n\\""', None, 'é\n"'),
        (b'""', None, ""),
        (b"null", None, "null"),
        (b' "spaces"', None, "spaces"),
        (b'"\\ud800"', None, None),
        (b'"quoted"', "text/plain", '"quoted"'),
        (b"plain", "text/plain", "plain"),
        (b"\xff\xfe", "application/octet-stream", None),
        (b"", "text/plain", ""),
    ],
)
def test_bodies_as_text(stored: bytes, content_type: str | None, body: str | None) -> None:
    assert texts([stored], [content_type]) == [body]
    # beside others, which take the other ways through the code
    assert texts([stored, b"1", b'"x"'], [content_type, None, None]) == [body, "1", "x"]


@settings(deadline=None)
@given(
    st.lists(
        st.text(alphabet=st.characters(codec="utf-8"), max_size=8) | st.integers() | st.none(), min_size=1, max_size=6
    )
)
def test_json_bodies_as_text(bodies: list[str | int | None]) -> None:
    stored = [json.dumps(each, ensure_ascii=False).encode() for each in bodies]
    assert texts(stored) == [each if isinstance(each, str) else json.dumps(each) for each in bodies]


def test_only_the_named_columns_are_made() -> None:
    batch = columns.table_batch(answer(offset=[1, 2]), "t", ["offset", "topic"])
    assert batch.to_pydict() == {"offset": [1, 2], "topic": ["t", "t"]}


def test_escapes_outside_of_a_slice_are_none_of_its_own() -> None:
    whole = pa.array([b'"\\n"', b'"x"', b'"\\t"'], pa.binary())
    nulls = pa.nulls(3, pa.string())
    assert columns.body_texts(whole.slice(1, 1), nulls.slice(1, 1)).to_pylist() == ["x"]
    assert columns.body_texts(whole.slice(1), nulls.slice(1)).to_pylist() == ["x", "\t"]
    assert columns.body_texts(whole.slice(3), nulls.slice(3)).to_pylist() == []
