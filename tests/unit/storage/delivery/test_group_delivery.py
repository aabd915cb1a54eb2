"""The delivery rules one by one; tests/property/test_delivery.py has their interleavings."""

import random

import pytest

from acklog.wire.problems import ProblemCode
from cluster.model.values import GroupSettings
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.leases import Lease
from storage.delivery.message_view import MessageStatus
from tests.unit.storage.delivery.group import GroupBench


def offsets_of(leases: list[Lease]) -> list[int]:
    return [lease.offset for lease in leases]


class TestReceive:
    def test_fresh_messages_come_in_order_below_the_readable_end(self) -> None:
        bench = GroupBench()
        bench.readable_end = 3
        assert bench.receive(10) == [Lease(offset, 1, 0, 1) for offset in range(3)]
        assert bench.receive(10) == []

    def test_what_came_back_comes_before_fresh_messages_the_longest_due_first(self) -> None:
        bench = GroupBench()
        first, second, third = bench.receive(3)
        bench.nack(third, delay_ms=10)
        bench.nack(first, delay_ms=20)
        bench.now_ms += 30
        assert bench.receive(3) == [Lease(2, 2, 0, 1), Lease(0, 2, 0, 1), Lease(3, 1, 0, 1)]
        assert bench.ack(second) == [None]

    def test_never_more_are_leased_than_the_limit(self) -> None:
        """R30: what holds receives back is counted from what is leased, and gone when that is."""
        bench = GroupBench(settings=GroupSettings(max_in_flight=5))
        leases = bench.receive(10)
        assert len(leases) == 5
        assert bench.receive(1) == []
        assert bench.reason() == "IN_FLIGHT_LIMIT"
        bench.ack(leases[0])
        assert offsets_of(bench.receive(10)) == [5]

    def test_given_back_messages_do_not_count_as_leased_but_are_bounded_too(self) -> None:
        bench = GroupBench(settings=GroupSettings(max_in_flight=2), delivery_settings=DeliverySettings(returned_max=4))
        for _ in range(2):
            bench.nack(*bench.receive(2), delay_ms=10_000)
        assert bench.receive(2) == []
        assert bench.reason() == "IN_FLIGHT_LIMIT_OF_RETURNED"
        bench.now_ms += 10_000
        assert offsets_of(bench.receive(2)) == [0, 1]

    def test_an_empty_answer_says_why(self) -> None:
        bench = GroupBench()
        bench.readable_end = 0
        assert bench.reason() == "EMPTY"
        bench.readable_end = 1
        (lease,) = bench.receive()
        assert bench.reason() == "ALL_LEASED"
        bench.nack(lease, delay_ms=50)
        assert bench.reason() == "DELAYED"
        bench.now_ms += 50
        bench.ack(*bench.receive())
        assert bench.reason() == "EMPTY"


class TestRelease:
    def test_released_leases_return_to_the_head_and_the_attempt_does_not_count(self) -> None:
        bench = GroupBench()
        leases = bench.receive(3)
        bench.group.release(leases)
        assert bench.receive(4) == [*leases, Lease(3, 1, 0, 1)]
        assert bench.log == []

    def test_releasing_a_newer_lease_with_an_older_receipt_does_nothing(self) -> None:
        bench = GroupBench()
        (old,) = bench.receive()
        bench.nack(old)
        bench.receive()
        bench.group.release([old])
        assert bench.group.in_flight_count == 1


