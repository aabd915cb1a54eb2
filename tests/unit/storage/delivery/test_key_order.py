"""Order by key: what an answer holds of a key, what comes back, and what is remembered of keys that wait."""

from functools import partial

import pytest
from msgspec.structs import replace

from cluster.model.values import Exhausted, GroupMode, GroupSettings
from storage.delivery.candidates import NO_KEY
from storage.delivery.candidates import CandidateRun as Run
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_in_partition import GroupTerms
from storage.delivery.key_order import KeyOrder
from storage.delivery.leases import Lease, counted_attempt
from storage.delivery.modes import SERVED_MODES, selection_for
from tests.unit.storage.delivery.seeing_group import SeeingBench, messages

A, B, C = 1, 2, 3
FEW = 3


def bench_of(
    *keys: int, ranges_max: int = 100, ranges_of_key_max: int = FEW, **settings: int | Exhausted
) -> SeeingBench:
    new_chooser = partial(KeyOrder, ranges_max=ranges_max, ranges_of_key_max=ranges_of_key_max)
    chosen = GroupSettings(**{"max_attempts": 5, "retry_backoff_min_ms": 1000, **settings})
    return SeeingBench(messages(*[(key, 0) for key in keys]), new_chooser, settings=chosen)


def told(leases: list[Lease]) -> list[tuple[int, int]]:
    return [(lease.offset, counted_attempt(lease.attempt)) for lease in leases]


def refusals_of_nack_and_extend(bench: SeeingBench, lease: Lease) -> list[str]:
    nacked = bench.group.nack([lease], delay_ms=0, jitter=0, readable_end=bench.readable_end, wall_now_ms=bench.now_ms)
    extended = bench.group.extend(
        [lease], visibility_ms=100, readable_end=bench.readable_end, now_ms=bench.now_ms, wall_now_ms=bench.now_ms
    )
    assert (nacked.record, extended.record) == (None, None)
    return ["" if code is None else code.name for code in (*nacked.results, *extended.results)]


class TestRuns:
    def test_an_answer_holds_all_that_follows_of_a_key(self) -> None:
        bench = bench_of(A, B, A, B, A)
        assert bench.receive_offsets(4) == [0, 1, 2, 3]
        assert bench.receive_offsets(10) == []

    def test_the_next_run_begins_when_all_of_the_one_before_is_settled(self) -> None:
        bench = bench_of(A, A, A, A, B)
        first, second = bench.receive(2)
        assert bench.receive_offsets(10) == [4]
        bench.ack(second)
        assert bench.receive_offsets(10) == []
        bench.ack(first)
        assert bench.receive_offsets(10) == [2, 3]

    def test_an_answer_takes_what_waited_and_what_follows_it(self) -> None:
        bench = bench_of(A, A, B, A, A, A)
        (first,) = bench.receive()
        assert bench.receive_offsets() == [2]
        bench.ack(first)
        assert bench.receive_offsets(10) == [1, 3, 4, 5]

    def test_messages_without_a_key_are_in_no_order(self) -> None:
        bench = bench_of(NO_KEY, NO_KEY, NO_KEY)
        (first,) = bench.receive()
        assert bench.receive_offsets(10) == [1, 2]
        bench.nack(first, delay_ms=100)
        assert bench.receive_offsets(10) == []

    def test_the_longest_ready_key_comes_first(self) -> None:
        bench = bench_of(A, B, A, B)
        first, second = bench.receive(2)
        assert bench.receive_offsets(10) == []
        bench.ack(second)
        bench.ack(first)
        assert bench.receive_offsets() == [3]

    def test_groups_of_this_mode_get_it(self) -> None:
        terms = GroupTerms(GroupMode.KEY_ORDERED)
        bounds = DeliverySettings()
        assert GroupMode.KEY_ORDERED in SERVED_MODES
        assert selection_for(terms, bounds) == selection_for(terms, bounds)


