"""Exclusive groups in one partition: what order and ownership mean for attempts, dead letters and receipts."""

from acklog.wire.problems import ProblemCode
from cluster.model.values import Group, GroupMode, GroupSettings
from storage.delivery.candidates import CandidateIndex
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.handover import ClaimVerdict, OwnershipClaim
from storage.delivery.leases import Lease, counted_attempt
from storage.delivery.partition_delivery import PartitionDelivery, decode_snapshot, encode_snapshot
from storage.delivery.records import Started, decode_records, encode_records

SETTINGS = GroupSettings(max_attempts=2, rebalance_timeout_ms=5_000)
GROUP = Group("group00000000", "orders", 0, GroupMode.EXCLUSIVE, SETTINGS)


class ExclusiveBench:
    """A host that writes at once."""

    def __init__(self, readable_end: int = 6) -> None:
        self.now_ms = 1_000
        self.readable_end = readable_end
        self.partition = PartitionDelivery(leader_epoch=1, groups_max=1)
        self.write(Started(GROUP.id, 0))

    @property
    def group(self) -> GroupInPartition:
        group = self.partition.as_it_is_set(GROUP)
        assert group is not None
        return group

    def write(self, *records) -> None:
        decoded = decode_records(encode_records(list(records)))
        self.partition.apply(decoded, now_ms=self.now_ms, wall_now_ms=self.now_ms)
        self.partition.check_invariants()

    def claim(self, member: str, ownership: int, **said: int) -> ClaimVerdict:
        claim = OwnershipClaim(member, ownership, **said)
        decision = self.group.claim(claim, now_ms=self.now_ms, wall_now_ms=self.now_ms)
        if decision.records:
            self.write(*decision.records)
            return self.claim(member, ownership)
        return decision.verdict

    def receive(self, max_messages: int = 10, *, visibility_ms: int = 1_000) -> list[Lease]:
        return self.group.receive(
            CandidateIndex(runs_max=1),
            consumer="c",
            max_messages=max_messages,
            visibility_ms=visibility_ms,
            readable_end=self.readable_end,
            now_ms=self.now_ms,
        ).leases

    def ack(self, *leases: Lease) -> list[ProblemCode | None]:
        settlement = self.group.ack(leases, readable_end=self.readable_end)
        if settlement.record is not None:
            self.write(settlement.record)
        return settlement.results

    def nack(self, *leases: Lease, delay_ms: int = 0) -> list[ProblemCode | None]:
        settlement = self.group.nack(
            leases, delay_ms=delay_ms, jitter=0.0, readable_end=self.readable_end, wall_now_ms=self.now_ms
        )
        if settlement.record is not None:
            self.write(settlement.record)
        return settlement.results

    def expire(self) -> None:
        record = self.group.expire(now_ms=self.now_ms, wall_now_ms=self.now_ms, limit=10)
        if record is not None:
            self.write(record)


def told(leases: list[Lease]) -> list[tuple[int, int]]:
    return [(lease.offset, counted_attempt(lease.attempt)) for lease in leases]