class TestAck:
    def test_is_true_only_when_it_is_applied(self) -> None:
        bench = GroupBench()
        settlement = bench.decide_ack(bench.receive())
        assert bench.group.progress == 0
        bench.write(settlement.record)
        assert bench.group.progress == 1

    def test_progress_is_the_first_offset_not_done(self) -> None:
        bench = GroupBench()
        leases = bench.receive(4)
        bench.ack(leases[1], leases[3])
        assert (bench.group.progress, bench.group.done_above_count) == (0, 2)
        bench.ack(leases[0])
        assert (bench.group.progress, bench.group.done_above_count) == (2, 1)
        bench.ack(leases[2])
        assert (bench.group.progress, bench.group.done_above_count) == (4, 0)

    def test_of_a_done_message_succeeds_without_a_record(self) -> None:
        bench = GroupBench()
        (lease,) = bench.receive()
        bench.ack(lease)
        settlement = bench.decide_ack([lease])
        assert (settlement.results, settlement.record) == ([None], None)

    def test_after_the_deadline_succeeds_while_nobody_else_has_the_message(self) -> None:
        bench = GroupBench()
        (lease,) = bench.receive(visibility_ms=10)
        bench.now_ms += 11
        bench.expire()
        assert bench.ack(lease) == [None]
        assert offsets_of(bench.receive()) == [1]

    def test_with_an_older_receipt_than_the_newest_lease_is_stale(self) -> None:
        bench = GroupBench()
        (old,) = bench.receive(visibility_ms=10)
        bench.now_ms += 11
        bench.expire()
        (new,) = bench.receive(visibility_ms=10)
        assert bench.ack(old) == [ProblemCode.RECEIPT_STALE]
        assert bench.ack(new) == [None]
        assert bench.ack(old) == [None], "already done is a success"

    def test_after_a_failover_succeeds_until_somebody_gets_the_message_again(self) -> None:
        bench = GroupBench()
        first, second = bench.receive(2)
        bench.fail_over()
        assert bench.ack(second) == [None]
        assert bench.receive() == [Lease(0, 1, 0, 2)]
        assert bench.ack(first) == [ProblemCode.RECEIPT_STALE]

    def test_a_receipt_that_was_superseded_is_good_for_an_ack_again_after_a_failover(self) -> None:
        """ADR 12: the second lease is forgotten, and only that the first attempt has ended is known."""
        bench = GroupBench()
        (old,) = bench.receive(visibility_ms=10)
        bench.now_ms += 10
        bench.expire()
        (new,) = bench.receive(visibility_ms=60_000)
        assert bench.ack(old) == [ProblemCode.RECEIPT_STALE]
        bench.fail_over()
        assert bench.extend(old, visibility_ms=1000) == [ProblemCode.RECEIPT_STALE], (
            "it gives nobody a lease beside the second one"
        )
        assert bench.extend(new, visibility_ms=1000) == [None]
        assert bench.ack(old) == [ProblemCode.RECEIPT_STALE], "the second one is known again"
        bench.fail_over()
        assert bench.ack(old) == [None]
        assert bench.ack(new) == [None]

    def test_a_lease_that_was_extended_after_a_failover_is_extended_again(self) -> None:
        bench = GroupBench()
        (lease,) = bench.receive()
        bench.fail_over()
        assert [bench.extend(lease, visibility_ms=1000) for _ in range(2)] == [[None], [None]]
        bench.nack(lease)
        assert bench.extend(lease, visibility_ms=1000) == [ProblemCode.RECEIPT_STALE]

    def test_with_a_receipt_that_nobody_can_have_made_is_invalid(self) -> None:
        bench = GroupBench()
        bench.receive()
        for invented in (
            Lease(0, 2, 0, 1),  # an attempt that was not made yet
            Lease(5, 1, 0, 1),  # never leased by this leader
            Lease(0, 1, 0, 2),  # a leader that does not exist yet
            Lease(0, 1, 1, 1),  # a seek that did not happen
            Lease(1000, 1, 0, 0),  # beyond the readable end
        ):
            assert bench.ack(invented) == [ProblemCode.INVALID_RECEIPT], invented

    def test_one_bad_receipt_does_not_fail_its_neighbours(self) -> None:
        bench = GroupBench()
        leases = bench.receive(2)
        assert bench.ack(leases[0], Lease(9, 1, 0, 1), leases[1], leases[1]) == [
            None,
            ProblemCode.INVALID_RECEIPT,
            None,
            None,
        ]
        assert bench.group.progress == 2

    def test_while_another_ack_is_written_is_decided_again_so_that_neither_depends_on_the_other(self) -> None:
        bench = GroupBench()
        leases = bench.receive()
        first, second = bench.decide_ack(leases), bench.decide_ack(leases)
        assert first.record is not None
        assert second.record is not None
        bench.abort(first.record)
        bench.now_ms += 60_000
        assert bench.decide_expire() is None, "still on its way to the log"
        bench.write(second.record)
        assert bench.group.progress == 1

    def test_a_failed_write_leaves_the_lease_with_its_deadline(self) -> None:
        bench = GroupBench()
        settlement = bench.decide_ack(bench.receive(visibility_ms=100))
        bench.now_ms += 100
        assert bench.decide_expire() is None
        bench.abort(settlement.record)
        assert bench.group.next_deadline() == 1100
        bench.expire()
        assert bench.receive() == [Lease(0, 2, 0, 1)]

    def test_of_an_old_leaders_delivery_ahead_of_the_cursor_is_not_delivered_again(self) -> None:
        bench = GroupBench()
        leases = bench.receive(5)
        bench.fail_over()
        bench.ack(leases[3])
        assert offsets_of(bench.receive(5)) == [0, 1, 2, 4, 5]

    def test_a_message_that_the_cursor_passed_while_it_was_pending_is_not_lost(self) -> None:
        bench = GroupBench()
        leases = bench.receive(3)
        bench.fail_over()
        settlement = bench.decide_ack([leases[1]])
        assert offsets_of(bench.receive(3)) == [0, 2, 3]
        bench.abort(settlement.record)
        bench.group.check_invariants()
        assert offsets_of(bench.receive(3)) == [1, 4, 5]

    def test_holes_above_what_this_leader_delivered_are_bounded(self) -> None:
        bench = GroupBench(delivery_settings=DeliverySettings(done_ranges_max=2))
        leases = bench.receive(10)
        bench.fail_over()
        assert bench.ack(leases[1]) == [None]
        assert bench.ack(leases[3]) == [None]
        assert bench.ack(leases[5]) == [ProblemCode.OVERLOADED]

    def test_a_hundred_thousand_in_flight_in_any_order(self) -> None:
        bench = GroupBench()
        bench.readable_end = 200_000
        leases = [lease for _ in range(100) for lease in bench.ask(1000, visibility_ms=1).leases]
        assert bench.receive() == []
        random.Random(7).shuffle(leases)
        for start in range(0, 100_000, 1000):
            record = bench.decide_ack(leases[start : start + 1000]).record
            assert record is not None
            bench.group.apply(record, now_ms=0, wall_now_ms=0)
        assert (bench.group.progress, bench.group.done_above_count) == (100_000, 0)


