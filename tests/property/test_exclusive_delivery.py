"""Any interleaving of members, claims, settlements and failovers of an exclusive group, against a plain model."""

from dataclasses import dataclass

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from acklog.wire.problems import ProblemCode
from cluster.model.values import Exhausted, Group, GroupMode, GroupSettings
from storage.delivery.candidates import CandidateIndex
from storage.delivery.exclusive_delivery import ExclusiveDelivery
from storage.delivery.handover import ClaimVerdict, OwnershipClaim
from storage.delivery.leases import Lease, counted_attempt
from storage.delivery.partition_delivery import PartitionDelivery
from storage.delivery.records import Started, decode_records, encode_records
from tests.property.exclusive_oracle import ExclusiveOracle, Message

SETTINGS = GroupSettings(max_attempts=3, retry_backoff_min_ms=10, retry_backoff_max_ms=40, max_in_flight=6)
GROUP = Group("group00000000", "orders", 0, GroupMode.EXCLUSIVE, SETTINGS)
MESSAGES_MAX = 16
VISIBILITY_MS = 20
MEMBERS = st.sampled_from(["ada", "bob", "eve"])


@dataclass
class Undecided:
    """Records on their way to the log in one batch, with what the model says that they mean."""

    records: list
    offsets: list[int]
    meaning: object
    holds: bool = False
    """They give back, and hold up what is behind them."""


