"""What a selection that looks may do: pass over for good, postpone and find again, at any depth and within bounds."""

from collections.abc import Callable

import pytest

from storage.delivery.candidates import CandidateKind as Kind
from storage.delivery.candidates import CandidateRun as Run
from storage.delivery.candidates import WantedRange
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.leases import Lease
from storage.delivery.records import Sought
from storage.delivery.selection import SharedSelection
from tests.unit.storage.delivery.seeing_group import Seeing, SeeingBench, messages
from tests.unit.storage.delivery.toy_choosers import EveryMessage, WithTag, in_key_order

A, B = 1, 2
RED, BLUE = 1, 2


def reds_and_blues(*, reds: tuple[int, ...], count: int) -> list[Run]:
    return messages(*[(A, RED if offset in reds else BLUE) for offset in range(count)])


def only_red() -> WithTag:
    return WithTag(RED)


class TestPassedOver:
    def test_what_does_not_match_is_done_without_a_delivery(self) -> None:
        bench = SeeingBench(reds_and_blues(reds=(1, 3), count=5), only_red)
        assert bench.receive_offsets(10) == [1, 3]
        assert [bench.state(offset) for offset in range(5)] == ["done", "leased", "done", "leased", "done"]
        assert (bench.group.progress, bench.group.done_above_count) == (1, 2)

    def test_it_counts_as_neither_lost_nor_dead(self) -> None:
        bench = SeeingBench(reds_and_blues(reds=(), count=5), only_red)
        assert bench.receive() == []
        group = bench.group
        assert (group.progress, group.totals.lost, group.totals.dead_lettered) == (5, 0, 0)

    def test_a_receive_that_only_passed_over_says_so(self) -> None:
        bench = SeeingBench(reds_and_blues(reds=(250,), count=300), only_red)
        bench.feed(WantedRange(0, 300))
        received = bench.ask()
        assert received.leases == []
        assert received.skipped is not None
        assert received.skipped.runs == [0, 100]
        assert received.wanted == WantedRange(100, 300)

    def test_it_goes_on_within_as_many_steps_as_there_are_batches(self) -> None:
        bench = SeeingBench(reds_and_blues(reds=(), count=1000), only_red, batch=100)
        assert bench.receive() == []
        assert (bench.feeds, len(bench.skips())) == (10, 10)

    def test_progress_waits_for_the_record(self) -> None:
        """R41: nothing counts as passed over before that is durable."""
        bench = SeeingBench(reds_and_blues(reds=(), count=5), only_red)
        bench.feed(WantedRange(0, 5))
        received = bench.ask()
        assert bench.group.progress == 0
        assert bench.ask().skipped is None
        bench.write(received.skipped)
        assert bench.group.progress == 5

    @pytest.mark.parametrize("is_from_snapshot", [False, True])
    def test_progress_that_moved_by_nothing_else_survives_a_failover(self, is_from_snapshot: bool) -> None:
        """R23 and R41: what was passed over is not looked at again."""
        bench = SeeingBench(reds_and_blues(reds=(3,), count=6), only_red)
        assert bench.receive_offsets() == [3]
        assert bench.receive() == []
        before = bench.partition.snapshot()
        if is_from_snapshot:
            bench.fail_over(before, replayed_from=len(bench.records))
        else:
            bench.fail_over()
        assert bench.partition.snapshot() == before
        assert (bench.group.progress, bench.group.done_above_count) == (3, 2)
        assert bench.receive_offsets(10) == [3]

    def test_a_record_that_could_not_be_written_is_decided_again(self) -> None:
        bench = SeeingBench(reds_and_blues(reds=(1,), count=4), only_red)
        bench.feed(WantedRange(0, 4))
        received = bench.ask(10)
        assert [lease.offset for lease in received.leases] == [1]
        bench.group.abort(received.skipped, now_ms=bench.now_ms)
        bench.partition.check_invariants()
        assert bench.receive(10) == []
        assert (bench.group.progress, bench.group.done_above_count, bench.group.in_flight_count) == (1, 2, 1)

    def test_a_record_that_a_seek_overtook_is_void(self) -> None:
        bench = SeeingBench(reds_and_blues(reds=(), count=4), only_red)
        bench.feed(WantedRange(0, 4))
        skipped = bench.ask().skipped
        bench.write(Sought(bench.group.group_id, 1, 2))
        bench.write(skipped)
        assert bench.group.progress == 2

    def test_replayed_twice_it_changes_nothing(self) -> None:
        bench = SeeingBench(reds_and_blues(reds=(1,), count=4), only_red)
        bench.receive()
        before = bench.partition.snapshot()
        for skipped in bench.skips():
            bench.write(skipped)
        assert bench.partition.snapshot() == before

    def test_what_is_being_passed_over_was_never_delivered(self) -> None:
        bench = SeeingBench(reds_and_blues(reds=(2,), count=4), only_red)
        bench.feed(WantedRange(0, 4))
        received = bench.ask(10)
        assert bench.ack(Lease(1, 0, 0, 0)) == ["NOT_DELIVERED"]
        (lease,) = received.leases
        assert bench.ack(lease) == [""]
        bench.fail_over()
        assert bench.ack(Lease(1, 0, 0, 0)) == ["NOT_DELIVERED"]

    def test_at_the_limit_nothing_more_is_looked_at_before_that_is_recorded(self) -> None:
        log = reds_and_blues(reds=tuple(range(0, 40, 2)), count=40)
        bench = SeeingBench(log, only_red, bounds=DeliverySettings(candidate_runs_max=4), batch=1)
        skips, leases = [], []
        for _ in range(100):
            received = bench.ask(100)
            leases += received.leases
            if received.skipped is not None:
                skips.append(received.skipped)
            if received.wanted is None:
                break
            bench.feed(received.wanted)
        assert [lease.offset for lease in leases] == [0, 2, 4, 6]
        for skipped in skips:
            bench.write(skipped)
        assert bench.receive_offsets() == [8]