class TestWhatComesBack:
    def test_a_nack_ends_what_is_behind_it_and_counts_one_attempt(self) -> None:
        bench = bench_of(A, A, A, B)
        first, second, _, _ = bench.receive(10)
        bench.nack(second, delay_ms=500)
        assert [bench.state(offset) for offset in range(4)] == ["leased", "delayed", "waiting", "leased"]
        bench.ack(first)
        assert bench.receive_offsets(10) == []
        bench.now_ms += 500
        assert told(bench.receive(10)) == [(1, 2), (2, 1)]

    def test_the_receipt_of_a_lease_that_ended_so_still_acknowledges(self) -> None:
        bench = bench_of(A, A, A)
        first, second, third = bench.receive(10)
        bench.nack(second, delay_ms=500)
        assert bench.ack(third) == [""]
        bench.ack(first)
        bench.now_ms += 500
        assert bench.receive_offsets(10) == [1]

    def test_nacks_of_a_whole_run_count_for_its_first_only(self) -> None:
        bench = bench_of(A, A, A)
        for lease in bench.receive(10):
            bench.nack(lease, delay_ms=0)
        assert told(bench.receive(10)) == [(0, 2), (1, 1), (2, 1)]

    @pytest.mark.parametrize("order", [[1, 2], [2, 1]])
    def test_of_a_nack_of_several_the_first_in_the_log_counts_however_they_are_named(self, order: list[int]) -> None:
        bench = bench_of(A, A, A)
        leases = bench.receive(10)
        named = [leases[offset] for offset in order] + [replace(leases[order[0]], attempt=9)]
        decided = bench.group.nack(named, delay_ms=0, jitter=0, readable_end=3, wall_now_ms=bench.now_ms)
        assert [code and code.name for code in decided.results] == [None, None, "INVALID_RECEIPT"]
        bench.write(decided.record)
        bench.ack(leases[0])
        assert told(bench.receive(10)) == [(1, 2), (2, 1)]

    def test_an_expired_run_counts_for_its_first_only(self) -> None:
        bench = bench_of(A, A, B)
        bench.receive(10)
        bench.now_ms += 100
        bench.expire()
        again = told(bench.receive(10))
        assert again == [(0, 2), (1, 1), (2, 2)]

    def test_of_what_expires_at_one_moment_the_first_counts_however_it_was_leased(self) -> None:
        """What came back before is leased ahead of what follows."""
        bench = bench_of(A, A, B)
        _, second, _ = bench.receive(10)
        bench.nack(second)
        bench.fail_over()
        for expected in ([(0, 1), (1, 2), (2, 1)], [(0, 2), (1, 2), (2, 2)], [(0, 3), (1, 2), (2, 3)]):
            assert told(bench.receive(10)) == expected
            bench.now_ms += 100
            bench.expire()

    def test_of_those_with_another_attempt_the_first_counts(self) -> None:
        """What has failed as often is leased together."""
        bench = bench_of(A, B, B)
        other, first, _ = bench.receive(10)
        bench.nack(first)
        bench.group.release([other])
        for expected in ([(0, 1), (1, 2), (2, 1)], [(0, 2), (1, 3), (2, 1)]):
            assert told(bench.receive(10)) == expected
            bench.now_ms += 100
            bench.expire()

    def test_one_that_was_kept_longer_does_not_count_before_it_runs_out(self) -> None:
        bench = bench_of(A, A)
        first, _ = bench.receive(10)
        bench.group.extend([first], visibility_ms=150, readable_end=2, now_ms=bench.now_ms, wall_now_ms=bench.now_ms)
        bench.now_ms += 100
        bench.expire()
        assert (bench.state(0), bench.state(1)) == ("leased", "waiting")
        bench.now_ms += 50
        bench.expire()
        assert told(bench.receive(10)) == [(0, 2), (1, 2)]

    def test_a_step_that_is_full_leaves_the_rest_to_the_next(self) -> None:
        bench = bench_of(A, A, B)
        _, second, _ = bench.receive(10)
        bench.nack(second)
        bench.fail_over()
        bench.receive(10)
        bench.now_ms += 100
        for _ in range(2):
            bench.write(bench.group.expire(now_ms=bench.now_ms, wall_now_ms=bench.now_ms, limit=1))
        assert bench.group.expire(now_ms=bench.now_ms, wall_now_ms=bench.now_ms, limit=1) is None
        assert told(bench.receive(10)) == [(0, 2), (1, 2), (2, 2)]

    def test_what_did_not_fit_into_an_answer_waits_for_the_rest_of_it(self) -> None:
        bench = bench_of(A, A, A)
        first, second, third = bench.receive(10)
        bench.group.release([second, third])
        assert bench.receive_offsets(10) == []
        bench.ack(first)
        assert told(bench.receive(10)) == [(1, 1), (2, 1)]

    def test_a_lease_that_ended_is_not_taken_up_again(self) -> None:
        bench = bench_of(A, A)
        first, second = bench.receive(10)
        bench.nack(first, delay_ms=500)
        for lease in (first, second):
            settlement = bench.group.extend(
                [lease], visibility_ms=100, readable_end=2, now_ms=bench.now_ms, wall_now_ms=bench.now_ms
            )
            assert [code.name for code in settlement.results if code] == ["RECEIPT_STALE"]

    def test_a_receipt_of_before_is_stale_once_it_was_given_out_again(self) -> None:
        """Whoever had it was interrupted, and his attempt does not count: the next lease has the same number of it."""
        bench = bench_of(A, A, A)
        first, second, third = bench.receive(10)
        bench.nack(first, delay_ms=0)
        again = bench.receive(10)
        assert told(again) == [(0, 2), (1, 1), (2, 1)]
        assert bench.ack(second) == ["RECEIPT_STALE"]
        assert refusals_of_nack_and_extend(bench, third) == ["RECEIPT_STALE", "RECEIPT_STALE"]
        assert [bench.state(offset) for offset in range(3)] == ["leased", "leased", "leased"]
        assert bench.ack(*again) == ["", "", ""]

    def test_a_receipt_of_before_stays_stale_when_the_newer_lease_is_over(self) -> None:
        bench = bench_of(A, A)
        first, second = bench.receive(10)
        bench.nack(first, delay_ms=0)
        first, again = bench.receive(10)
        bench.ack(first)
        bench.nack(again, delay_ms=0)
        assert refusals_of_nack_and_extend(bench, second) == ["RECEIPT_STALE", "RECEIPT_STALE"]
        assert bench.ack(second) == ["RECEIPT_STALE"]
        bench.nack(again, delay_ms=500)
        assert bench.state(1) == "delayed"
        assert bench.ack(again) == [""]

    def test_a_receipt_after_a_failover_counts_as_its_attempt(self) -> None:
        bench = bench_of(A, A, max_attempts=3)
        first, _ = bench.receive(10)
        bench.nack(first, delay_ms=0)
        _, interrupted = bench.receive(10)
        bench.fail_over()
        bench.nack(interrupted, delay_ms=0)
        assert told(bench.receive(10)) == [(0, 2), (1, 2)]
        bench.now_ms += 100
        bench.expire()
        bench.fail_over()
        bench.receive(10)
        bench.now_ms += 100
        bench.expire()
        assert bench.ack(interrupted) == ["RECEIPT_STALE"]

    def test_a_failed_key_delays_only_itself(self) -> None:
        bench = bench_of(A, B, A, B)
        first, second = bench.receive(2)
        bench.nack(first, delay_ms=500)
        bench.ack(second)
        assert bench.receive_offsets(10) == [3]

    def test_what_failed_to_be_written_stays_with_its_consumer(self) -> None:
        bench = bench_of(A, A)
        first, second = bench.receive(10)
        decided = bench.group.nack([first], delay_ms=0, jitter=0, readable_end=2, wall_now_ms=bench.now_ms).record
        assert decided is not None
        bench.group.abort(decided, now_ms=bench.now_ms)
        assert bench.receive_offsets(10) == []
        assert bench.ack(first, second) == ["", ""]

    def test_a_dead_letter_frees_its_key(self) -> None:
        bench = bench_of(A, A, max_attempts=1)
        bench.nack(*bench.receive())
        assert bench.receive(10) == []
        (letter,) = bench.group.dead_letters(limit=10, now_ms=bench.now_ms)
        bench.write(bench.group.dead_lettered([letter.offset]))
        assert bench.receive_offsets(10) == [1]


