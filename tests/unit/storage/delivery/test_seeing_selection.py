"""What a selection that looks may do: pass over for good, postpone and find again, at any depth and within bounds."""

from collections.abc import Callable

import pytest

from cluster.model.values import GroupSettings
from storage.delivery.candidates import CandidateKind as Kind
from storage.delivery.candidates import CandidateRun as Run
from storage.delivery.candidates import WantedRange
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.leases import Lease
from storage.delivery.records import Sought
from storage.delivery.selection import SharedSelection
from tests.unit.storage.delivery.seeing_group import Seeing, SeeingBench, messages
from tests.unit.storage.delivery.toy_choosers import EveryMessage, InKeyOrder, WithTag

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
        assert (group.progress, group.lost_count, group.dead_lettered_count) == (5, 0, 0)

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
    def test_one_message_of_a_key_is_out_at_a_time(self) -> None:
        bench = SeeingBench(messages((A, 0), (A, 0), (B, 0), (A, 0), (B, 0)), InKeyOrder)
        first, second = bench.receive(10)
        assert (first.offset, second.offset) == (0, 2)
        assert bench.receive(10) == []
        bench.ack(first)
        assert bench.receive_offsets(10) == [1]
        bench.ack(second)
        assert bench.receive_offsets(10) == [4]

    def test_a_stuck_key_hides_no_other_however_deep(self) -> None:
        stuck = [Run(0, 5_000, key_hash=A)]
        bench = SeeingBench(stuck + messages((B, 0), (B, 0), start=5_000), InKeyOrder)
        (held,) = bench.receive()
        for offset in (5_000, 5_001):
            (lease,) = bench.receive(10)
            assert lease.offset == offset
            bench.ack(lease)
        assert bench.group.done_above_count == 2
        bench.ack(held)
        assert bench.receive_offsets(10) == [1]

    def test_the_next_of_a_key_is_found_with_little_memory(self) -> None:
        deep = [Run(offset, offset + 1, key_hash=10 + offset) for offset in range(1, 999)]
        log = [Run(0, 1, key_hash=A), *deep, Run(999, 1000, key_hash=A)]
        bench = SeeingBench(log, InKeyOrder, bounds=DeliverySettings(candidate_runs_max=7), batch=50)
        (held,) = bench.receive()
        while others := bench.receive(100):
            bench.ack(*others)
        bench.ack(held)
        assert bench.receive_offsets() == [999]

    def test_what_was_given_back_holds_its_key_also_over_a_failover(self) -> None:
        bench = SeeingBench(messages((A, 0), (B, 0), (A, 0), (B, 0)), InKeyOrder)
        first, second = bench.receive(10)
        bench.nack(first, delay_ms=500)
        bench.ack(second)
        bench.fail_over()
        assert bench.receive_offsets(10) == [3]
        assert bench.receive(10) == []
        bench.now_ms += 500
        (again,) = bench.receive(10)
        assert (again.offset, again.attempt) == (0, 2)
        bench.ack(again)
        assert bench.receive_offsets(10) == [2]

    def test_leases_that_a_failover_forgot_come_again_in_order(self) -> None:
        bench = SeeingBench(messages((A, 0), (A, 0), (A, 0)), InKeyOrder)
        (first,) = bench.receive(10)
        bench.ack(first)
        bench.receive(10)
        bench.fail_over()
        (second,) = bench.receive(10)
        assert second.offset == 1
        bench.ack(second)
        assert bench.receive_offsets(10) == [2]

    def test_an_expired_or_released_lease_comes_again_before_the_rest_of_its_key(self) -> None:
        bench = SeeingBench(messages((A, 0), (A, 0)), InKeyOrder)
        bench.receive()
        bench.now_ms += 100
        bench.expire()
        (again,) = bench.receive(10)
        assert (again.offset, again.attempt) == (0, 2)
        bench.group.release([again])
        (released,) = bench.receive(10)
        assert (released.offset, released.attempt) == (0, 2)

    def test_a_dead_letter_frees_its_key(self) -> None:
        bench = SeeingBench(messages((A, 0), (A, 0)), InKeyOrder, settings=GroupSettings(max_attempts=1))
        bench.nack(*bench.receive())
        assert bench.receive(10) == []
        (letter,) = bench.group.dead_letters(limit=10, now_ms=bench.now_ms)
        bench.write(bench.group.dead_lettered([letter.offset]))
        assert bench.receive_offsets(10) == [1]

    def test_retention_and_seeks_free_keys(self) -> None:
        bench = SeeingBench(messages((A, 0), (A, 0), (A, 0)), InKeyOrder)
        bench.receive()
        bench.receive()
        bench.write(bench.group.advance_log_start(1))
        assert bench.receive_offsets(10) == [1]
        bench.write(bench.group.seek(0))
        assert bench.receive_offsets(10) == [0]

    def test_at_the_limit_no_more_are_postponed_and_it_says_why(self) -> None:
        keys = [(A, 0), (A, 0), (B, 0), (A, 0), (7, 0), (A, 0), (8, 0), (A, 0)]
        bench = SeeingBench(messages(*keys), InKeyOrder, bounds=DeliverySettings(postponed_ranges_max=2))
        leases = bench.receive(10)
        assert [lease.offset for lease in leases] == [0, 2]
        reason = bench.group.empty_reason(readable_end=bench.readable_end, now_ms=bench.now_ms)
        assert reason == "IN_FLIGHT_LIMIT_OF_RETURNED"
        bench.ack(leases[0])
        assert bench.receive_offsets(10) == [1, 4]

    def test_what_is_postponed_was_never_delivered(self) -> None:
        bench = SeeingBench(messages((A, 0), (A, 0), (B, 0)), InKeyOrder)
        bench.ack(bench.receive(10)[1])
        assert bench.ack(Lease(1, 0, 0, 0)) == ["NOT_DELIVERED"]
        bench.fail_over()
        assert bench.ack(Lease(1, 0, 0, 0)) == ["NOT_DELIVERED"]
        assert bench.state(1) == "waiting"


class TestSetOtherwise:
    """A group's settings may change what it selects by. What is decided already stays as it is."""

    def test_what_was_postponed_is_seen_again(self) -> None:
        bench = SeeingBench(messages((A, RED), (A, RED), (B, RED)), InKeyOrder)
        [first, _] = bench.receive(10)
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
        bench = SeeingBench(messages((A, RED), (A, RED), (B, RED), (A, RED)), InKeyOrder)
        assert bench.receive_offsets(10) == [0, 2]
        bench.set_otherwise(SharedSelection)
        assert bench.receive_offsets(10) == [1, 3]

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
        bench = SeeingBench(messages((A, RED), (A, RED), (B, RED)), InKeyOrder)
        bench.receive(10)
        feeds = bench.feeds
        bench.set_otherwise(Seeing(InKeyOrder))
        assert bench.receive() == []
        assert bench.feeds == feeds


@pytest.mark.parametrize("new_chooser", [EveryMessage, InKeyOrder])
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
