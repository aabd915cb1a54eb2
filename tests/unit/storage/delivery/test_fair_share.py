"""Whose message is next where a group is fair among keys."""

import pytest
from msgspec.structs import replace

from cluster.model.values import FairBy, GroupMode, GroupSettings
from storage.delivery.candidates import NO_KEY
from storage.delivery.candidates import CandidateRun as Run
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.fair_share import LOOKS_PER_PICK_MAX, FairShare, NewFairShare
from storage.delivery.group_in_partition import GroupTerms
from storage.delivery.keys_in_turn import OLDEST_EVERY
from storage.delivery.leases import Lease
from storage.delivery.modes import selection_for
from storage.delivery.selection import SharedSelection
from storage.node.partition.node_settings import NodeSettings
from tests.unit.storage.delivery.seeing_group import SeeingBench
from tests.unit.storage.delivery.toy_choosers import EveryMessage

NOISY, QUIET, OTHER = 1, 2, 3


class FairBench(SeeingBench):
    def __init__(self, *runs: tuple[int, int], per_key: int | None = None, batch: int = 100, **bounds: int) -> None:
        """`runs` are keys and how many messages of each follow."""
        super().__init__(log_of(*runs), EveryMessage, bounds=DeliverySettings(**bounds), batch=batch)
        self.set_otherwise(NewFairShare(per_key))

    def key_of(self, offset: int) -> int:
        return next(run.key_hash for run in self.log if run.start <= offset < run.end)

    def receive_keys(self, count: int) -> list[int]:
        """One by one."""
        return [self.key_of(lease.offset) for _ in range(count) for lease in self.receive()]

    def append(self, *runs: tuple[int, int]) -> None:
        self.log += log_of(*runs, start=self.readable_end)

    def reason(self) -> str:
        return self.group.empty_reason(readable_end=self.readable_end, now_ms=self.now_ms)


def log_of(*runs: tuple[int, int], start: int = 0) -> list[Run]:
    log = []
    for key, count in runs:
        log.append(Run(start, start + count, key_hash=key))
        start += count
    return log


class TestShares:
    def test_a_quiet_key_behind_a_noisy_one_is_next(self) -> None:
        bench = FairBench((NOISY, 50), (QUIET, 1))
        assert bench.receive_keys(3) == [NOISY, QUIET, NOISY]

    def test_each_key_has_its_share_of_what_is_in_flight(self) -> None:
        bench = FairBench((NOISY, 300), (QUIET, 30), (OTHER, 30))
        found = bench.receive_keys(30)
        assert {key: found.count(key) for key in (NOISY, QUIET, OTHER)} == {NOISY: 10, QUIET: 10, OTHER: 10}

    def test_one_answer_is_shared_too(self) -> None:
        bench = FairBench((NOISY, 300), (QUIET, 3))
        assert sorted(map(bench.key_of, bench.receive_offsets(10))) == [NOISY] * 7 + [QUIET] * 3

    def test_what_the_others_leave_is_the_noisy_ones(self) -> None:
        """It is a share and no limit: nobody else waits."""
        bench = FairBench((NOISY, 100))
        assert bench.receive_offsets(100) == list(range(100))

    def test_what_is_done_or_given_back_is_not_in_flight(self) -> None:
        bench = FairBench((NOISY, 10), (QUIET, 10))
        leases = [lease for _ in range(4) for lease in bench.receive()]
        bench.ack(*[lease for lease in leases if bench.key_of(lease.offset) == NOISY])
        assert bench.receive_keys(2) == [NOISY, NOISY]

    def test_messages_without_a_key_have_one_share_together(self) -> None:
        bench = FairBench((NO_KEY, 100), (QUIET, 2))
        assert bench.receive_keys(4) == [NO_KEY, QUIET, NO_KEY, QUIET]

    def test_what_came_back_is_first_of_its_key(self) -> None:
        bench = FairBench((NOISY, 10))
        (lease,) = bench.receive()
        bench.receive(3)
        bench.nack(lease, delay_ms=0)
        assert bench.receive_offsets() == [0]

    def test_a_new_leader_knows_it_anew(self) -> None:
        """R30: from the leases, of which there are none."""
        bench = FairBench((NOISY, 10), (QUIET, 5))
        bench.receive(10)
        bench.fail_over()
        assert bench.receive_keys(4) == [NOISY, QUIET, NOISY, QUIET]

    def test_a_group_that_goes_by_a_header_from_now_on_forgets_whose_keys_those_were(self) -> None:
        bench = FairBench((NOISY, 4), (QUIET, 4), (OTHER, 4), per_key=4)
        bench.receive(4)  # two of one key, one of each other; all is seen
        bench.set_otherwise(NewFairShare(4, header="tenant"))
        bench.show_otherwise(lambda run: replace(run, key_hash=OTHER if run.key_hash == OTHER else NOISY))
        found = bench.receive_keys(12)
        assert (found.count(OTHER), len(found)) == (3, 4), "three of the one tenant and one of the other were leased"

    def test_a_group_that_is_set_so_knows_what_is_leased(self) -> None:
        bench = FairBench((NOISY, 10), (QUIET, 2))
        bench.set_otherwise(SharedSelection)
        bench.receive(5)
        bench.set_otherwise(NewFairShare())
        assert bench.receive_keys(3) == [QUIET, QUIET, NOISY]