class TestAnew:
    """What is known of keys is made again by looking."""

    def test_order_holds_over_a_failover(self) -> None:
        bench = bench_of(A, B, A, B)
        first, second = bench.receive(2)
        bench.nack(first, delay_ms=500)
        bench.ack(second)
        bench.fail_over()
        assert bench.receive_offsets(10) == [3]
        bench.now_ms += 500
        assert told(bench.receive(10)) == [(0, 2), (2, 1)]

    def test_an_answer_is_in_order_whatever_came_back_before(self) -> None:
        bench = bench_of(A, A, B)
        _, second, _ = bench.receive(10)
        bench.nack(second, delay_ms=0)
        bench.fail_over()
        assert told(bench.receive(10)) == [(0, 1), (1, 2), (2, 1)]

    def test_what_came_back_later_waits_for_what_is_before_it(self) -> None:
        """The failover forgets that the first was out; the second came back."""
        bench = bench_of(A, A, A)
        first, second, _ = bench.receive(10)
        bench.ack(first)
        bench.nack(second, delay_ms=0)
        bench.write(bench.group.seek(0))
        first, second, _ = bench.receive(10)
        bench.nack(second, delay_ms=100)
        bench.fail_over()
        bench.now_ms += 100
        assert told(bench.receive(1)) == [(0, 1)]
        assert bench.receive_offsets(10) == []

    def test_retention_and_seeks_free_keys(self) -> None:
        bench = bench_of(A, A, A)
        bench.receive()
        assert bench.receive() == []
        bench.write(bench.group.advance_log_start(1, deleted_below=0))
        assert bench.receive_offsets() == [1]
        bench.write(bench.group.seek(0))
        assert bench.receive_offsets(10) == [0, 1, 2]


