"""What is pushed down keeps what Spark would keep."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
)

from acklog.filters import parse_filter
from acklog.wire.limits import TIMESTAMP_MS_MAX
from pyspark_acklog.filters import Condition, keep_matching, keep_rows, push
from pyspark_acklog.ranges import OffsetRange

RANGE = OffsetRange("flights", "id", 2, 10, 20)
MOMENT = datetime(2026, 11, 21, 8, 0, 0, 500, tzinfo=UTC)
KINDS = st.sampled_from([EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual])


def holds(each: Filter, value: int) -> bool:
    bound: int = each.value  # type: ignore[attr-defined]
    return {
        EqualTo: value == bound,
        GreaterThan: value > bound,
        GreaterThanOrEqual: value >= bound,
        LessThan: value < bound,
        LessThanOrEqual: value <= bound,
    }[type(each)]


@given(st.lists(st.builds(lambda kind, value: kind(("offset",), value), KINDS, st.integers(5, 25)), max_size=4))
def test_conditions_on_offsets_cut_exactly(filters: list[Filter]) -> None:
    pushed, left = push(filters)
    cut = pushed.cut(RANGE)
    assert left == []
    assert [*range(cut.start, cut.end)] == [n for n in range(10, 20) if all(holds(each, n) for each in filters)]


@pytest.mark.parametrize(
    ("each", "is_kept"),
    [
        (EqualTo(("partition",), 2), True),
        (EqualTo(("partition",), 3), False),
        (In(("partition",), (1, 2)), True),
        (LessThan(("partition",), 2), False),
        (EqualTo(("topic",), "flights"), True),
        (In(("topic",), ("a", "b")), False),
        (IsNotNull(("offset",)), True),
    ],
)
def test_conditions_on_places(each: Filter, is_kept: bool) -> None:
    pushed, left = push([each])
    assert left == []
    assert pushed.cut(RANGE).is_empty is not is_kept


def test_offsets_in_a_list_cut_to_the_first_and_last_and_stay_with_spark() -> None:
    each = In(("offset",), (12, 17, 99))
    pushed, left = push([each])
    assert left == [each]
    assert pushed.cut(RANGE) == RANGE.within(12, 18)


@pytest.mark.parametrize(
    "each",
    [
        IsNull(("key",)),
        Not(EqualTo(("partition",), 2)),
        StringContains(("key",), "x"),
        EqualTo(("offset",), "12"),
        EqualTo(("partition",), True),
        EqualTo(("headers", "a"), "x"),
        EqualTo(("timestamp",), datetime(2026, 1, 1)),
        EqualTo(("carrier",), "x"),
    ],
)
def test_what_is_not_known_stays_with_spark(each: Filter) -> None:
    pushed, left = push([each])
    assert left == [each]
    assert (pushed.on_places, pushed.on_rows, pushed.cut(RANGE)) == ([], [], RANGE)


def test_times_bound_what_is_planned() -> None:
    pushed, left = push([GreaterThan(("appendTime",), MOMENT), LessThan(("timestamp",), MOMENT)])
    assert len(left) == 2
    milliseconds = int(MOMENT.timestamp() * 1000)
    assert (pushed.first_append_time_ms(), pushed.last_append_time_ms()) == (milliseconds, None)


@pytest.mark.parametrize(
    ("year", "first_ms", "last_ms"),
    [(1, 0, 0), (1900, 0, 0), (9999, TIMESTAMP_MS_MAX, None)],
)
def test_dates_that_stand_for_ever_are_within_what_a_server_takes(
    year: int, first_ms: int, last_ms: int | None
) -> None:
    moment = datetime(year, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    pushed, _ = push([GreaterThanOrEqual(("appendTime",), moment)])
    assert pushed.first_append_time_ms() == first_ms
    pushed, _ = push([LessThan(("appendTime",), moment)])
    assert pushed.last_append_time_ms() == last_ms


def test_rows_are_dropped_by_time_and_key() -> None:
    first_ms = int(MOMENT.timestamp() * 1000)
    records = pa.record_batch(
        {
            "key": pa.array(["a", None, "b", "a"]),
            "timestamp": pa.array([first_ms, first_ms + 1, first_ms - 1, first_ms + 2], pa.timestamp("ms", tz="UTC")),
        }
    )

    def kept(*conditions: Condition) -> list[object]:
        return keep_rows(records, conditions)["key"].to_pylist()  # type: ignore[no-any-return]

    assert kept(Condition("key", "==", "a")) == ["a", "a"]
    assert kept(Condition("key", "in", ("b", "c"))) == ["b"]
    # the moment lies half a millisecond behind `first_ms`
    assert kept(Condition("timestamp", ">", MOMENT)) == [None, "a"]
    assert kept(Condition("timestamp", "<=", MOMENT), Condition("key", "==", "b")) == ["b"]


def test_rows_of_an_archive_match_as_messages_do() -> None:
    rows = pa.RecordBatch.from_pydict(
        {
            "key": ["user-1", "user-2", None],
            "headers": pa.array([[("region", "eu")], None, [("region", "us")]], pa.map_(pa.string(), pa.string())),
            "tags": pa.array([["a", "b"], None, ["b"]], pa.list_(pa.string())),
        }
    )
    for text, wanted in (
        ('tag = "b"', ["user-1", None]),
        ('key like "user-%" and not exists(tag)', ["user-2"]),
        ('header.region = "eu"', ["user-1"]),
        ('not exists(header.region) or header.region != "eu"', ["user-2", None]),
    ):
        assert keep_matching(rows, parse_filter(text)).column("key").to_pylist() == wanted
    assert keep_matching(rows.slice(0, 0), parse_filter('tag = "b"')).num_rows == 0
