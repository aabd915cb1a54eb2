"""What the commands of administration compute, without a server."""

import math
import random

import pytest

from acklog.catalog import GroupOffsets, PartitionProgress, PartitionSeek, ProblemItem, SeekResult, TopicConfig
from acklog.command.checkup import names_text
from acklog.command.delivery_time import parse_delay_s
from acklog.command.failures import UsageError
from acklog.command.lag_figures import LagRates, lags_of
from acklog.command.lag_view import lag_table
from acklog.command.latencies import Latencies
from acklog.command.plain_view import plain_text
from acklog.command.quantities import (
    count_text,
    limit_text,
    parse_duration_ms,
    parse_size_bytes,
    size_text,
)
from acklog.command.seek_plan import SeekTarget, parse_target, plan_of
from acklog.command.topic_compaction import kept_for_text, kept_up_to_text

NOW_MS = 1_795_000_000_000
PROBLEM = ProblemItem("UNAVAILABLE", "it has no leader", True)


def progress(topic: str, partition: int, done: int, lag: int, **more: int) -> PartitionProgress:
    values = {"done_above": 0, "in_flight": 0, "delayed": 0, "dead_lettered": 0, "lost": 0, "log_start": 0, **more}
    return PartitionProgress(topic, partition, progress=done, high_watermark=done + lag, lag=lag, **values)


class TestQuantities:
    @pytest.mark.parametrize(
        ("text", "duration_ms"),
        [
            ("500ms", 500),
            ("90s", 90_000),
            ("1.5m", 90_000),
            ("2min", 120_000),
            ("12h", 43_200_000),
            ("7 d", 604_800_000),
        ],
    )
    def test_durations(self, text: str, duration_ms: int) -> None:
        assert parse_duration_ms(text, field="--x") == duration_ms

    @pytest.mark.parametrize(
        ("text", "size_bytes"),
        [("0", 0), ("1000", 1000), ("64MiB", 64 << 20), ("10GB", 10**10), ("1.5 KiB", 1536), ("7B", 7)],
    )
    def test_sizes(self, text: str, size_bytes: int) -> None:
        assert parse_size_bytes(text, field="--x") == size_bytes

    @pytest.mark.parametrize("parse", [parse_duration_ms, parse_size_bytes])
    def test_unlimited_only_where_it_is_allowed(self, parse) -> None:  # type: ignore[no-untyped-def]
        assert parse("unlimited", field="--x", may_be_unlimited=True) == -1
        with pytest.raises(UsageError) as refused:
            parse("unlimited", field="--x")
        assert refused.value.field == "--x"
        assert "unlimited" not in refused.value.hint

    @pytest.mark.parametrize("text", ["", "-5s", "5", "5 weeks", "s", "1e3s", "٣s"])
    def test_what_is_no_duration(self, text: str) -> None:
        with pytest.raises(UsageError):
            parse_duration_ms(text, field="--x")

    @pytest.mark.parametrize("text", ["", "-1", "5 apples", "MiB", "1,000"])
    def test_what_is_no_size(self, text: str) -> None:
        with pytest.raises(UsageError):
            parse_size_bytes(text, field="--x")

    def test_texts(self) -> None:
        assert [size_text(size) for size in (-1, 0, 1023, 1024, 1536, 10 << 30)] == [
            *["unlimited", "0 B", "1023 B", "1 KiB", "1.5 KiB", "10 GiB"]
        ]
        assert (limit_text(-1), limit_text(90_000)) == ("unlimited", "1 min 30 s")
        assert (count_text(1, "message"), count_text(1234, "message")) == ("1 message", "1,234 messages")
        assert names_text(list("abcdefg")) == "a, b, c, d, e and 2 more"