class TestDepth:
    def test_a_stuck_key_hides_no_other(self) -> None:
        bench = bench_of()
        bench.log += [Run(0, 5_000, key_hash=A), *messages((B, 0), (B, 0), start=5_000)]
        (held,) = bench.receive()
        for offset in (5_000, 5_001):
            (lease,) = bench.receive()
            assert lease.offset == offset
            bench.ack(lease)
        bench.ack(held)
        assert bench.receive_offsets(2) == [1, 2]

    def test_keys_in_turn_with_a_stuck_one_go_on_beyond_what_is_remembered(self) -> None:
        bench = bench_of(*[A, B] * 50, ranges_max=5)
        stuck, other = bench.receive(2)
        found = []
        while True:
            bench.ack(other)
            leases = bench.receive()
            if not leases:
                break
            (other,) = leases
            found.append(other.offset)
        assert found == list(range(3, 100, 2))
        bench.ack(stuck)
        found = []
        while leases := bench.receive(100):
            bench.ack(*leases)
            found += [lease.offset for lease in leases]
        assert found == list(range(2, 100, 2))

    def test_what_is_not_remembered_is_found_in_order(self) -> None:
        """Many keys, all stuck, with memory for a few ranges; then all are freed one after the other."""
        keys = [A, B, C, 4, 5]
        bench = bench_of(*keys * 20, ranges_max=7, ranges_of_key_max=2)
        leases = {lease.offset % 5: lease for lease in bench.receive(5)}
        assert bench.receive(5) == []
        seen: dict[int, list[int]] = {key: [key] for key in range(5)}
        while leases:
            bench.ack(leases.pop(min(leases)))
            for lease in bench.receive(2):
                seen[lease.offset % 5].append(lease.offset)
                if lease.offset % 5 in leases:
                    bench.ack(lease)
                else:
                    leases[lease.offset % 5] = lease
        assert seen == {key: list(range(key, 100, 5)) for key in range(5)}

    def test_answers_are_full_also_of_a_key_that_is_searched_for(self) -> None:
        bench = bench_of(*[A, B] * 50)
        (stuck,) = bench.receive()
        bench.ack(*bench.receive(100))
        bench.ack(stuck)
        answers = []
        while leases := bench.receive(10):
            bench.ack(*leases)
            answers.append([lease.offset for lease in leases])
        assert answers == [list(range(start, min(start + 20, 100), 2)) for start in range(2, 100, 20)]

    def test_a_search_goes_on_for_an_answer_of_its_own_only(self) -> None:
        bench = bench_of(*[A, B] * 50)
        (stuck,) = bench.receive()
        bench.ack(*bench.receive(100))
        bench.ack(stuck)
        assert bench.receive_offsets(10) == list(range(2, 22, 2))
        assert bench.receive_offsets(10) == []

    def test_one_search_serves_all_keys_that_it_passes(self) -> None:
        count = 200
        keys = list(range(10, 20))
        bench = bench_of(*keys * (count // 10), ranges_max=50, ranges_of_key_max=2)
        leases = bench.receive(10)
        assert bench.receive(10) == []
        feeds = bench.feeds
        while leases:
            bench.ack(*leases)
            leases = bench.receive(10)
        assert bench.group.progress == count
        assert bench.feeds - feeds <= 3 * (count // 100)


class TestSeveralThatCameBack:
    """Each of a run was tried and came back, the last one first: a new leader finds all of them at once."""

    @staticmethod
    def tried_from_the_last_on(bench: SeeingBench, *delays_ms: int) -> None:
        leases = bench.receive(len(delays_ms))
        for lease, delay_ms in reversed(list(zip(leases, delays_ms, strict=True))):
            bench.nack(lease, delay_ms=delay_ms)
        bench.fail_over()

    def test_one_that_is_released_goes_alone_while_those_behind_it_are_blocked(self) -> None:
        bench = bench_of(A, A, A, A, max_attempts=1, on_exhausted=Exhausted.BLOCK)
        self.tried_from_the_last_on(bench, 0, 0, 0)
        for offset, expected in enumerate(([0], [1], [2, 3])):
            assert bench.receive_offsets(10) == []
            bench.write(bench.group.release_blocked(offset, wall_now_ms=bench.now_ms).record)
            leases = bench.receive(10)
            assert [lease.offset for lease in leases] == expected
            bench.ack(*leases)

    def test_one_that_is_due_goes_alone_while_those_behind_it_are_not(self) -> None:
        bench = bench_of(A, A, A, A)
        self.tried_from_the_last_on(bench, 0, 1_000, 1_000)
        (first,) = bench.receive(10)
        assert first.offset == 0
        bench.ack(first)
        assert bench.receive_offsets(10) == []
        bench.now_ms += 1_000
        (second,) = bench.receive(10)
        assert second.offset == 1
        bench.ack(second)
        assert bench.receive_offsets(10) == [2, 3]