class TestAckByMessageId:
    def test_of_a_delivered_message(self) -> None:
        bench = GroupBench()
        bench.receive(3)
        assert bench.ack_by_message_id(1) is None
        assert bench.ack_by_message_id(1) is None

    def test_of_a_message_that_was_never_delivered(self) -> None:
        assert GroupBench().ack_by_message_id(0) is ProblemCode.NOT_DELIVERED

    def test_of_a_message_that_does_not_exist(self) -> None:
        assert GroupBench().ack_by_message_id(1000) is ProblemCode.MESSAGE_NOT_FOUND

    def test_a_new_leader_knows_from_the_records_what_was_delivered(self) -> None:
        bench = GroupBench()
        leases = bench.receive(3)
        bench.ack(leases[1])
        bench.fail_over()
        assert bench.ack_by_message_id(2) is None
        assert bench.ack_by_message_id(3) is ProblemCode.NOT_DELIVERED


class TestNack:
    def test_gives_back_after_the_delay_and_counts_the_attempt(self) -> None:
        bench = GroupBench()
        (lease,) = bench.receive()
        bench.nack(lease, delay_ms=500)
        assert bench.group.delayed_count == 1
        assert bench.group.next_deadline() == 1500
        bench.now_ms += 499
        assert offsets_of(bench.receive()) == [1]
        bench.now_ms += 1
        assert bench.receive() == [Lease(0, 2, 0, 1)]

    @pytest.mark.parametrize(
        ("attempt", "jitter", "delay_ms"),
        [(1, 0.0, 1000), (1, 1.0, 1000), (2, 0.0, 1000), (2, 1.0, 2000), (3, 0.5, 3000)],
    )
    def test_backs_off_exponentially_where_no_delay_is_asked_for(
        self, attempt: int, jitter: float, delay_ms: int
    ) -> None:
        bench = GroupBench()
        for _ in range(attempt - 1):
            bench.nack(*bench.receive())
        bench.nack(*bench.receive(), delay_ms=None, jitter=jitter)
        assert bench.group.next_deadline() == bench.now_ms + delay_ms

    def test_twice_counts_once_and_the_last_delay_holds(self) -> None:
        bench = GroupBench()
        (lease,) = bench.receive()
        bench.nack(lease, delay_ms=10_000)
        assert bench.nack(lease, delay_ms=0) == [None]
        assert bench.receive() == [Lease(0, 2, 0, 1)]
        assert bench.nack(lease, delay_ms=0) == [ProblemCode.RECEIPT_STALE]

    def test_of_a_done_message_is_stale(self) -> None:
        bench = GroupBench()
        (lease,) = bench.receive()
        bench.ack(lease)
        assert bench.nack(lease) == [ProblemCode.RECEIPT_STALE]

    def test_a_delay_outlives_a_failover_but_no_clock_jump_makes_it_longer(self) -> None:
        bench = GroupBench()
        (lease,) = bench.receive()
        bench.nack(lease, delay_ms=500)
        bench.now_ms += 200
        bench.fail_over()
        assert bench.group.next_deadline() == bench.now_ms + 300
        bench.now_ms -= 900_000
        bench.fail_over()
        assert bench.group.next_deadline() == bench.now_ms + 500

    def test_a_delay_out_of_range_is_a_programmers_error(self) -> None:
        bench = GroupBench()
        for delay_ms in (-1, 43_200_001):
            with pytest.raises(ValueError, match="out of range"):
                bench.decide_nack([], delay_ms)

    def test_of_old_deliveries_that_this_leader_does_not_know_is_bounded(self) -> None:
        bench = GroupBench(delivery_settings=DeliverySettings(returned_max=2))
        leases = bench.receive(3)
        bench.fail_over()
        assert bench.nack(*leases[:2], delay_ms=1000) == [None, None]
        assert bench.nack(leases[2], delay_ms=1000) == [ProblemCode.OVERLOADED]