class TestLag:
    OFFSETS = GroupOffsets(
        "mail",
        [
            progress("orders", 0, 10, 5, in_flight=2, delayed=1),
            progress("orders", 1, 20, 0, dead_lettered=3, lost=1, done_above=2, deleted=5),
            PartitionProgress("orders", 2, problem=PROBLEM),
            progress("bills", 0, 0, 7),
        ],
        12,
    )

    def test_sums_by_topic(self) -> None:
        bills, orders = lags_of(self.OFFSETS)
        assert (bills.topic, bills.lag, bills.waiting) == ("bills", 7, 7)
        assert (orders.lag, orders.in_flight, orders.delayed, orders.waiting) == (5, 2, 1, 2)
        assert (orders.dead_lettered, orders.lost, orders.unknown, orders.progress) == (3, 1, 1, 32)
        assert orders.deleted == 5, "on purpose: not lost"
        assert orders.document(with_partitions=False)["unknownPartitions"] == 1
        assert "partitions" not in bills.document(with_partitions=False)

    def test_the_table_names_what_cannot_be_asked(self) -> None:
        text = plain_text(lag_table(lags_of(self.OFFSETS), with_partitions=True))
        lines = text.splitlines()
        assert len(lines) == 1 + 2 + 4
        assert lines[2].split()[-1] == "0"
        assert "1 partitions cannot be asked" in text
        assert "UNAVAILABLE: it has no leader" in text
        assert len({len(line.rstrip()) for line in lines if "UNAVAILABLE" in line}) == 1

    def test_the_table_says_how_far_behind_in_time(self) -> None:
        offsets = GroupOffsets(
            "mail", [PartitionProgress("bills", 0, lag=7, lag_ms=90_000, oldest_age_ms=7_200_000)], 7
        )
        heads, *rows = plain_text(lag_table(lags_of(offsets), with_partitions=True)).splitlines()
        assert heads.split()[4:8] == ["BELOW", "LAG", "BEHIND", "OLDEST"]
        assert [row.split()[-10:-5] for row in rows] == [["1", "min", "30", "s", "2"]] * 2

    def test_rates_are_those_between_two_looks(self) -> None:
        rates = LagRates()
        before = lags_of(GroupOffsets("mail", [progress("orders", 0, 10, 5)], 5))
        after = lags_of(GroupOffsets("mail", [progress("orders", 0, 13, 2), progress("new", 0, 1, 0)], 2))
        back = lags_of(GroupOffsets("mail", [progress("orders", 0, 0, 15)], 15))
        assert rates.take(before, now_ms=1000) == {}
        assert rates.take(after, now_ms=3000) == {("mail", "orders"): 1.5}
        assert rates.take(back, now_ms=4000) == {("mail", "orders"): 0.0}
        assert rates.take(back, now_ms=4000) == {}


class TestSeekTargets:
    @pytest.mark.parametrize(
        ("text", "target"),
        [
            ("earliest", SeekTarget(to_earliest=True)),
            ("latest", SeekTarget(to_latest=True)),
            ("0", SeekTarget(to_offset=0)),
            ("99999999999", SeekTarget(to_offset=99_999_999_999)),
            ("offset:1795000000000", SeekTarget(to_offset=1_795_000_000_000)),
            ("1795000000000", SeekTarget(to_time_ms=1_795_000_000_000)),
            ("2h", SeekTarget(to_time_ms=NOW_MS - 7_200_000)),
            ("2026-11-21T12:00:00+00:00", SeekTarget(to_time_ms=1_795_262_400_000)),
        ],
    )
    def test_what_is_understood(self, text: str, target: SeekTarget) -> None:
        assert parse_target(text, has_partition=True, now_ms=NOW_MS) == target
        assert target.text()

    def test_an_offset_needs_its_partition(self) -> None:
        with pytest.raises(UsageError, match="one partition's"):
            parse_target("12", has_partition=False, now_ms=NOW_MS)

    def test_from_where_it_is(self) -> None:
        for text, messages in (("-100", -100), ("+1", 1)):
            assert parse_target(text, has_partition=False, now_ms=NOW_MS) == SeekTarget(to_relative=messages)
        assert SeekTarget(to_relative=-100).text() == "100 messages back"

    @pytest.mark.parametrize("text", ["", "-", "-1x", "offset:", "offset:x", "tomorrow", "1.5"])
    def test_what_is_not(self, text: str) -> None:
        with pytest.raises(UsageError) as refused:
            parse_target(text, has_partition=True, now_ms=NOW_MS)
        assert refused.value.field == "--to"


