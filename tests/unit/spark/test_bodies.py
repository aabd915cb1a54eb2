"""JSON bodies as columns, and what becomes of bad ones."""

import pickle
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import types as t

from pyspark_acklog.bodies import BodyParser
from pyspark_acklog.failures import BadBodyError, OptionError
from pyspark_acklog.options import BadBodies

FLAT = t.StructType([t.StructField("n", t.IntegerType()), t.StructField("c d", t.StringType())])


def records(*values: bytes) -> pa.RecordBatch:
    count = len(values)
    return pa.record_batch(
        {
            "partition": pa.array([3] * count, pa.int32()),
            "offset": pa.array(range(7, 7 + count)),
            "value": pa.array(values, pa.binary()),
        }
    )


def parsed(schema: t.StructType, *values: bytes, policy: BadBodies = BadBodies.FAIL) -> dict[str, list[object]]:
    found = BodyParser(schema, policy).parse(records(*values), "flights")
    return {name: column.to_pylist() for name, column in found.columns.items()} | {"bad": found.bad.to_pylist()}


def test_fields_become_columns() -> None:
    assert parsed(FLAT, b'{"n":1,"c d":"x","more":[]}', b"{}", b'{"n":null}') == {
        "n": [1, None, None],
        "c d": ["x", None, None],
        "bad": [None, None, None],
    }


def test_json_that_was_sent_as_text_is_parsed_as_well() -> None:
    """As the flights are, and as `acklog export --schema` has it."""
    assert parsed(FLAT, b'"{\\"n\\":1,\\"c d\\":\\"x\\"}"', b'"no JSON"', policy=BadBodies.COLUMN) == {
        "n": [1, None],
        "c d": ["x", None],
        "bad": [None, '"no JSON"'],
    }


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (t.LongType(), "9223372036854775807", 2**63 - 1),
        (t.ShortType(), "-32768", -32768),
        (t.DoubleType(), "1", 1.0),
        (t.BooleanType(), "true", True),
        (t.TimestampType(), '"2026-11-21T09:00:00+01:00"', datetime(2026, 11, 21, 8, tzinfo=UTC)),
        (t.DateType(), '"2026-11-21"', date(2026, 11, 21)),
        (t.DecimalType(10, 2), "1.25", Decimal("1.25")),
        (t.BinaryType(), '"AP8="', b"\x00\xff"),
        (t.ArrayType(t.LongType()), "[1,null]", [1, None]),
        (t.MapType(t.StringType(), t.LongType()), '{"a":1}', [("a", 1)]),
        (FLAT, '{"n":1}', {"n": 1, "c d": None}),
        (t.ArrayType(FLAT), '[{"n":1},null]', [{"n": 1, "c d": None}, None]),
        (t.MapType(t.StringType(), FLAT), '{"a":{"n":1}}', [("a", {"n": 1, "c d": None})]),
    ],
)
def test_types(kind: t.DataType, text: str, value: object) -> None:
    schema = t.StructType([t.StructField("x", kind)])
    assert parsed(schema, f'{{"x":{text}}}'.encode(), b'{"x":null}')["x"] == [value, None]


BAD = [b'{"n":"1"}', b'{"n":2147483648}', b"[1]", b"null", b"not json", b"\xff", b""]


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_one_is_named(bad: bytes) -> None:
    with pytest.raises(BadBodyError, match="body at offset 8 of flights-3 does not fit option 'schema'"):
        parsed(FLAT, b'{"n":1}', bad)


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_one_does_not_hurt_its_neighbours(bad: bytes) -> None:
    for policy in (BadBodies.NULL, BadBodies.COLUMN):
        found = parsed(FLAT, b'{"n":1}', bad, b'{"n":3}', policy=policy)
        assert found["n"] == [1, None, 3]
        assert found["bad"] == [None, bad.decode("utf-8", "replace"), None]


def test_digits_that_do_not_fit_are_told() -> None:
    schema = t.StructType([t.StructField("x", t.DecimalType(3, 1))])
    with pytest.raises(BadBodyError, match="do not fit column 'x'"):
        parsed(schema, b'{"x":12345.678}')


def test_a_type_that_json_cannot_have() -> None:
    with pytest.raises(OptionError, match="column 'x' has the type map<int,string>"):
        BodyParser(t.StructType([t.StructField("x", t.MapType(t.IntegerType(), t.StringType()))]), BadBodies.FAIL)


def test_it_travels_to_workers() -> None:
    again = pickle.loads(pickle.dumps(BodyParser(FLAT, BadBodies.FAIL)))
    assert again.parse(records(b'{"n":1}'), "t").columns["n"].to_pylist() == [1]