class TestExtend:
    def test_moves_the_deadline_from_now(self) -> None:
        bench = GroupBench()
        leases = bench.receive(2, visibility_ms=100)
        bench.now_ms += 50
        assert bench.extend(leases[0], visibility_ms=100) == [None]
        bench.now_ms += 50
        bench.expire()
        assert (bench.state(0), bench.state(1)) == ("leased", "waiting")
        assert bench.group.next_deadline() == 1150

    def test_brings_a_lease_that_ran_out_back_to_life(self) -> None:
        bench = GroupBench()
        (lease,) = bench.receive(visibility_ms=10)
        bench.now_ms += 10
        bench.expire()
        assert bench.extend(lease, visibility_ms=100) == [None]
        assert offsets_of(bench.receive()) == [1]
        bench.now_ms += 100
        bench.expire()
        assert bench.receive() == [Lease(0, 2, 0, 1)], "one delivery counts once"

    def test_takes_over_a_lease_of_an_earlier_leader(self) -> None:
        bench = GroupBench()
        leases = bench.receive(2)
        bench.fail_over()
        assert bench.extend(leases[1], visibility_ms=100) == [None]
        assert offsets_of(bench.receive(2)) == [0, 2]
        assert bench.ack(leases[1]) == [None]

    def test_does_not_go_beyond_the_in_flight_limit(self) -> None:
        bench = GroupBench(settings=GroupSettings(max_in_flight=1))
        (lease,) = bench.receive(visibility_ms=10)
        bench.now_ms += 10
        bench.nack(lease, delay_ms=1000)
        bench.receive()
        assert bench.extend(lease, visibility_ms=100) == [ProblemCode.OVERLOADED]

    def test_by_zero_gives_the_message_back_at_once_and_the_attempt_counts(self) -> None:
        bench = GroupBench()
        (lease,) = bench.receive()
        assert bench.extend(lease, visibility_ms=0) == [None]
        assert len(bench.log) == 1
        assert bench.receive() == [Lease(0, 2, 0, 1)]

    def test_while_an_expiry_is_being_written_promises_nothing(self) -> None:
        bench = GroupBench()
        (lease,) = bench.receive(visibility_ms=10)
        bench.now_ms += 10
        record = bench.decide_expire()
        assert bench.extend(lease, visibility_ms=100) == [ProblemCode.CONFLICT]
        bench.write(record)
        assert bench.extend(lease, visibility_ms=100) == [None]

    def test_a_visibility_out_of_range_is_a_programmers_error(self) -> None:
        bench = GroupBench()
        for visibility_ms in (-1, 43_200_001):
            with pytest.raises(ValueError, match="out of range"):
                bench.extend(visibility_ms=visibility_ms)


class TestExpire:
    def test_gives_back_at_once_what_ran_out(self) -> None:
        bench = GroupBench()
        bench.receive(2, visibility_ms=100)
        assert bench.group.next_deadline() == 1100
        bench.now_ms += 99
        assert bench.decide_expire() is None
        bench.now_ms += 1
        bench.expire()
        assert bench.group.in_flight_count == 0
        assert bench.receive(2) == [Lease(0, 2, 0, 1), Lease(1, 2, 0, 1)]

    def test_is_bounded_per_call(self) -> None:
        bench = GroupBench()
        bench.receive(10, visibility_ms=1)
        bench.now_ms += 1
        sizes = []
        while (record := bench.decide_expire(limit=4)) is not None:
            sizes.append(len(record.items))
        assert sizes == [4, 4, 2]

    def test_attempts_that_expired_are_remembered_by_the_next_leader(self) -> None:
        bench = GroupBench()
        bench.receive(visibility_ms=1)
        bench.now_ms += 1
        bench.expire()
        bench.fail_over()
        assert bench.receive() == [Lease(0, 2, 0, 2)]


