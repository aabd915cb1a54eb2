"""What of a query's WHERE is done here instead of in Spark: ranges are cut, and rows dropped before they are sent."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from acklog.filters import MessageFilter
from acklog.wire.limits import TIMESTAMP_MS_MAX
from pyspark_acklog.ranges import OffsetRange

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_NULL = frozenset({"topic", "partition", "offset", "value", "timestamp", "appendTime"})
_TIMES = frozenset({"timestamp", "appendTime"})
_COMPARISONS: Mapping[type[Filter], str] = {
    EqualTo: "==",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    LessThan: "<",
    LessThanOrEqual: "<=",
}
_PYTHON: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_ARROW: Mapping[str, Callable[..., pa.Array]] = {
    "==": pc.equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "<": pc.less,
    "<=": pc.less_equal,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """`column operator value`; with the operator `in`, `value` is a tuple."""

    column: str
    operator: str
    value: Any

    def holds(self, value: object) -> bool:
        """Of one value that is not null."""
        return value in self.value if self.operator == "in" else _PYTHON[self.operator](value, self.value)


@dataclass(slots=True)
class Pushed:
    """All that was taken over, joined by AND. `on_places` decides about whole partitions and ranges, `on_rows` about
    messages."""

    on_places: list[Condition] = field(default_factory=list)
    on_rows: list[Condition] = field(default_factory=list)

    def cut(self, range_: OffsetRange) -> OffsetRange:
        """What is left of the range; an empty one where nothing is."""
        low, high = range_.start, range_.end
        for each in self.on_places:
            if each.column == "topic":
                high = high if each.holds(range_.topic) else low
            elif each.column == "partition":
                high = high if each.holds(range_.partition) else low
            else:
                low, high = _offsets(each, low, high)
        return range_.within(low, high)

    def first_append_time_ms(self) -> int | None:
        """Nothing before this append time is asked for; None for no bound."""
        bounds = [
            _milliseconds(each.value)
            for each in self.on_rows
            if each.column == "appendTime" and each.operator in {"==", ">", ">="}
        ]
        return max(bounds, default=None)

    def last_append_time_ms(self) -> int | None:
        """Nothing after this append time is asked for; None for no bound."""
        bounds = [
            _milliseconds(each.value)
            for each in self.on_rows
            if each.column == "appendTime" and each.operator in {"==", "<", "<="}
        ]
        return min((each for each in bounds if each < TIMESTAMP_MS_MAX), default=None)


def push(filters: Iterable[Filter]) -> tuple[Pushed, list[Filter]]:
    """What is taken over, and what Spark has to check as before. Conditions on times and keys are in both: dropping
    rows here saves their way to Spark, and Spark's own comparison has the last word."""
    pushed = Pushed()
    left: list[Filter] = []
    for each in filters:
        condition = _condition(each)
        if isinstance(each, IsNotNull) and len(each.attribute) == 1 and each.attribute[0] in _NEVER_NULL:
            continue
        if condition is None:
            left.append(each)
        elif condition.column in {"topic", "partition", "offset"}:
            pushed.on_places.append(condition)
            if condition.column == "offset" and condition.operator == "in":
                left.append(each)  # the range is cut to the first and the last of them
        else:
            pushed.on_rows.append(condition)
            left.append(each)
    return pushed, left


def keep_rows(records: pa.RecordBatch, conditions: Sequence[Condition]) -> pa.RecordBatch:
    """The messages for which all conditions hold."""
    for each in conditions:
        if records.num_rows == 0:
            break
        column = records.column(each.column)
        kind = pa.timestamp("us", tz="UTC") if each.column in _TIMES else column.type
        if each.operator == "in":
            mask = pc.is_in(column.cast(kind), value_set=pa.array(each.value, kind))
        else:
            mask = _ARROW[each.operator](column.cast(kind), pa.scalar(each.value, kind))
        records = records.filter(mask)
    return records


class _FilterableRow(NamedTuple):
    """What a filter of messages looks at."""

    key: str | None
    headers: Mapping[str, str] | None
    tags: Sequence[str] | None


def keep_matching(records: pa.RecordBatch, message_filter: MessageFilter) -> pa.RecordBatch:
    """The messages that match."""
    columns = (records.column(name).to_pylist() for name in ("key", "headers", "tags"))
    mask = [
        message_filter.matches(_FilterableRow(key, None if headers is None else dict(headers), tags))
        for key, headers, tags in zip(*columns, strict=True)
    ]
    return records.filter(pa.array(mask, pa.bool_()))


def _condition(each: Filter) -> Condition | None:
    attribute: Sequence[str] = getattr(each, "attribute", ())
    if len(attribute) != 1:
        return None
    column = attribute[0]
    value = getattr(each, "value", None)
    name = "in" if isinstance(each, In) else _COMPARISONS.get(type(each))
    values = list(value) if isinstance(each, In) and isinstance(value, tuple | list) else [value]
    if name is None or not all(_is_comparable(column, each_value) for each_value in values):
        return None
    return Condition(column, name, tuple(values) if name == "in" else value)


def _is_comparable(column: str, value: object) -> bool:
    if column in {"partition", "offset"}:
        return isinstance(value, int) and not isinstance(value, bool)
    if column in {"topic", "key"}:
        return isinstance(value, str)
    return column in _TIMES and isinstance(value, datetime) and value.tzinfo is not None


def _offsets(condition: Condition, low: int, high: int) -> tuple[int, int]:
    if condition.operator == "in":
        hits = [each for each in condition.value if low <= each < high]
        return (min(hits), max(hits) + 1) if hits else (low, low)
    value: int = condition.value
    if condition.operator == "==":
        return max(low, value), min(high, value + 1)
    if condition.operator in {">", ">="}:
        return max(low, value + (condition.operator == ">")), high
    return low, min(high, value + (condition.operator == "<="))


def _milliseconds(moment: datetime) -> int:
    """Within what a server takes: dates that stand for "ever" (1900, 9999) are before, or after, all that it has."""
    milliseconds = (moment - _EPOCH) // timedelta(milliseconds=1)
    return min(max(milliseconds, 0), TIMESTAMP_MS_MAX)
