"""Which messages that came back are looked up after a compaction, and what becomes of those that are gone."""

from storage.delivery.maybe_removed import MaybeRemoved, pass_over_removed
from storage.delivery.records import Cause, Returned, ReturnedItem, SkipCause
from tests.unit.storage.delivery.group import GroupBench

HOUR_MS = 3_600_000


def bench_with_returned(count: int) -> GroupBench:
    bench = GroupBench()
    bench.nack(*bench.receive(count), delay_ms=HOUR_MS)
    return bench


def test_what_came_back_within_what_was_compacted_is_looked_up_once() -> None:
    bench, unsure = bench_with_returned(5), MaybeRemoved()
    unsure.compacted([bench.group.state], 1, 4)
    assert unsure
    assert unsure.take(bench.group.state, limit=2) == [1, 2]
    assert unsure.take(bench.group.state, limit=2) == [3]
    assert not unsure


def test_what_comes_back_from_below_where_compaction_has_been_is_looked_up() -> None:
    bench, unsure = bench_with_returned(5), MaybeRemoved()
    items = [ReturnedItem(offset, 1, HOUR_MS, Cause.NACKED, 1) for offset in range(5)]
    record = Returned(bench.group.group_id, 0, 0, items)
    unsure.came_back(record)
    assert not unsure, "nothing was compacted"
    unsure.compacted([], 0, 3)
    unsure.came_back(record)
    assert unsure.take(bench.group.state, limit=10) == [0, 1, 2]


def test_what_somebody_has_is_his() -> None:
    bench, unsure = bench_with_returned(2), MaybeRemoved()
    bench.now_ms += HOUR_MS
    [lease] = bench.receive()
    unsure.compacted([bench.group.state], 0, 10)
    [other] = {0, 1} - {lease.offset}
    assert unsure.take(bench.group.state, limit=10) == [other]
    assert pass_over_removed(bench.group.state, [lease.offset]) is None


def test_a_group_that_is_gone_is_asked_nothing() -> None:
    bench, unsure = bench_with_returned(2), MaybeRemoved()
    unsure.compacted([bench.group.state], 0, 10)
    unsure.forget(bench.group.group_id)
    assert not unsure


def test_what_is_gone_is_done_when_that_is_durable() -> None:
    bench = bench_with_returned(3)
    record = pass_over_removed(bench.group.state, [0, 2])
    assert record is not None
    assert (record.runs, record.cause) == ([0, 1, 1, 1], SkipCause.REMOVED)
    assert bench.group.progress == 0
    assert pass_over_removed(bench.group.state, [0, 2]) is None, "it is being decided"
    bench.write(record)
    assert (bench.group.progress, bench.group.delayed_count) == (1, 1)
    bench.fail_over()
    assert (bench.group.progress, bench.group.delayed_count) == (1, 1)
    assert bench.group.totals == (0, 0, 0, 0, 0)


def test_what_could_not_be_recorded_waits_as_before() -> None:
    bench = bench_with_returned(2)
    record = pass_over_removed(bench.group.state, [0, 1])
    bench.abort(record)
    bench.group.check_invariants()
    assert (bench.group.progress, bench.group.delayed_count) == (0, 2)
    assert pass_over_removed(bench.group.state, [0, 1]) == record