class TestDeadLetters:
    @pytest.fixture
    def bench(self) -> GroupBench:
        bench = GroupBench(settings=GroupSettings(max_attempts=2))
        for _ in range(2):
            bench.nack(*bench.receive())
        return bench

    def test_a_message_whose_attempts_are_used_up_is_not_delivered_again(self, bench: GroupBench) -> None:
        assert bench.state(0) == "deadLettering"
        assert offsets_of(bench.receive()) == [1]

    def test_are_handed_over_once_and_then_done(self, bench: GroupBench) -> None:
        assert bench.due_letters(now_ms=bench.now_ms) == [(0, 2, 0)]
        assert bench.group.dead_letters(limit=10, now_ms=bench.now_ms) == []
        assert bench.group.progress == 0
        bench.write(bench.group.dead_lettered([0]))
        assert (bench.group.progress, bench.group.totals.dead_lettered) == (1, 1)
        assert bench.state(0) == "deadLettered"

    def test_another_death_after_a_seek_back_is_of_another_generation(self, bench: GroupBench) -> None:
        bench.group.dead_letters(limit=10, now_ms=bench.now_ms)
        bench.write(bench.group.dead_lettered([0]))
        bench.write(bench.group.seek(0))
        for _ in range(2):
            bench.nack(*bench.receive())
        assert (0, 2, 1) in bench.due_letters(now_ms=bench.now_ms)

    def test_expiry_counts_as_an_attempt_too(self) -> None:
        bench = GroupBench(settings=GroupSettings(max_attempts=1))
        bench.receive(visibility_ms=1)
        bench.now_ms += 1
        bench.expire()
        assert bench.due_letters(now_ms=bench.now_ms) == [(0, 1, 0)]

    def test_a_failed_one_is_tried_again_later(self, bench: GroupBench) -> None:
        bench.group.dead_letters(limit=10, now_ms=bench.now_ms)
        bench.group.dead_letter_failed([0], retry_at_ms=1500)
        assert bench.group.dead_letters(limit=10, now_ms=1499) == []
        assert bench.group.next_deadline() == 1500
        assert bench.due_letters(now_ms=1500) == [(0, 2, 0)]

    def test_a_record_that_could_not_be_written_repeats_it(self, bench: GroupBench) -> None:
        bench.group.dead_letters(limit=10, now_ms=bench.now_ms)
        bench.abort(bench.group.dead_lettered([0]))
        assert bench.due_letters(now_ms=bench.now_ms) == [(0, 2, 0)]

    def test_a_crash_before_the_record_repeats_it(self, bench: GroupBench) -> None:
        bench.group.dead_letters(limit=10, now_ms=bench.now_ms)
        bench.fail_over()
        assert bench.due_letters(now_ms=bench.now_ms) == [(0, 2, 0)]

    def test_a_late_ack_still_wins(self, bench: GroupBench) -> None:
        bench.group.dead_letters(limit=10, now_ms=bench.now_ms)
        assert bench.ack(Lease(0, 2, 0, 1)) == [None]
        bench.write(bench.group.dead_lettered([0]))
        assert bench.group.totals.dead_lettered == 0
        assert bench.state(0) == "done"

    def test_an_older_receipt_is_stale_until_the_message_is_dead_lettered(self, bench: GroupBench) -> None:
        older = Lease(0, 1, 0, 1)
        bench.group.dead_letters(limit=10, now_ms=bench.now_ms)
        assert bench.ack(older) == [ProblemCode.RECEIPT_STALE]
        assert bench.state(0) == "deadLettering"
        bench.write(bench.group.dead_lettered([0]))
        assert bench.ack(older) == [None], "an ack of what is done is a success"
        assert bench.nack(older) == [ProblemCode.RECEIPT_STALE]
        assert bench.state(0) == "deadLettered"

    def test_the_replay_does_not_ask_todays_settings(self, bench: GroupBench) -> None:
        bench._settings = GroupSettings(max_attempts=16)
        bench.fail_over()
        assert bench.state(0) == "deadLettering"

    def test_only_so_many_are_remembered_the_lowest_are_forgotten_first(self) -> None:
        bench = GroupBench(
            settings=GroupSettings(max_attempts=1), delivery_settings=DeliverySettings(dead_lettered_ranges_max=2)
        )
        for lease in bench.receive(6)[::2]:
            bench.nack(lease)
            bench.group.dead_letters(limit=1, now_ms=bench.now_ms)
            bench.write(bench.group.dead_lettered([lease.offset]))
        assert [bench.state(offset) for offset in (0, 2, 4)] == ["done", "deadLettered", "deadLettered"]
        assert bench.group.totals.dead_lettered == 3