def test_of_a_run_that_ran_out_the_first_message_was_tried() -> None:
    bench = ExclusiveBench()
    assert bench.claim("ada", 1) is ClaimVerdict.OWNED
    bench.receive(3)
    bench.now_ms += 1_000
    bench.expire()
    assert told(bench.receive()) == [(0, 2), (1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]


def test_nothing_goes_out_behind_a_lease_that_has_run_out_before_that_is_noticed() -> None:
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    bench.ack(bench.receive(2)[0])
    bench.now_ms += 1_000
    assert bench.receive() == []
    bench.expire()
    assert told(bench.receive(2)) == [(1, 2), (2, 1)]


def test_what_was_done_before_a_rewind_is_not_given_again() -> None:
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    run = bench.receive(4)
    bench.nack(run[1])
    assert bench.ack(run[3]) == [None]
    assert bench.ack(run[0]) == [None]
    assert told(bench.receive()) == [(1, 2), (2, 1), (4, 1), (5, 1)]


def test_a_receipt_of_before_a_rewind_is_stale_once_it_was_given_out_again() -> None:
    """The attempt that it was does not count, so the next lease has the same number of it."""
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    first, second, third = bench.receive(3)
    bench.nack(first)
    assert bench.ack(third) == [None]
    [_, again] = bench.receive(2)
    assert counted_attempt(again.attempt) == counted_attempt(second.attempt) == 1
    assert bench.nack(second) == [ProblemCode.RECEIPT_STALE]
    assert bench.ack(second) == [ProblemCode.RECEIPT_STALE]
    assert bench.group.in_flight_count == 2
    assert bench.nack(again) == [None]
    assert bench.ack(second) == [ProblemCode.RECEIPT_STALE]
    assert bench.ack(again) == [None]


def test_a_message_that_fails_too_often_goes_to_the_dead_letters_and_then_it_goes_on() -> None:
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    bench.nack(bench.receive(2)[0])
    bench.nack(bench.receive(2)[0])
    assert bench.receive() == []
    [letter] = bench.group.dead_letters(limit=10, now_ms=bench.now_ms)
    assert (letter.offset, letter.attempts) == (0, 2)
    bench.write(bench.group.dead_lettered([0]))
    assert told(bench.receive(2)) == [(1, 1), (2, 1)]


def test_a_letter_has_the_same_name_for_the_next_owner() -> None:
    """Else it would be written twice: the name is what the dead-letter topic knows it by."""
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    for _ in range(SETTINGS.max_attempts):
        bench.nack(bench.receive(1)[0])
    [before] = bench.group.dead_letters(limit=10, now_ms=bench.now_ms)
    decision = bench.group.claim(OwnershipClaim("bob", 2), now_ms=bench.now_ms, wall_now_ms=bench.now_ms)
    assert bench.group.dead_lettered([before.offset]).runs == []  # it would be void behind the claim
    bench.write(*decision.records)
    assert bench.group.dead_letters(limit=10, now_ms=bench.now_ms) == [before]
    bench.write(bench.group.seek(0))
    for _ in range(SETTINGS.max_attempts):
        bench.nack(bench.receive(1)[0])
    [after_seek] = bench.group.dead_letters(limit=10, now_ms=bench.now_ms)
    assert after_seek.generation != before.generation


def test_while_the_claim_is_being_written_nothing_is_settled() -> None:
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    run = bench.receive(2)
    claim = OwnershipClaim("bob", 2, gone_since=1)
    decision = bench.group.claim(claim, now_ms=bench.now_ms, wall_now_ms=bench.now_ms)
    assert bench.ack(run[0]) == [ProblemCode.UNAVAILABLE]
    assert bench.nack(run[0]) == [ProblemCode.UNAVAILABLE]
    for record in decision.records:
        bench.group.abort(record, now_ms=bench.now_ms)
    assert bench.ack(run[0]) == [None]
    assert bench.claim("bob", 2, gone_since=1) is ClaimVerdict.OWNED
    assert told(bench.receive(1)) == [(1, 2)]
    assert bench.ack(run[1]) == [ProblemCode.RECEIPT_STALE]


def test_an_owner_may_finish_for_so_long_and_the_timer_knows() -> None:
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    bench.receive(2, visibility_ms=60_000)
    assert bench.claim("bob", 2) is ClaimVerdict.WAITING
    assert bench.claim("ada", 1) is ClaimVerdict.FENCED
    assert bench.group.empty_reason(readable_end=6, now_ms=bench.now_ms) == "REBALANCING"
    assert bench.group.next_deadline() == bench.now_ms + SETTINGS.rebalance_timeout_ms
    bench.now_ms += SETTINGS.rebalance_timeout_ms
    bench.expire()
    assert bench.claim("bob", 2) is ClaimVerdict.OWNED


def test_an_owner_that_lives_is_waited_for_whoever_left_between() -> None:
    """Bob never came and left: that says nothing of ada, who has messages in hand."""
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    run = bench.receive(2)
    assert bench.claim("eve", 3, gone_since=2, left_since=2) is ClaimVerdict.WAITING
    assert bench.ack(*run) == [None, None]
    assert bench.claim("eve", 3, gone_since=2, left_since=2) is ClaimVerdict.OWNED
    assert told(bench.receive(1)) == [(2, 1)]


def test_an_owner_is_not_waited_for_where_all_are_gone_up_to_the_one_that_claims() -> None:
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    bench.receive(2)
    assert bench.claim("bob", 2) is ClaimVerdict.WAITING
    assert bench.claim("eve", 3, gone_since=1) is ClaimVerdict.OWNED
    assert told(bench.receive(2)) == [(0, 2), (1, 1)]


def test_what_is_known_to_be_gone_is_so_for_the_next_claim_too() -> None:
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    bench.receive(2)
    claim = OwnershipClaim("bob", 2, gone_since=1)
    assert bench.group.claim(claim, now_ms=bench.now_ms, wall_now_ms=bench.now_ms).verdict is ClaimVerdict.DUE
    writing = bench.group.claim(claim, now_ms=bench.now_ms, wall_now_ms=bench.now_ms)
    assert writing.verdict is ClaimVerdict.WAITING
    assert bench.claim("eve", 3) is ClaimVerdict.WAITING  # for the record


def test_what_its_owner_had_that_left_was_not_tried() -> None:
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    bench.receive(3)
    assert bench.claim("bob", 2, gone_since=1, left_since=1) is ClaimVerdict.OWNED
    assert told(bench.receive(3)) == [(0, 1), (1, 1), (2, 1)]
    assert bench.claim("eve", 3, gone_since=1, left_since=3) is ClaimVerdict.OWNED  # bob's session was over
    assert told(bench.receive(3)) == [(0, 2), (1, 1), (2, 1)]


def test_a_claim_of_an_earlier_version_says_of_nobody_that_it_is_gone() -> None:
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    bench.receive(1)
    assert bench.claim("bob", 2) is ClaimVerdict.WAITING


def test_message_ids_settle_nothing() -> None:
    bench = ExclusiveBench()
    bench.claim("ada", 1)
    bench.receive(1)
    assert bench.ack(Lease(0, 0, 0, 0)) == [ProblemCode.WRONG_GROUP_MODE]
    assert bench.group.progress == 0


def test_a_snapshot_has_the_owner_and_one_of_an_earlier_version_has_none() -> None:
    bench = ExclusiveBench()
    bench.claim("ada", 7)
    [snapshot] = decode_snapshot(encode_snapshot([bench.group.snapshot()]))
    restored = PartitionDelivery(leader_epoch=2, groups_max=1)
    restored.restore(encode_snapshot([snapshot]), now_ms=0, wall_now_ms=0)
    group = restored.as_it_is_set(GROUP)
    assert group is not None
    assert group.claim(OwnershipClaim("bob", 6), now_ms=0, wall_now_ms=0).verdict is ClaimVerdict.FENCED
    assert group.claim(OwnershipClaim("ada", 7), now_ms=0, wall_now_ms=0).verdict is ClaimVerdict.OWNED


def test_who_is_refused_hears_what_number_it_would_have_needed() -> None:
    bench = ExclusiveBench()
    bench.claim("ada", 7)

    def needed(member: str, ownership: int) -> int:
        decision = bench.group.claim(OwnershipClaim(member, ownership), now_ms=bench.now_ms, wall_now_ms=0)
        return decision.needed

    assert needed("bob", 3) == 7  # ada's own claim would do
    assert needed("bob", 7) == 8  # the number is ada's: it was given out twice
    assert needed("ada", 7) == 0
    bench.receive(1)
    assert bench.claim("bob", 9) is ClaimVerdict.WAITING
    assert needed("ada", 7) == 9
