"""Groups whose messages go on coming back when their attempts are used up."""

import pytest

from acklog.wire.problems import ProblemCode
from cluster.model.values import Exhausted, GroupSettings
from storage.delivery.group_in_partition import GroupTerms
from storage.delivery.leases import Lease, counted_attempt
from tests.unit.storage.delivery.group import GroupBench

SETTINGS = GroupSettings(max_attempts=2, retry_backoff_min_ms=0, retry_backoff_max_ms=0, on_exhausted=Exhausted.RETRY)


def bench_of(settings: GroupSettings = SETTINGS) -> GroupBench:
    bench = GroupBench(settings=settings)
    bench.readable_end = 1
    return bench


def leases_of(bench: GroupBench, count: int) -> list[Lease]:
    found = []
    for _ in range(count):
        [lease] = bench.receive()
        bench.nack(lease)
        found.append(lease)
    return found


def attempts_of(leases: list[Lease]) -> list[int]:
    return [counted_attempt(lease.attempt) for lease in leases]


def test_it_comes_again_and_again_and_its_attempts_stay_at_the_maximum() -> None:
    bench = bench_of()
    leases = leases_of(bench, 6)
    assert attempts_of(leases) == [1, 2, 2, 2, 2, 2]
    assert len({lease.attempt for lease in leases}) == 6
    assert bench.due_letters(now_ms=bench.now_ms) == []
    assert (bench.state(0), bench.group.blocked_count) == ("waiting", 0)


def test_only_the_newest_receipt_settles_it() -> None:
    bench = bench_of()
    earlier = leases_of(bench, 5)
    [newest] = bench.receive()
    assert bench.ack(*earlier) == [ProblemCode.RECEIPT_STALE] * 5
    assert bench.extend(*earlier, visibility_ms=50) == [ProblemCode.RECEIPT_STALE] * 5
    assert bench.ack(newest) == [None]
    assert bench.state(0) == "done"


def test_a_receipt_is_good_until_the_next_one() -> None:
    bench = bench_of()
    last = leases_of(bench, 5)[-1]
    assert bench.ack(last) == [None]


def test_what_runs_out_comes_again_too() -> None:
    bench = bench_of()
    for _ in range(5):
        assert len(bench.receive(visibility_ms=10)) == 1
        bench.now_ms += 10
        bench.expire()
        assert bench.state(0) == "waiting"


def test_a_failure_waits_as_any_other() -> None:
    bench = bench_of()
    leases_of(bench, 4)
    [lease] = bench.receive()
    assert bench.nack(lease, delay_ms=500) == [None]
    assert (bench.state(0), bench.receive()) == ("delayed", [])
    bench.now_ms += 500
    assert len(bench.receive()) == 1


def test_the_next_leader_goes_on() -> None:
    bench = bench_of()
    before = leases_of(bench, 4)
    bench.fail_over()
    after = leases_of(bench, 2)
    assert attempts_of(after) == [2, 2]
    assert bench.ack(*before, after[0]) == [ProblemCode.RECEIPT_STALE] * 5
    assert bench.ack(after[1]) == [None]


def test_after_a_failover_a_receipt_of_the_last_attempt_is_good_until_there_is_a_newer_one() -> None:
    """What tells receipts of the last attempt apart goes with the leader (rules R22 and R26). So an earlier one of them
    may say that the work was done, which is as true; but nobody gets another lease by it, nor has one taken away."""
    bench = bench_of()
    earlier = leases_of(bench, 4)
    [newest] = bench.receive()
    bench.fail_over()
    assert bench.ack(earlier[0]) == [ProblemCode.RECEIPT_STALE], "it was not the last attempt"
    assert bench.extend(*earlier[1:], newest, visibility_ms=50) == [ProblemCode.RECEIPT_STALE] * 4
    [now] = bench.receive()
    assert bench.ack(*earlier, newest) == [ProblemCode.RECEIPT_STALE] * 5
    assert bench.nack(*earlier, newest) == [ProblemCode.RECEIPT_STALE] * 5
    assert bench.extend(*earlier, newest, visibility_ms=50) == [ProblemCode.RECEIPT_STALE] * 5
    assert bench.state(0) == "leased"
    bench.nack(now)
    assert bench.ack(*earlier, newest) == [ProblemCode.RECEIPT_STALE] * 5
    bench.fail_over()
    assert bench.ack(newest) == [ProblemCode.RECEIPT_STALE]
    assert bench.ack(now) == [None]


def test_after_a_failover_an_earlier_receipt_of_the_last_attempt_may_say_that_it_is_done() -> None:
    bench = bench_of()
    earlier = leases_of(bench, 4)
    [newest] = bench.receive()
    bench.fail_over()
    assert bench.ack(earlier[-1]) == [None]
    assert bench.state(0) == "done"
    assert bench.ack(newest) == [None]


@pytest.mark.parametrize("maxima", [(5, 2, 5), (5, 1, 3), (2, 5, 2)])
def test_no_receipt_comes_twice_when_the_maximum_changes(maxima: tuple[int, ...]) -> None:
    bench = bench_of()
    leases: list[Lease] = []
    for most in maxima:
        settings = GroupSettings(
            max_attempts=most, retry_backoff_min_ms=0, retry_backoff_max_ms=0, on_exhausted=Exhausted.RETRY
        )
        bench.group.follow(GroupTerms(settings=settings))
        found = leases_of(bench, 6)
        assert max(attempts_of(found)) == most
        leases += found
    ordered = [lease.attempt for lease in leases]
    assert ordered == sorted(set(ordered))


def test_the_group_may_have_dead_letters_later() -> None:
    bench = bench_of()
    leases_of(bench, 5)
    bench.group.follow(GroupTerms(settings=GroupSettings(max_attempts=2)))
    [lease] = bench.receive()
    bench.nack(lease)
    assert [letter[:2] for letter in bench.due_letters(now_ms=bench.now_ms)] == [(0, 3)]
