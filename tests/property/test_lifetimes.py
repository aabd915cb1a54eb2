"""Groups of every mode over messages that live for some time only: any interleaving, against a plain model (R41).

The model is what was acknowledged, and when each message expires. Whatever happens, failovers and records that could
not be written among it: nobody is given what has expired, nothing is passed over before it has, each key and partition
keeps its order, and in the end all is done, as its acks and the clock say. That holds where attempts are used up, too:
a letter says so only of what had not expired when it came back, and nobody has to decide about what has expired.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from cluster.model.values import Exhausted, Expired, Group, GroupMode, GroupSettings
from storage.delivery.candidates import CandidateIndex, CandidateRun
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.handover import ClaimVerdict, OwnershipClaim
from storage.delivery.leases import Lease
from storage.delivery.outlived import outlive_given_up
from storage.delivery.partition_delivery import PartitionDelivery
from storage.delivery.records import Returned, SkipCause, Skipped, Started, decode_records, encode_records, offsets_of

GROUP = "group00000000"
COUNT = 12
KEYS = 3


class LifetimeMachine(RuleBasedStateMachine):
    """The group decides what is leased; the reader of that is here, and knows when each message expires."""

    mode = GroupMode.SHARED
    on_expired = Expired.SKIP
    on_exhausted = Exhausted.DEAD_LETTER
    max_attempts = 100

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 1_000
        self.leader_epoch = 0
        self.log: list[bytes] = []
        self.undecided: list[Any] = []
        self.held: list[Lease] = []
        self.acked: set[int] = set()
        self.given_up: set[int] = set()
        self.expires_ms = {offset: 1_000 + (10, 40, 1_000_000)[offset * 7 % 5 % 3] + offset for offset in range(COUNT)}
        self.fail_over()
        self.write(Started(GROUP, 0))
        self.claim()

    # --- the world -------------------------------------------------------------------------------------------------

    @property
    def group(self) -> GroupInPartition:
        terms = GroupSettings(
            max_attempts=self.max_attempts,
            on_expired=self.on_expired,
            on_exhausted=self.on_exhausted,
            retry_backoff_min_ms=0,
        )
        group = self.partition.as_it_is_set(Group(GROUP, "workers", 0, self.mode, terms))
        assert group is not None
        return group

    def claim(self) -> None:
        while self.mode is GroupMode.EXCLUSIVE:
            claim = OwnershipClaim("ada", 1)
            decision = self.group.claim(claim, now_ms=self.now_ms, wall_now_ms=self.now_ms)
            if decision.verdict is ClaimVerdict.OWNED:
                return
            for record in decision.records:
                self.write(record)

    def write(self, record: Any) -> None:
        if record is None:
            return
        self.log.append(encode_records([record]))
        if isinstance(record, Skipped):
            assert record.cause == SkipCause.EXPIRED
            for offset in offsets_of(record.runs):
                assert offset not in self.acked
                assert self.expires_ms[offset] <= self.now_ms, "passed over while it could be delivered"
        self.partition.apply(decode_records(self.log[-1]), now_ms=self.now_ms, wall_now_ms=self.now_ms)

    def decide(self, record: Any) -> None:
        """It is on its way to the log."""
        if record is not None:
            self.undecided.append(record)

    # --- rules -----------------------------------------------------------------------------------------------------

    @rule(max_messages=st.integers(1, COUNT), visibility_ms=st.sampled_from([5, 50]))
    def receive(self, max_messages: int, visibility_ms: int) -> None:
        index = CandidateIndex(runs_max=COUNT)
        runs = [CandidateRun(offset, offset + 1, key_hash=offset % KEYS) for offset in range(COUNT)]
        index.feed(0, COUNT, runs)
        leases = self.group.receive(
            index,
            consumer="ada",
            max_messages=max_messages,
            visibility_ms=visibility_ms,
            readable_end=COUNT,
            now_ms=self.now_ms,
        ).leases
        expired = [lease for lease in leases if self.expires_ms[lease.offset] <= self.now_ms]
        if expired and self.on_expired is Expired.DEAD_LETTER and not self.group.passes_damage:
            surplus = [lease for lease in leases if lease.offset > expired[0].offset]
            expired, leases = expired[:1], [lease for lease in leases if lease.offset <= expired[0].offset]
        else:
            surplus = []
        if expired:
            self.decide(self.group.outlive(expired, wall_now_ms=self.now_ms))
        if surplus:
            self.group.release(surplus)
        for lease in leases:
            if lease in expired:
                continue
            assert lease.offset not in self.acked, "it was acknowledged"
            self.check_order(lease)
            self.held.append(lease)

    def check_order(self, lease: Lease) -> None:
        """What is before it, of its key or partition, was given out, or cannot be any more."""
        if self.mode is GroupMode.SHARED:
            return
        step = KEYS if self.mode is GroupMode.KEY_ORDERED else 1
        held = {each.offset for each in self.held}
        for before in range(lease.offset % step, lease.offset, step):
            is_done = before in self.acked or before in self.given_up
            assert before in held or is_done or self.expires_ms[before] <= self.now_ms, "out of its order"

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def ack(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.held))
        settlement = self.group.ack([lease], readable_end=COUNT)
        if settlement.record is not None:
            self.decide(settlement.record)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def nack(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.held))
        settlement = self.group.nack(
            [lease],
            delay_ms=data.draw(st.sampled_from([0, 15])),
            jitter=0.0,
            readable_end=COUNT,
            wall_now_ms=self.now_ms,
        )
        self.decide(settlement.record)

    @rule()
    def expire(self) -> None:
        self.decide(self.group.expire(now_ms=self.now_ms, wall_now_ms=self.now_ms, limit=COUNT))

    @rule()
    def dead_letters(self) -> None:
        for letter in self.group.dead_letters(limit=COUNT, now_ms=self.now_ms):
            if letter.is_expired:
                assert self.on_expired is Expired.DEAD_LETTER
                assert self.expires_ms[letter.offset] <= self.now_ms
            elif letter.history.last_ms >= self.expires_ms[letter.offset]:
                self.outlive([letter.offset])
                self.group.dead_letter_failed([letter.offset], retry_at_ms=self.now_ms)
                continue
            else:
                assert self.on_exhausted is Exhausted.DEAD_LETTER
                assert letter.attempts == self.max_attempts
                self.given_up.add(letter.offset)
            self.decide(self.group.dead_lettered([letter.offset]))

    @rule()
    def end_blocked(self) -> None:
        blocked = self.group.state.blocked
        for offset in blocked.unknown(limit=COUNT):
            blocked.found(offset, append_time_ms=0, ttl_ms=self.expires_ms[offset])
        ended = blocked.ended(now_ms=self.now_ms, topic_ttl_ms=None, limit=COUNT)
        assert set(ended) == {offset for offset in blocked if self.expires_ms[offset] <= self.now_ms}
        self.outlive(ended)

    def outlive(self, offsets: list[int]) -> None:
        record = outlive_given_up(
            self.group.state,
            offsets,
            on_expired=self.on_expired,
            leader_epoch=self.leader_epoch,
            wall_now_ms=self.now_ms,
        )
        self.decide(record)

    @precondition(lambda self: self.undecided)
    @rule(is_written=st.booleans())
    def decided(self, is_written: bool) -> None:
        """In the order of the log; a record that fails takes all behind it with it."""
        if is_written:
            record = self.undecided.pop(0)
            self.write(record)
            self.note_acked(record)
            return
        failed, self.undecided = self.undecided, []
        self.partition.abort(failed, now_ms=self.now_ms)

    def note_acked(self, record: Any) -> None:
        if type(record).__name__ == "Acked" and record.generation == self.group.generation:
            self.acked.update(offsets_of(record.runs))
        if isinstance(record, Returned):
            assert all(item.attempts <= self.max_attempts for item in record.items)

    @rule(ms=st.sampled_from([1, 7, 30]))
    def tick(self, ms: int) -> None:
        self.now_ms += ms

    @rule()
    def fail_over(self) -> None:
        """From the log alone; of what was undecided nothing is there."""
        self.undecided.clear()
        self.leader_epoch += 1
        self.partition = PartitionDelivery(leader_epoch=self.leader_epoch, groups_max=1)
        for data in self.log:
            self.partition.apply(decode_records(data), now_ms=self.now_ms, wall_now_ms=self.now_ms)

    @rule()
    def restore(self) -> None:
        """From a snapshot, which is what the log says."""
        snapshot = self.partition.snapshot()
        self.fail_over()
        assert self.partition.snapshot() == snapshot
        self.partition = PartitionDelivery(leader_epoch=self.leader_epoch, groups_max=1)
        self.partition.restore(snapshot, now_ms=self.now_ms, wall_now_ms=self.now_ms)
        assert self.partition.snapshot() == snapshot

    @invariant()
    def holds(self) -> None:
        self.partition.check_invariants()

    def teardown(self) -> None:
        """Whoever goes on gets what has not expired, and no more; then all is done, and no person was needed."""
        if self.on_exhausted is Exhausted.BLOCK:
            self.now_ms += 1_000_000
        while self.undecided:
            self.decided(is_written=True)
        for _ in range(10 * COUNT):
            if self.group.progress == COUNT:
                break
            self.now_ms += 100
            for step in (self.expire, self.dead_letters, self.end_blocked):
                step()
                while self.undecided:
                    self.decided(is_written=True)
            before = len(self.held)
            self.receive(COUNT, 50)
            while self.undecided:
                self.decided(is_written=True)
            settlement = self.group.ack(self.held[before:], readable_end=COUNT)
            if settlement.record is not None:
                self.write(settlement.record)
                self.note_acked(settlement.record)
        assert self.group.progress == COUNT, "something is neither delivered nor passed over"
        for offset in range(COUNT):
            if offset not in self.acked and offset not in self.given_up:
                assert self.expires_ms[offset] <= self.now_ms, "it was passed over, and could be delivered"


@pytest.mark.parametrize("on_expired", list(Expired))
@pytest.mark.parametrize("mode", list(GroupMode))
def test_lifetimes(mode: GroupMode, on_expired: Expired) -> None:
    check({"mode": mode, "on_expired": on_expired})


@pytest.mark.parametrize("on_expired", list(Expired))
@pytest.mark.parametrize("mode", list(GroupMode))
def test_lifetimes_of_what_uses_up_its_attempts(mode: GroupMode, on_expired: Expired) -> None:
    check({"mode": mode, "on_expired": on_expired, "max_attempts": 2})


@pytest.mark.parametrize("on_expired", list(Expired))
@pytest.mark.parametrize("mode", [GroupMode.KEY_ORDERED, GroupMode.EXCLUSIVE])
def test_lifetimes_of_what_waits_for_a_person(mode: GroupMode, on_expired: Expired) -> None:
    check({"mode": mode, "on_expired": on_expired, "max_attempts": 2, "on_exhausted": Exhausted.BLOCK})


def check(terms: dict[str, Any]) -> None:
    machine = type("Machine", (LifetimeMachine,), terms)
    quick = settings(max_examples=60, stateful_step_count=40, suppress_health_check=list(HealthCheck), deadline=None)
    run_state_machine_as_test(machine, settings=quick)