class ExclusiveMachine(RuleBasedStateMachine):
    as_set = GROUP

    def __init__(self) -> None:
        super().__init__()
        self.oracle = ExclusiveOracle()
        self.now_ms = 1000
        self.leader_epoch = 1
        self.log: list[bytes] = []
        self.undecided: list[Undecided] = []
        self.receipts: list[tuple[int, Lease]] = []
        self.newest: dict[int, Lease] = {}
        self.handed: list[int] = []
        self.owners = {1: "ada"}
        self.newest_served = 0
        self.first_delivered_below = 0
        self.log_start = 0
        self.partition = self.new_partition()
        self.write([Started(GROUP.id, 0)])
        self.append(4)

    # --- the world -------------------------------------------------------------------------------------------------

    def new_partition(self) -> PartitionDelivery:
        return PartitionDelivery(leader_epoch=self.leader_epoch, groups_max=1)

    @property
    def group(self) -> ExclusiveDelivery:
        group = self.partition.as_it_is_set(self.as_set)
        assert isinstance(group, ExclusiveDelivery)
        return group

    @property
    def claim_is_being_written(self) -> bool:
        return any(type(each.records[-1]).__name__ == "Claimed" for each in self.undecided)

    @property
    def pending(self) -> set[int]:
        return {
            offset
            for each in self.undecided
            if each.offsets and each.records[0].generation == self.oracle.generation
            for offset in each.offsets
        }

    def write(self, records) -> None:
        self.log.append(encode_records(records))
        self.apply(self.partition, self.log[-1])

    def apply(self, partition: PartitionDelivery, data: bytes) -> None:
        partition.apply(decode_records(data), now_ms=self.now_ms, wall_now_ms=self.now_ms)

    def decide(self, records, offsets, meaning, *, holds=False) -> None:
        self.undecided.append(Undecided(records, list(offsets), meaning, holds))

    # --- members ---------------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.owners) < 8)
    @rule(member=MEMBERS, fate=st.sampled_from(["lives", "lives", "died", "left"]))
    def reassign(self, member: str, fate: str) -> None:
        """The coordinator gives the partition to another one, who does not know yet."""
        self.oracle.fates[max(self.owners)] = fate
        self.owners[max(self.owners) + 1] = member

    def claim_of(self, ownership: int) -> OwnershipClaim:
        """It says since when the owners before are gone, whoever owns the partition."""
        fates = self.oracle.fates
        gone_since = left_since = ownership
        while fates.get(gone_since - 1, "lives") != "lives":
            gone_since -= 1
        while fates.get(left_since - 1) == "left":
            left_since -= 1
        return OwnershipClaim(self.owners[ownership], ownership, gone_since, left_since)

    @rule(data=st.data(), max_messages=st.integers(1, 5))
    def receive(self, data: st.DataObject, max_messages: int) -> None:
        oracle = self.oracle
        likely = max(self.owners)
        ownership = data.draw(st.sampled_from([likely, likely, max(oracle.owner, 1), *self.owners]))
        claim = self.claim_of(ownership)
        had_out = bool(oracle.out)
        decision = self.group.claim(claim, now_ms=self.now_ms, wall_now_ms=self.now_ms)
        if ownership < max(oracle.seen, oracle.owner):
            assert decision.verdict is ClaimVerdict.FENCED
            return
        oracle.seen = max(oracle.seen, ownership)
        if ownership != oracle.owner:
            oracle.is_over |= oracle.is_gone(ownership)
            is_due = not self.claim_is_being_written and (oracle.is_over or not had_out)
            assert decision.verdict is (ClaimVerdict.DUE if is_due else ClaimVerdict.WAITING)
        else:
            assert decision.verdict is ClaimVerdict.OWNED
        if decision.verdict is ClaimVerdict.DUE:
            self.begin_claim(list(decision.records), ownership)
        elif decision.verdict is ClaimVerdict.OWNED:
            self.lease(ownership, max_messages)

    def begin_claim(self, records: list, ownership: int) -> None:
        returned, claimed = records[:-1], records[-1]
        first = min((offset for offset in self.oracle.out if offset not in self.pending), default=None)
        if self.oracle.has_left(ownership):
            first = None  # what it had in hand was not tried
        assert [[item.offset for item in each.items] for each in returned] == ([] if first is None else [[first]])

        def meaning() -> None:
            for each in returned:
                self.give_back(each)
            self.oracle.claim(ownership, claimed.generation)

        self.decide(records, [] if first is None else [first], meaning, holds=True)

    def lease(self, ownership: int, max_messages: int) -> None:
        oracle = self.oracle
        room = min(max_messages, SETTINGS.max_in_flight - len(oracle.out))
        expected = oracle.next_run(room=room, pending=self.pending, now_ms=self.now_ms)
        if any(each.holds and each.records[0].generation == oracle.generation for each in self.undecided):
            expected = []
        overdue = {offset for offset, each in oracle.out.items() if each.deadline_ms <= self.now_ms}
        if overdue - self.pending:
            expected = []
        leases = self.group.receive(
            CandidateIndex(runs_max=1),
            consumer=self.owners[ownership],
            max_messages=max_messages,
            visibility_ms=VISIBILITY_MS,
            readable_end=oracle.end,
            now_ms=self.now_ms,
        ).leases
        may_be_held = bool(overdue)  # by one whose ack is on its way, as long as its end was not noticed
        assert [lease.offset for lease in leases] == expected or (may_be_held and not leases)
        if not leases:
            return
        assert ownership >= self.newest_served, "a deposed member was served"
        self.newest_served = ownership
        oracle.give(expected, [lease.attempt for lease in leases], self.now_ms + VISIBILITY_MS)
        for lease in leases:
            message = oracle.messages[lease.offset]
            assert not message.is_done
            assert counted_attempt(lease.attempt) == message.attempts + 1 <= self.as_set.settings.max_attempts
            if not message.was_first_delivered:
                assert lease.offset >= self.first_delivered_below, "its first delivery is behind that of a later one"
                message.was_first_delivered = True
                self.first_delivered_below = lease.offset + 1
            assert self.newest.get(lease.offset) != lease, "two leases have one receipt"
            self.newest[lease.offset] = lease
            self.receipts.append((ownership, lease))
        del self.receipts[:-30]

    # --- settling --------------------------------------------------------------------------------------------------

    def some_receipts(self, data: st.DataObject) -> list[tuple[int, Lease]]:
        return data.draw(
            st.lists(st.sampled_from(self.receipts), min_size=1, max_size=3, unique_by=lambda e: e[1].offset)
        )

    def is_deposed(self, lease: Lease) -> bool:
        return lease.generation < self.oracle.generation

    @precondition(lambda self: self.receipts)
    @rule(data=st.data())
    def ack(self, data: st.DataObject) -> None:
        oracle = self.oracle
        items = self.some_receipts(data)
        decision = self.group.ack([lease for _, lease in items], readable_end=oracle.end)
        done = []
        for (_, lease), result in zip(items, decision.results, strict=True):
            if self.claim_is_being_written:
                assert result is ProblemCode.UNAVAILABLE
            elif oracle.messages[lease.offset].is_done:
                assert result is None
            elif self.is_deposed(lease):
                assert result is ProblemCode.RECEIPT_STALE
            elif result is None:
                assert self.is_newest(lease)
                done.append(lease.offset)
                if self.is_live(lease):
                    oracle.confirm(lease.offset)
            else:
                assert not self.is_live(lease), result
        if decision.record is not None:
            generation = decision.record.generation
            self.decide([decision.record], done, lambda: oracle.done(done, generation))

    def is_newest(self, lease: Lease) -> bool:
        """As far as this leader can know: a failover forgets who had a message."""
        return self.newest[lease.offset] == lease or lease.leader_epoch < self.leader_epoch

    def is_live(self, lease: Lease) -> bool:
        out = self.oracle.out.get(lease.offset)
        if out is None or lease.generation != self.oracle.generation:
            return False
        return (lease.leader_epoch, lease.attempt) == (self.leader_epoch, out.attempt)

    @precondition(lambda self: self.receipts)
    @rule(data=st.data(), delay_ms=st.sampled_from([0, 15]))
    def nack(self, data: st.DataObject, delay_ms: int) -> None:
        items = self.some_receipts(data)
        decision = self.group.nack(
            [lease for _, lease in items],
            delay_ms=delay_ms,
            jitter=0.0,
            readable_end=self.oracle.end,
            wall_now_ms=self.now_ms,
        )
        for (_, lease), result in zip(items, decision.results, strict=True):
            if self.is_live(lease) and not self.claim_is_being_written:
                assert result is None
            elif self.is_deposed(lease) and not self.claim_is_being_written:
                assert result is ProblemCode.RECEIPT_STALE
            elif result is None:
                assert self.is_newest(lease)
        if decision.record is not None:
            record = decision.record
            self.decide([record], [each.offset for each in record.items], lambda: self.give_back(record), holds=True)

    def give_back(self, record) -> None:
        due = {
            item.offset: None if item.delay_ms < 0 else record.wall_ms + item.delay_ms  # both clocks are one here
            for item in record.items
        }
        self.oracle.give_back({item.offset: item.attempts for item in record.items}, due, record.generation)

    @precondition(lambda self: self.receipts)
    @rule(data=st.data())
    def extend(self, data: st.DataObject) -> None:
        items = self.some_receipts(data)
        decision = self.group.extend(
            [lease for _, lease in items],
            visibility_ms=VISIBILITY_MS,
            readable_end=self.oracle.end,
            now_ms=self.now_ms,
            wall_now_ms=self.now_ms,
        )
        is_under_way = max(self.oracle.seen, self.oracle.owner) > self.oracle.owner
        for (_, lease), result in zip(items, decision.results, strict=True):
            if result is None:
                assert self.is_live(lease)
                assert not is_under_way
                self.oracle.out[lease.offset].deadline_ms = self.now_ms + VISIBILITY_MS
            if self.is_live(lease) and not self.claim_is_being_written:
                self.oracle.confirm(lease.offset)

    @precondition(lambda self: self.receipts)
    @rule()
    def answer_is_lost(self) -> None:
        """All leases of the last receive, as its answer could not be written."""
        run = {offset for offset, each in self.oracle.out.items() if each.run == self.oracle.runs}
        leases = [lease for _, lease in self.receipts if lease.offset in run and self.is_live(lease)]
        self.group.release(leases)
        free = [lease.offset for lease in leases if lease.offset not in self.pending]
        if free:
            self.oracle.rewind(min(free))

    @rule()
    def expire(self) -> None:
        overdue = [
            offset
            for offset, each in self.oracle.out.items()
            if each.deadline_ms <= self.now_ms and offset not in self.pending
        ]
        record = self.group.expire(now_ms=self.now_ms, wall_now_ms=self.now_ms, limit=10)
        if self.claim_is_being_written:
            assert record is None
        elif not any(each.holds for each in self.undecided):  # else what is under way may end these leases, too
            assert [item.offset for item in (record.items if record else [])] == sorted(overdue)[:1]
        if record is not None:
            assert [item.offset for item in record.items] == [min(overdue)]
            self.decide([record], [min(overdue)], lambda: self.give_back(record), holds=True)

    @rule()
    def hand_dead_letters(self) -> None:
        for letter in self.group.dead_letters(limit=3, now_ms=self.now_ms):
            assert self.oracle.messages[letter.offset].is_given_up
            self.handed.append(letter.offset)

    @precondition(lambda self: self.handed)
    @rule()
    def finish_dead_letters(self) -> None:
        offsets, self.handed = self.handed, []
        record = self.group.dead_lettered(offsets)
        if record.runs:
            dying = [offset for offset in offsets if self.oracle.messages[offset].is_given_up]
            self.decide([record], dying, lambda: self.oracle.done(dying, record.generation))

    # --- positions -------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.oracle.end < MESSAGES_MAX)
    @rule(count=st.integers(1, 4))
    def append(self, count: int) -> None:
        self.oracle.messages += [Message() for _ in range(count)]

    @rule(data=st.data())
    def seek(self, data: st.DataObject) -> None:
        target = data.draw(st.integers(self.log_start, self.oracle.end))
        record = self.group.seek(target)

        def meaning() -> None:
            self.oracle.seek(target, record.generation)
            self.first_delivered_below = 0
            self.handed = []

        self.decide([record], [], meaning)

    @precondition(lambda self: self.undecided)
    @rule(count=st.integers(1, 3))
    def commit(self, count: int) -> None:
        for each in self.undecided[:count]:
            self.undecided.remove(each)
            self.write(each.records)
            each.meaning()

    @precondition(lambda self: self.undecided)
    @rule()
    def abort(self) -> None:
        failed, self.undecided = self.undecided, []
        for each in failed:
            self.partition.abort(each.records, now_ms=self.now_ms)
            self.handed = [offset for offset in self.handed if offset not in each.offsets]

    @rule(elapsed_ms=st.integers(1, 30))
    def pass_time(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms

    @rule(written=st.integers(0, 3))
    def fail_over(self, written: int) -> None:
        for each in self.undecided[:written]:
            self.write(each.records)
            each.meaning()
        self.undecided, self.handed = [], []
        committed = self.partition.snapshot()
        self.leader_epoch += 1
        self.partition = self.new_partition()
        for data in self.log:
            self.apply(self.partition, data)
        assert self.partition.snapshot() == committed
        restored = self.new_partition()
        restored.restore(committed, now_ms=self.now_ms, wall_now_ms=self.now_ms)
        assert restored.snapshot() == committed
        self.oracle.restart(self.now_ms)

    # --- what always holds -----------------------------------------------------------------------------------------

    @invariant()
    def state_is_the_models(self) -> None:
        group, oracle = self.group, self.oracle
        self.partition.check_invariants()
        assert group.progress == oracle.progress
        assert group.generation == oracle.generation
        assert group.in_flight_count == len(oracle.out)

    @invariant()
    def what_happens_by_itself_has_a_deadline(self) -> None:
        if self.claim_is_being_written:
            return
        times = [each.deadline_ms for offset, each in self.oracle.out.items() if offset not in self.pending]
        if times and not any(each.holds for each in self.undecided):
            deadline_ms = self.group.next_deadline()
            assert deadline_ms is not None
            assert deadline_ms <= max(times)

    def teardown(self) -> None:
        """Once nothing fails any more, an owner gets to the end."""
        for each in self.undecided:
            self.write(each.records)
            each.meaning()
        self.undecided = []
        ownership = max(max(self.owners), self.oracle.seen)
        claim = self.claim_of(ownership)
        for _ in range(20 * MESSAGES_MAX):
            self.now_ms += 30
            self.settle_what_time_does()
            decision = self.group.claim(claim, now_ms=self.now_ms, wall_now_ms=self.now_ms)
            if decision.records:
                self.write(list(decision.records))
                continue
            if decision.verdict is not ClaimVerdict.OWNED:
                continue
            leases = self.group.receive(
                CandidateIndex(runs_max=1),
                consumer="c",
                max_messages=3,
                visibility_ms=VISIBILITY_MS,
                readable_end=self.oracle.end,
                now_ms=self.now_ms,
            ).leases
            acked = self.group.ack(leases, readable_end=self.oracle.end)
            if acked.record is not None:
                self.write([acked.record])
            if self.group.progress == self.oracle.end:
                return
        raise AssertionError(f"it stands at {self.group.progress} of {self.oracle.end}")

    def settle_what_time_does(self) -> None:
        record = self.group.expire(now_ms=self.now_ms, wall_now_ms=self.now_ms, limit=10)
        if record is not None:
            self.write([record])
        letters = [*self.handed, *(each.offset for each in self.group.dead_letters(limit=9, now_ms=self.now_ms))]
        self.handed = []
        if letters:
            self.write([self.group.dead_lettered(letters)])


class BlockingMachine(ExclusiveMachine):
    """A group that blocks: what failed too often stays, and all behind it, until a person decides."""

    as_set = replace(GROUP, settings=replace(SETTINGS, max_attempts=1, on_exhausted=Exhausted.BLOCK))

    @property
    def blocked(self) -> list[int]:
        return [offset for offset, each in enumerate(self.oracle.messages) if each.is_given_up and not each.is_done]

    @precondition(lambda self: self.blocked)
    @rule(data=st.data(), is_release=st.booleans())
    def decide_about_blocked(self, data: st.DataObject, is_release: bool) -> None:
        offset, group = data.draw(st.sampled_from(self.blocked)), self.group
        verdict = group.release_blocked(offset, wall_now_ms=self.now_ms) if is_release else group.skip_blocked(offset)
        if self.claim_is_being_written or offset in self.pending:
            assert verdict == (ProblemCode.CONFLICT, None)
            return
        assert verdict.problem is None
        generation = verdict.record.generation

        def meaning() -> None:
            if is_release:
                self.oracle.let_go(offset, generation)
            else:
                self.oracle.done([offset], generation)

        self.decide([verdict.record], [offset], meaning, holds=is_release)

    @rule(data=st.data())
    def nothing_else_is_decided_about(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(0, self.oracle.end))
        if offset in self.blocked or self.claim_is_being_written:
            return
        assert self.group.release_blocked(offset, wall_now_ms=self.now_ms) == (ProblemCode.NOT_BLOCKED, None)
        assert self.group.skip_blocked(offset) == (ProblemCode.NOT_BLOCKED, None)

    @invariant()
    def what_is_blocked_is_known_and_gets_no_letter(self) -> None:
        assert [each.offset for each in self.group.blocked(at_or_above=0, limit=MESSAGES_MAX)] == self.blocked
        assert self.group.blocked_count == len(self.blocked)
        assert self.group.dead_letters(limit=1, now_ms=self.now_ms) == []

    def settle_what_time_does(self) -> None:
        super().settle_what_time_does()
        for each in self.group.blocked(at_or_above=0, limit=MESSAGES_MAX):
            decided = self.group.skip_blocked(each.offset)
            if decided.record is not None:
                self.write([decided.record])


SEARCH = settings(
    max_examples=150,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)
TestExclusiveDelivery = ExclusiveMachine.TestCase
TestExclusiveDelivery.settings = SEARCH
TestBlockingExclusiveDelivery = BlockingMachine.TestCase
TestBlockingExclusiveDelivery.settings = SEARCH