class TestPostponed:
    """Order by key has tests of its own (`test_key_order`)."""

    def test_what_is_postponed_was_never_delivered(self) -> None:
        bench = SeeingBench(messages((A, 0), (A, 0), (B, 0)), in_key_order)
        bench.receive(1)
        bench.ack(*bench.receive(10))
        assert bench.ack(Lease(1, 0, 0, 0)) == ["NOT_DELIVERED"]
        bench.fail_over()
        assert bench.ack(Lease(1, 0, 0, 0)) == ["NOT_DELIVERED"]
        assert bench.state(1) == "waiting"

    def test_nothing_fresh_is_looked_at_behind_too_many_holes(self) -> None:
        keys = [(A, 0), (A, 0), (B, 0), (A, 0), (B, 0), (A, 0), (B, 0)]
        bench = SeeingBench(messages(*keys), in_key_order, bounds=DeliverySettings(done_holes_max=2))
        (stuck,) = bench.receive()
        for offset in (2, 4):
            (lease,) = bench.receive()
            assert lease.offset == offset
            bench.ack(lease)
        assert bench.receive() == []
        bench.ack(stuck)
        reason = bench.group.empty_reason(readable_end=bench.readable_end, now_ms=bench.now_ms)
        assert reason == "IN_FLIGHT_LIMIT_OF_RETURNED"
        bench.ack(*bench.receive(10))
        assert bench.receive_offsets(10) == [5, 6]


