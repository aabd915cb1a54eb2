"""Tables of how far groups are behind."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from acklog.command.lag_figures import TopicLag
from acklog.command.times import duration_text
from acklog.command.views import Cell, Column, Table

if TYPE_CHECKING:
    from acklog.catalog import PartitionProgress

NO_RATES: Mapping[tuple[str, str], float] = {}


def lag_table(
    lags: Sequence[TopicLag],
    *,
    with_partitions: bool,
    rates: Mapping[tuple[str, str], float] = NO_RATES,
    empty: str = "",
) -> Table:
    """A row per group and topic, below it one per partition where wanted. `rates` are messages done per second."""
    columns = [
        Column("group", style="name"),
        Column("topic", style="name"),
        *([Column("partition", align="right"), Column("done below", align="right")] if with_partitions else []),
        Column("lag", align="right"),
        Column("behind", align="right"),
        Column("oldest", align="right"),
        *([Column("done/s", align="right")] if rates else []),
        Column("in flight", align="right"),
        Column("delayed", align="right"),
        Column("dead", align="right"),
        Column("lost", align="right"),
        Column("remarks"),
    ]
    rows: list[list[Cell | str]] = []
    for lag in lags:
        rows.append(_topic_row(lag, rates, with_partitions=with_partitions))
        if with_partitions:
            rows += [_partition_row(partition, has_rates=bool(rates)) for partition in lag.partitions]
    if not any(lag.unknown or lag.paused or lag.blocked for lag in lags):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Table(columns, rows, empty=empty)


def _topic_row(lag: TopicLag, rates: Mapping[tuple[str, str], float], *, with_partitions: bool) -> list[Cell | str]:
    rate = rates.get((lag.group, lag.topic), 0.0)
    return [
        lag.group,
        lag.topic,
        *(["", ""] if with_partitions else []),
        _lag_cell(lag.lag),
        _time(lag.lag_ms),
        _time(lag.oldest_age_ms),
        *([f"{rate:,.0f}"] if rates else []),
        f"{lag.in_flight:,}",
        f"{lag.delayed:,}",
        Cell(f"{lag.dead_lettered:,}", "warning" if lag.dead_lettered else ""),
        Cell(f"{lag.lost:,}", "bad" if lag.lost else ""),
        _remark(lag),
    ]


def _remark(lag: TopicLag) -> Cell | str:
    if lag.unknown:
        return Cell(f"{lag.unknown} partitions cannot be asked", "bad")
    if lag.is_paused:
        return Cell("paused", "warning")
    if lag.blocked:
        return _blocked(lag.blocked)
    return Cell(f"{lag.paused} partitions paused", "warning") if lag.paused else ""


def _partition_row(partition: "PartitionProgress", *, has_rates: bool) -> list[Cell | str]:
    number = Cell(str(partition.partition), "muted")
    rate = [""] if has_rates else []
    if partition.problem is not None:
        empty = [""] * 8
        return ["", "", number, *rate, *empty, Cell(f"{partition.problem.code}: {partition.problem.detail}", "bad")]
    return [
        "",
        "",
        number,
        _muted(partition.progress),
        Cell(f"{partition.lag or 0:,}", "warning" if partition.lag else "muted"),
        _time(partition.lag_ms),
        _time(partition.oldest_age_ms),
        *rate,
        _muted(partition.in_flight),
        _muted(partition.delayed),
        _muted(partition.dead_lettered),
        _muted(partition.lost),
        _partition_remark(partition),
    ]


def _partition_remark(partition: "PartitionProgress") -> Cell | str:
    if partition.is_paused:
        return Cell("paused", "warning")
    return _blocked(partition.blocked) if partition.blocked else ""


def _blocked(count: int) -> Cell:
    return Cell(f"{count:,} blocked: acklog keys list", "bad")


def _time(time_ms: int | None) -> Cell:
    """Nothing where all is done, or it cannot be told."""
    return Cell(duration_text(time_ms) if time_ms else "", "muted")


def _lag_cell(lag: int) -> Cell:
    return Cell(f"{lag:,}", "warning" if lag else "good")


def _muted(value: int | None) -> Cell:
    return Cell(f"{value or 0:,}", "muted")
