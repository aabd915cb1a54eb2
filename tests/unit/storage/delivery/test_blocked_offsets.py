"""Messages whose attempts are used up in groups that block: what they hold up, and what a person decides."""

from functools import partial

import pytest

from acklog.wire.problems import ProblemCode
from cluster.model.values import Exhausted, Group, GroupMode, GroupSettings
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.handover import OwnershipClaim
from storage.delivery.key_order import KeyOrder
from storage.delivery.leases import Lease, counted_attempt
from storage.delivery.records import BLOCKED, DEAD_LETTER, Returned
from tests.unit.storage.delivery.seeing_group import SeeingBench, messages
from tests.unit.storage.delivery.test_exclusive_delivery import GROUP, ExclusiveBench, told

A, B = 1, 2
ATTEMPTS = 2


def bench_of(*keys: int, returned_max: int = 100) -> SeeingBench:
    settings = GroupSettings(max_attempts=ATTEMPTS, retry_backoff_min_ms=1000, on_exhausted=Exhausted.BLOCK)
    return SeeingBench(
        messages(*[(key, 0) for key in keys]),
        partial(KeyOrder, ranges_max=100, ranges_of_key_max=3),
        settings=settings,
        bounds=DeliverySettings(returned_max=returned_max),
    )


def blocked(bench: SeeingBench) -> list[tuple[int, int, int]]:
    return [tuple(each) for each in bench.group.blocked(at_or_above=0, limit=10)]


def block(bench: SeeingBench, offset: int) -> list[Lease]:
    """All leases of the message until it is blocked."""
    leases = []
    for _ in range(ATTEMPTS):
        [lease] = bench.receive()
        assert lease.offset == offset
        bench.nack(lease)
        leases.append(lease)
    assert bench.state(offset) == "blocked"
    return leases


def reason(bench: SeeingBench) -> str:
    return bench.group.empty_reason(readable_end=bench.readable_end, now_ms=bench.now_ms)


def release(bench: SeeingBench, offset: int) -> ProblemCode | None:
    decision = bench.group.release_blocked(offset, wall_now_ms=bench.now_ms)
    bench.write(decision.record)
    return decision.problem


def skip(bench: SeeingBench, offset: int) -> ProblemCode | None:
    decision = bench.group.skip_blocked(offset)
    bench.write(decision.record)
    return decision.problem


def test_nothing_of_its_key_is_given_and_other_keys_go_on() -> None:
    bench = bench_of(A, A, B, A, B)
    block(bench, 0)
    assert bench.group.dead_letters(limit=10, now_ms=bench.now_ms) == []
    bench.ack(*bench.receive(10))
    assert bench.receive(10) == []
    bench.now_ms += 1_000_000
    bench.expire()
    assert bench.receive(10) == []
    assert (reason(bench), bench.group.progress, bench.group.next_deadline()) == ("BLOCKED", 0, None)
    assert blocked(bench) == [(0, ATTEMPTS, 1000)]
    assert bench.group.blocked_count == 1


def test_an_expiry_is_an_attempt_too() -> None:
    bench = bench_of(A, A)
    for _ in range(ATTEMPTS):
        bench.receive()
        bench.now_ms += 100
        bench.expire()
    assert blocked(bench) == [(0, ATTEMPTS, 1200)]


def test_released_it_goes_out_at_once_and_has_all_its_attempts_again() -> None:
    bench = bench_of(A, A)
    first, _ = block(bench, 0)
    assert release(bench, 0) is None
    assert blocked(bench) == []
    third, fourth = block(bench, 0)
    assert [counted_attempt(each.attempt) for each in (third, fourth)] == [1, 2]
    assert bench.ack(first) == ["RECEIPT_STALE"], "no receipt of before is one of now"


def test_attempts_begin_anew_for_the_next_leader_too() -> None:
    bench = bench_of(A)
    block(bench, 0)
    release(bench, 0)
    bench.fail_over(bench.partition.snapshot(), replayed_from=len(bench.records))
    block(bench, 0)