class TestSetOtherwise:
    """A group's settings may change what it selects by. What is decided already stays as it is."""

    def test_what_was_postponed_is_seen_again(self) -> None:
        bench = SeeingBench(messages((A, RED), (A, RED), (B, RED)), in_key_order)
        [first] = bench.receive()
        assert bench.receive_offsets(10) == [2]
        bench.set_otherwise(Seeing(EveryMessage))
        assert bench.receive_offsets(10) == [1]
        assert bench.ack(first) == [""]

    def test_a_group_that_did_not_look_begins_to(self) -> None:
        bench = SeeingBench(reds_and_blues(reds=(0, 3), count=5), only_red)
        bench.set_otherwise(SharedSelection)
        assert bench.receive_offsets(2) == [0, 1]
        bench.set_otherwise(Seeing(only_red))
        assert bench.receive_offsets(10) == [3]
        assert [bench.state(offset) for offset in range(5)] == ["leased", "leased", "done", "leased", "done"]

    def test_a_group_that_looked_need_not_any_more(self) -> None:
        bench = SeeingBench(messages((A, RED), (A, RED), (B, RED), (A, RED)), in_key_order)
        assert bench.receive_offsets() == [0]
        assert bench.receive_offsets(10) == [2]
        bench.set_otherwise(SharedSelection)
        assert bench.receive_offsets(10) == [1, 3]

    def test_what_came_back_and_was_postponed_is_not_lost(self) -> None:
        bench = SeeingBench(messages((A, RED), (A, RED)), in_key_order)
        first, second = bench.receive(10)
        bench.nack(first, delay_ms=500)
        assert bench.nack(second) is None
        bench.set_otherwise(SharedSelection)
        assert bench.receive_offsets(10) == [1]

    def test_what_is_being_passed_over_is_not_given_out_meanwhile(self) -> None:
        bench = SeeingBench(reds_and_blues(reds=(), count=5), only_red)
        bench.feed(WantedRange(0, 5))
        skipped = bench.ask().skipped
        bench.set_otherwise(SharedSelection)
        assert bench.receive() == []
        assert skipped is not None
        bench.group.abort(skipped, now_ms=bench.now_ms)
        assert bench.receive_offsets(10) == [0, 1, 2, 3, 4]

    def test_what_came_back_is_seen_by_the_new_one(self) -> None:
        bench = SeeingBench(reds_and_blues(reds=(1,), count=3), EveryMessage)
        bench.nack(*bench.receive(10))
        bench.set_otherwise(Seeing(only_red))
        assert bench.receive_offsets(10) == [1]
        assert [bench.state(offset) for offset in range(3)] == ["done", "leased", "done"]

    def test_other_settings_alone_change_nothing(self) -> None:
        """A look that is under way need not begin again."""
        bench = SeeingBench(messages((A, RED), (A, RED), (B, RED)), in_key_order)
        bench.receive(10)
        feeds = bench.feeds
        bench.set_otherwise(Seeing(in_key_order))
        assert bench.receive() == []
        assert bench.feeds == feeds


@pytest.mark.parametrize("new_chooser", [EveryMessage, in_key_order])
class TestKinds:
    """Whatever the chooser wants."""

    def test_gaps_and_marks_are_passed_over_at_no_cost_per_offset(
        self, new_chooser: Callable[[], EveryMessage]
    ) -> None:
        billion = 1_000_000_000
        log = [
            Run(0, 1),
            Run(1, 2, Kind.CONTROL),
            Run(2, billion, Kind.GAP),
            Run(billion, billion + 1),
        ]
        bench = SeeingBench(log, new_chooser, batch=2 * billion)
        leases = bench.receive(10)
        assert [lease.offset for lease in leases] == [0, billion]
        bench.ack(*leases)
        assert bench.group.progress == billion + 1
        bench.fail_over()
        assert bench.group.progress == billion + 1

    def test_what_cannot_be_read_is_leased(self, new_chooser: Callable[[], EveryMessage]) -> None:
        """R40: so it is tried again and reported, and harms itself only."""
        bench = SeeingBench([Run(0, 2, Kind.UNREADABLE), Run(2, 3)], new_chooser)
        assert bench.receive_offsets(10) == [0, 1, 2]
        bench.now_ms += 100
        bench.expire()
        assert bench.receive_offsets(10) == [0, 1, 2]