class TestSeek:
    def test_back_delivers_again_with_fresh_attempts_and_old_receipts_are_stale(self) -> None:
        bench = GroupBench()
        leases = bench.receive(3)
        bench.ack(leases[0])
        bench.nack(leases[1])
        bench.write(bench.group.seek(0))
        assert bench.receive(3) == [Lease(offset, 1, 1, 1) for offset in range(3)]
        assert bench.ack(leases[0]) == [ProblemCode.RECEIPT_STALE]

    def test_forward_makes_everything_below_done(self) -> None:
        bench = GroupBench()
        leases = bench.receive(3)
        bench.write(bench.group.seek(100))
        assert (bench.group.progress, bench.group.in_flight_count) == (100, 0)
        assert bench.ack(leases[0]) == [None], "already done"
        assert offsets_of(bench.receive()) == [100]

    def test_voids_what_was_decided_before_it_and_logged_after_it(self) -> None:
        bench = GroupBench()
        leases = bench.receive(2)
        sought = bench.group.seek(0)
        acked, returned = bench.decide_ack(leases[:1]), bench.decide_nack(leases[1:])
        bench.write(sought)
        bench.write(acked.record)
        bench.abort(returned.record)
        assert bench.group.progress == 0
        assert offsets_of(bench.receive(2)) == [0, 1]

    def test_two_at_once_take_different_generations(self) -> None:
        bench = GroupBench()
        first, second = bench.group.seek(5), bench.group.seek(9)
        bench.write(first)
        bench.write(second)
        assert (bench.group.progress, bench.group.generation) == (9, 2)


class TestRetention:
    def test_moves_progress_and_counts_what_is_lost(self) -> None:
        """R32."""
        bench = GroupBench()
        leases = bench.receive(4)
        bench.ack(leases[1])
        record = bench.group.advance_log_start(10, deleted_below=0)
        assert record is not None
        assert record.lost == 9
        assert bench.group.advance_log_start(10, deleted_below=0) is None, "under way"
        bench.write(record)
        assert (bench.group.progress, bench.group.totals.lost, bench.group.in_flight_count) == (10, 9, 0)
        assert bench.ack(leases[0]) == [None]
        assert offsets_of(bench.receive()) == [10]

    def test_of_what_is_done_changes_nothing(self) -> None:
        bench = GroupBench(start_offset=5)
        assert bench.group.advance_log_start(5, deleted_below=0) is None

    def test_a_jump_over_a_billion_messages_costs_nothing(self) -> None:
        bench = GroupBench()
        bench.nack(*bench.receive(), delay_ms=1000)
        bench.write(bench.group.advance_log_start(10**9, deleted_below=0))
        assert bench.group.progress == 10**9
        assert bench.group.next_deadline() is None

    def test_a_jump_that_could_not_be_written_is_decided_again(self) -> None:
        bench = GroupBench()
        bench.abort(bench.group.advance_log_start(10, deleted_below=0))
        assert bench.group.advance_log_start(10, deleted_below=0) is not None


class TestDescribe:
    def test_every_state(self) -> None:
        bench = GroupBench(settings=GroupSettings(max_attempts=2))
        leases = bench.receive(4, consumer="worker-7")
        bench.ack(leases[0])
        bench.nack(leases[1], delay_ms=0)
        bench.nack(leases[2], delay_ms=400)
        bench.now_ms += 100

        def describe(offset: int) -> MessageStatus:
            return bench.group.describe(offset, readable_end=1000, now_ms=bench.now_ms)

        assert describe(0)[:4] == ("done", 0, -1, "")
        assert describe(1)[:4] == ("waiting", 1, -1, "")
        assert describe(2)[:4] == ("delayed", 1, 300, "")
        assert describe(3)[:4] == ("leased", 1, 29_900, "worker-7")
        assert describe(4)[:4] == ("waiting", 0, -1, "")
        with pytest.raises(ValueError, match="readable end"):
            describe(1000)