def test_skipped_it_is_done_and_what_is_behind_it_goes_on() -> None:
    bench = bench_of(A, A, B)
    block(bench, 0)
    assert skip(bench, 0) is None
    assert (bench.state(0), bench.group.progress) == ("done", 1)
    assert bench.receive_offsets(10) == [1, 2]


@pytest.mark.parametrize("is_of_snapshot", [True, False])
def test_it_is_blocked_for_the_next_leader(is_of_snapshot: bool) -> None:
    bench = bench_of(A, A, B)
    block(bench, 0)
    committed = bench.partition.snapshot()
    if is_of_snapshot:
        bench.fail_over(committed, replayed_from=len(bench.records))
    else:
        bench.fail_over()
    assert bench.partition.snapshot() == committed
    assert bench.receive_offsets(10) == [2]
    assert blocked(bench) == [(0, ATTEMPTS, 1000)]
    assert release(bench, 0) is None
    assert bench.receive_offsets() == [0]


def test_only_what_is_blocked_is_decided_about_and_only_once() -> None:
    bench = bench_of(A, A)
    assert (release(bench, 0), skip(bench, 7)) == (ProblemCode.NOT_BLOCKED, ProblemCode.NOT_BLOCKED)
    block(bench, 0)
    written = bench.group.skip_blocked(0)
    assert release(bench, 0) is ProblemCode.CONFLICT
    assert skip(bench, 0) is ProblemCode.CONFLICT
    bench.write(written.record)
    assert skip(bench, 0) is ProblemCode.NOT_BLOCKED


def test_a_decision_that_could_not_be_written_changes_nothing() -> None:
    bench = bench_of(A, A)
    block(bench, 0)
    for decide in (partial(bench.group.release_blocked, 0, wall_now_ms=1), partial(bench.group.skip_blocked, 0)):
        decided = decide()
        assert decided.record is not None
        bench.group.abort(decided.record, now_ms=bench.now_ms)
        bench.partition.check_invariants()
        assert bench.receive(10) == []
        assert bench.state(0) == "blocked"
    assert skip(bench, 0) is None
    assert bench.receive_offsets() == [1]


def test_what_its_last_receipt_may_do() -> None:
    bench = bench_of(A, A)
    first, last = block(bench, 0)
    bench.nack(last)
    assert bench.state(0) == "blocked"
    kept = bench.group.extend([last], visibility_ms=1, readable_end=2, now_ms=bench.now_ms, wall_now_ms=bench.now_ms)
    assert kept.results == [ProblemCode.RECEIPT_STALE]
    assert bench.ack(first) == ["RECEIPT_STALE"]
    assert bench.ack(last) == [""]
    assert (blocked(bench), bench.receive_offsets()) == ([], [1])


def test_a_seek_and_retention_forget_it() -> None:
    bench = bench_of(A, A, A)
    block(bench, 0)
    bench.write(bench.group.seek(0))
    assert blocked(bench) == []
    block(bench, 0)
    bench.write(bench.group.advance_log_start(1, deleted_below=0))
    assert (blocked(bench), bench.receive_offsets()) == ([], [1])


def test_blocked_messages_are_bounded_with_all_that_were_given_back() -> None:
    bench = bench_of(*range(10), returned_max=3)
    for offset in range(3):
        block(bench, offset)
    assert bench.receive(10) == []
    assert reason(bench) == "IN_FLIGHT_LIMIT_OF_RETURNED"
    assert [offset for offset, *_ in blocked(bench)] == [0, 1, 2]
    assert [each.offset for each in bench.group.blocked(at_or_above=1, limit=1)] == [1]
    skip(bench, 1)
    assert bench.receive_offsets() == [3]


def test_a_group_that_does_not_block_any_more_leaves_what_is_blocked() -> None:
    bench = ExclusiveBlocking()
    bench.block(0)
    bench.settings = GroupSettings(max_attempts=ATTEMPTS)
    assert bench.group.dead_letters(limit=10, now_ms=bench.now_ms) == []
    assert bench.receive() == []
    bench.write(bench.group.skip_blocked(0).record)
    assert told(bench.receive(1)) == [(1, 1)]