class TestNobodyStarves:
    def test_a_key_whose_messages_are_stuck_comes_on_however_many_others_come(self) -> None:
        bench = FairBench((NOISY, 3))
        bench.receive(2)
        for turn in range(1, 3 * OLDEST_EVERY):
            bench.append((100 + turn, 1))
            (lease,) = bench.receive()
            if bench.key_of(lease.offset) == NOISY:
                return
            bench.ack(lease)
        raise AssertionError("it starves")

    def test_everything_is_done_in_the_end(self) -> None:
        bench = FairBench(*[(key, 1 + key % 3) for key in range(40)], batch=7, look_ahead_ranges_max=5)
        while bench.ack(*bench.receive(3)):
            pass
        assert bench.group.progress == bench.readable_end


class TestBounds:
    def test_it_looks_no_further_ahead_than_there_is_memory_for(self) -> None:
        bench = FairBench(*[(NOISY + at % 2, 1) for at in range(50)], (QUIET, 1), batch=1, look_ahead_ranges_max=4)
        bench.receive()
        selection = bench.group._selection
        assert isinstance(selection, FairShare)
        assert selection._keys.range_count <= 4
        assert bench.feeds <= 5

    def test_a_run_of_one_key_is_one_entry(self) -> None:
        bench = FairBench((NOISY, 1000), (QUIET, 1), batch=10_000, look_ahead_ranges_max=100)
        assert bench.receive_keys(2) == [NOISY, QUIET]

    def test_it_leases_from_what_it_has_seen_after_some_looks(self) -> None:
        bench = FairBench(*[(NOISY, 1)] * 100, (QUIET, 1), batch=1)
        bench.receive()
        assert bench.feeds == LOOKS_PER_PICK_MAX
        assert NodeSettings().looks_per_receive_max > LOOKS_PER_PICK_MAX, "a receive would look and never lease"

    def test_what_was_given_out_is_remembered_until_it_is_done(self) -> None:
        bench = FairBench((NOISY, 10))
        leases = bench.receive(10)
        selection = bench.group._selection
        assert isinstance(selection, FairShare)
        assert len(selection._key_of) == 10
        bench.ack(*leases)
        assert not selection._key_of
        assert not selection._keys.in_flight


class TestLimitPerKey:
    def test_no_more_of_a_key_are_in_flight(self) -> None:
        bench = FairBench((NOISY, 20), (QUIET, 1), per_key=3)
        leases = bench.receive(10)
        assert [lease.offset for lease in leases] == [0, 20, 1, 2]
        assert bench.receive() == []
        assert bench.reason() == "IN_FLIGHT_LIMIT_PER_KEY"
        bench.ack(leases[0])
        assert bench.receive_offsets(10) == [3]

    def test_it_comes_back_when_leases_run_out(self) -> None:
        """R30."""
        bench = FairBench((NOISY, 5), per_key=2)
        bench.receive(5)
        bench.now_ms += 200
        bench.expire()
        assert bench.receive_offsets(5) == [0, 1]

    def test_what_was_leased_before_there_was_a_limit_counts_however_far_ahead_it_is(self) -> None:
        bench = FairBench((NOISY, 4), look_ahead_ranges_max=1, batch=1)
        bench.set_otherwise(SharedSelection)
        first, *_ = bench.receive(3)
        bench.group.release([first])
        bench.set_otherwise(NewFairShare(2))
        assert bench.receive() == []
        assert bench.reason() == "IN_FLIGHT_LIMIT_PER_KEY"

    def test_messages_without_a_key_have_none(self) -> None:
        bench = FairBench((NO_KEY, 5), (NOISY, 3), per_key=1)
        assert len(bench.receive(10)) == 6

    def test_nothing_waits_no_reason(self) -> None:
        bench = FairBench((NOISY, 1), per_key=1)
        bench.receive()
        assert bench.reason() == "ALL_LEASED"

    def test_an_extend_keeps_the_count(self) -> None:
        bench = FairBench((NOISY, 5), per_key=2)
        lease, _ = bench.receive(5)
        bench.group.extend([lease], visibility_ms=500, readable_end=5, now_ms=bench.now_ms, wall_now_ms=bench.now_ms)
        assert bench.receive() == []
        bench.ack(lease)
        assert len(bench.receive(5)) == 1


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (GroupSettings(), SharedSelection),
        (GroupSettings(fair_by=FairBy.KEY), NewFairShare()),
        (GroupSettings(max_in_flight_per_key=5), NewFairShare(5)),
        (GroupSettings(fair_by_header="tenant"), NewFairShare(header="tenant")),
        (GroupSettings(fair_by_header="tenant", max_in_flight_per_header=5), NewFairShare(5, "tenant")),
    ],
)
def test_who_asks_for_nothing_looks_at_nothing(settings: GroupSettings, expected: object) -> None:
    assert selection_for(GroupTerms(GroupMode.SHARED, settings), DeliverySettings()) == expected


def test_a_lease_that_an_old_receipt_revives_counts_for_no_key_that_is_not_known() -> None:
    bench = FairBench((NOISY, 3), per_key=1)
    bench.receive()
    bench.fail_over()
    stale = Lease(0, 1, 0, 1)
    bench.group.extend([stale], visibility_ms=500, readable_end=3, now_ms=bench.now_ms, wall_now_ms=bench.now_ms)
    assert bench.receive_offsets(3) == []  # it is met on the way, and then it counts
    assert bench.reason() == "IN_FLIGHT_LIMIT_PER_KEY"