class TestSeekPlans:
    def plan(self, *seeks: PartitionSeek, offsets: list[PartitionProgress]):  # type: ignore[no-untyped-def]
        result = SeekResult("mail", "orders", True, list(seeks), 0)
        return plan_of(result, GroupOffsets("mail", [*offsets, progress("others", 0, 1, 1)], 0))

    def test_back(self) -> None:
        """What is done above the progress comes again, too; what retention removed does not."""
        offsets = [progress("orders", 0, 10, 5, done_above=2, in_flight=1, log_start=4)]
        plan = self.plan(PartitionSeek(0, offset=0, previous=10), offsets=offsets)
        assert (plan.again, plan.skipped, plan.leased) == (8, 0, 1)

    def test_forth(self) -> None:
        plan = self.plan(PartitionSeek(0, offset=15, previous=10), offsets=[progress("orders", 0, 10, 5)])
        assert (plan.again, plan.skipped) == (0, 5)

    def test_a_partition_that_was_never_read(self) -> None:
        plan = self.plan(PartitionSeek(3, offset=7, previous=0), offsets=[])
        assert (plan.again, plan.skipped, plan.leased) == (0, 7, 0)

    def test_one_that_cannot_be_moved(self) -> None:
        plan = self.plan(PartitionSeek(0, problem=PROBLEM), offsets=[])
        assert (plan.moves, [each.partition for each in plan.failed]) == ([], [0])


class TestLatencies:
    def test_percentiles_are_right_to_two_percent(self) -> None:
        latencies, source = Latencies(), random.Random(7)
        values = sorted(source.lognormvariate(1, 1) for _ in range(5000))
        for value in values:
            latencies.add(value)
        for percent in (1, 50, 95, 99, 99.9):
            exact = values[math.ceil(len(values) * percent / 100) - 1]
            assert latencies.percentile_ms(percent) == pytest.approx(exact, rel=0.021)
        assert latencies.percentile_ms(100) == values[-1] == latencies.greatest_ms
        assert latencies.least_ms == values[0]

    def test_extremes(self) -> None:
        latencies = Latencies()
        assert latencies.percentile_ms(99) == 0.0
        for value in (0.0, 1e12):
            latencies.add(value)
        assert latencies.percentile_ms(1) == pytest.approx(0.001)
        assert latencies.percentile_ms(100) <= 1e12


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("2.5", 2.5), ("3600", 3600), ("500ms", 0.5), ("15m", 900)])
def test_a_delay_is_seconds_or_a_duration(text: str, seconds: float) -> None:
    assert parse_delay_s(text) == seconds


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "1e3", "soon", "1 week", "1" * 400])
def test_what_is_no_delay_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_delay_s(text)


@pytest.mark.parametrize(
    ("policy", "kept_for", "kept_up_to"),
    [
        ("delete", "7 d", "1 GiB"),
        ("compact,delete", "7 d", "1 GiB"),
        ("compact", "unlimited: the last of each key", "unlimited"),
    ],
)
def test_retention_is_not_said_of_topics_that_it_does_not_concern(policy: str, kept_for: str, kept_up_to: str) -> None:
    config = TopicConfig("time", 7 * 86_400_000, 1 << 30, 1, 1, 1, 1, cleanup_policy=policy)
    assert (kept_for_text(config), kept_up_to_text(config)) == (kept_for, kept_up_to)