class ExclusiveBlocking(ExclusiveBench):
    def __init__(self) -> None:
        self.settings = GroupSettings(max_attempts=ATTEMPTS, on_exhausted=Exhausted.BLOCK)
        super().__init__()
        self.claim("ada", 1)

    @property
    def group(self):
        group = self.partition.as_it_is_set(Group(GROUP.id, "orders", 0, GroupMode.EXCLUSIVE, self.settings))
        assert group is not None
        return group

    def block(self, offset: int) -> None:
        for _ in range(ATTEMPTS):
            first, *_ = self.receive(3)
            assert first.offset == offset
            self.nack(first)


class TestExclusive:
    def test_the_partition_stops_there(self) -> None:
        bench = ExclusiveBlocking()
        bench.block(0)
        assert bench.receive() == []
        assert bench.group.empty_reason(readable_end=6, now_ms=bench.now_ms) == "BLOCKED"
        assert bench.group.blocked_count == 1

    def test_released_it_begins_anew(self) -> None:
        bench = ExclusiveBlocking()
        bench.block(0)
        bench.write(bench.group.release_blocked(0, wall_now_ms=bench.now_ms).record)
        assert told(bench.receive(3)) == [(0, 1), (1, 1), (2, 1)]

    def test_nothing_goes_out_while_a_release_is_written(self) -> None:
        bench = ExclusiveBlocking()
        bench.block(0)
        decided = bench.group.release_blocked(0, wall_now_ms=bench.now_ms)
        assert bench.receive() == []
        bench.write(decided.record)
        assert told(bench.receive(1)) == [(0, 1)]

    def test_skipped_it_goes_on_behind_it_also_where_something_before_it_is_out(self) -> None:
        bench = ExclusiveBlocking()
        run = bench.receive(3)
        bench.ack(run[0])
        bench.nack(run[2])
        bench.nack(*bench.receive(1))
        assert [each.offset for each in bench.group.blocked(at_or_above=0, limit=9)] == [2]
        assert bench.receive(1) == []
        bench.write(bench.group.skip_blocked(2).record)
        assert told(bench.receive(1)) == [(3, 1)]
        assert bench.group.progress == 1

    def test_it_stays_blocked_for_the_next_owner_and_nobody_decides_in_between(self) -> None:
        bench = ExclusiveBlocking()
        bench.block(0)
        claim = bench.group.claim(OwnershipClaim("bob", 2, False), now_ms=bench.now_ms, wall_now_ms=bench.now_ms)
        for decided in (bench.group.release_blocked(0, wall_now_ms=1), bench.group.skip_blocked(0)):
            assert decided == (ProblemCode.CONFLICT, None)
        bench.write(*claim.records)
        assert bench.receive() == []
        bench.write(bench.group.release_blocked(0, wall_now_ms=bench.now_ms).record)
        assert told(bench.receive(1)) == [(0, 1)]

    def test_a_release_that_could_not_be_written_leaves_it_blocked(self) -> None:
        bench = ExclusiveBlocking()
        bench.block(0)
        decided = bench.group.release_blocked(0, wall_now_ms=bench.now_ms)
        bench.group.abort(decided.record, now_ms=bench.now_ms)
        bench.partition.check_invariants()
        assert bench.receive() == []
        bench.write(bench.group.skip_blocked(0).record)
        assert told(bench.receive(1)) == [(1, 1)]


def test_records_of_earlier_versions_have_no_such_delay() -> None:
    """They are 0 or above, or DEAD_LETTER."""
    assert BLOCKED < DEAD_LETTER < 0
    bench = bench_of(A)
    [lease] = bench.receive()
    decided = bench.group.nack([lease], delay_ms=0, jitter=0, readable_end=1, wall_now_ms=0).record
    assert isinstance(decided, Returned)
    assert [item.delay_ms for item in decided.items] == [0]
