"""Key-ordered groups under any interleaving, against a model that knows nothing but the log and what was settled.

Nothing of a key is given before what is before it is done or in the same answer, one run of a key is out at a time,
attempts count as they should, what is blocked holds up its key until it is released or skipped, what is remembered
stays within bounds, and everything is done in the end.
"""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from acklog.wire.problems import ProblemCode
from cluster.model.values import Exhausted, GroupSettings
from storage.delivery.candidates import NO_KEY
from storage.delivery.candidates import CandidateKind as Kind
from storage.delivery.candidates import CandidateRun as Run
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.key_order import KeyOrder
from storage.delivery.leases import Lease, counted_attempt
from tests.unit.storage.delivery.seeing_group import SeeingBench

OFFSETS_MAX = 80
VISIBILITY_MS = 100
_APPENDED = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.sampled_from([Kind.MESSAGE] * 9 + [Kind.GAP]),
        st.sampled_from([NO_KEY, 10, 10, 11, 11, 12, 13]),
    ),
    min_size=1,
    max_size=8,
)


class KeyOrderMachine(RuleBasedStateMachine):
    """`answers`: the leases that the consumers hold, by the answer that they came in."""

    @initialize(
        runs_max=st.integers(1, 8),
        ranges_max=st.integers(0, 6),
        ranges_of_key_max=st.integers(1, 3),
        batch=st.integers(1, 9),
        appended=_APPENDED,
        on_exhausted=st.sampled_from(Exhausted),
        attempts_max=st.sampled_from([1, 3]),
    )
    def begin(
        self,
        runs_max: int,
        ranges_max: int,
        ranges_of_key_max: int,
        batch: int,
        appended: list,
        on_exhausted: Exhausted,
        attempts_max: int,
    ) -> None:
        self.on_exhausted = on_exhausted
        self.attempts_max = attempts_max
        self.log: list[Run] = []
        self.ranges_max = ranges_max
        self.choosers: list[KeyOrder] = []

        def new_chooser() -> KeyOrder:
            self.choosers.append(KeyOrder(ranges_max=ranges_max, ranges_of_key_max=ranges_of_key_max))
            return self.choosers[-1]

        self.bench = SeeingBench(
            self.log,
            new_chooser,
            bounds=DeliverySettings(candidate_runs_max=runs_max),
            settings=GroupSettings(
                max_in_flight=8, max_attempts=attempts_max, retry_backoff_min_ms=50, on_exhausted=on_exhausted
            ),
            batch=batch,
        )
        self.answers: list[list[Lease]] = []
        self.settled: set[int] = set()
        self.counted: dict[int, int] = {}
        self.newest: dict[int, Lease] = {}
        self.released: set[int] = set()
        self.old: list[Lease] = []
        self.log_start = 0
        self.append(appended)

    # --- the model ---------------------------------------------------------------------------------------------------

    def key_of(self, offset: int) -> int:
        return next(run.key_hash for run in self.log if run.start <= offset < run.end)

    def undone(self) -> list[int]:
        return [
            offset
            for run in self.log
            if run.kind is Kind.MESSAGE
            for offset in range(max(run.start, self.log_start), run.end)
            if offset not in self.settled
        ]

    def check_answer(self, leases: list[Lease]) -> None:
        undone, given = self.undone(), {lease.offset for lease in leases}
        out = {self.key_of(lease.offset) for answer in self.answers for lease in answer}
        assert len(given) == len(leases)
        assert given.isdisjoint(self.blocked())
        for lease in leases:
            assert lease.offset in undone
            assert counted_attempt(lease.attempt) == self.next_attempt(lease.offset)
            key = self.key_of(lease.offset)
            if key != NO_KEY:
                assert key not in out, "two runs of a key are out"
                before = {each for each in undone if each < lease.offset and self.key_of(each) == key}
                assert before <= given, "something before it is not done"
        by_key = [(self.key_of(lease.offset), lease.offset) for lease in leases if self.key_of(lease.offset) != NO_KEY]
        assert sorted(by_key) == sorted(by_key, key=lambda each: each[0]), "the answer has them in another order"

    def next_attempt(self, offset: int) -> int:
        attempt = self.counted.get(offset, 0) + 1
        return min(attempt, self.attempts_max) if self.on_exhausted is Exhausted.RETRY else attempt

    def is_leased(self, offset: int) -> bool:
        return self.bench.state(offset) == "leased"

    def forget_leases(self) -> None:
        self.answers.clear()
        self.newest.clear()
        self.released.clear()
        self.old.clear()

    def blocked(self) -> list[int]:
        """As the model has it."""
        if self.on_exhausted is not Exhausted.BLOCK:
            return []
        return sorted(
            each for each, count in self.counted.items() if count >= self.attempts_max and each not in self.settled
        )

    def take(self, data: st.DataObject) -> Lease:
        answer = data.draw(st.sampled_from(self.answers))
        return data.draw(st.sampled_from(answer))

    def ended(self, *, is_counted: Lease | None) -> None:
        """Leases are over: of a message that came back, and of what is behind it."""
        if is_counted is not None:
            self.counted[is_counted.offset] = counted_attempt(is_counted.attempt)
        live = [[each for each in answer if self.bench.state(each.offset) == "leased"] for answer in self.answers]
        self.answers = [answer for answer in live if answer]

    # --- rules -------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.bench.readable_end < OFFSETS_MAX)
    @rule(appended=_APPENDED)
    def append(self, appended: list) -> None:
        for length, kind, key_hash in appended:
            start = self.bench.readable_end
            self.log.append(Run(start, start + length, kind, key_hash if kind is Kind.MESSAGE else NO_KEY))

    @rule(max_messages=st.integers(1, 6))
    def receive(self, max_messages: int) -> None:
        leases = self.bench.receive(max_messages)
        self.check_answer(leases)
        for lease in leases:
            before = self.newest.get(lease.offset)
            if before is not None and lease.offset not in self.released:
                self.old.append(before)
            self.released.discard(lease.offset)
            self.newest[lease.offset] = lease
        if leases:
            self.answers.append(leases)

    @precondition(lambda self: self.old)
    @rule(data=st.data())
    def settle_by_an_old_receipt(self, data: st.DataObject) -> None:
        """Somebody else had the message since: nothing comes of it, whether he has it still or not (rule R22)."""
        lease = data.draw(st.sampled_from(self.old))
        if lease.offset in self.settled:
            return
        group, end, now_ms = self.bench.group, self.bench.readable_end, self.bench.now_ms
        states = [self.bench.state(offset) for offset in range(end)]
        acked = group.ack([lease], readable_end=end)
        nacked = group.nack([lease], delay_ms=0, jitter=0, readable_end=end, wall_now_ms=now_ms)
        extended = group.extend([lease], visibility_ms=100, readable_end=end, now_ms=now_ms, wall_now_ms=now_ms)
        assert [acked.record, nacked.record, extended.record] == [None] * 3
        results = [*acked.results, *nacked.results, *extended.results]
        assert results == [ProblemCode.RECEIPT_STALE] * 3
        assert [self.bench.state(offset) for offset in range(end)] == states

    @precondition(lambda self: any(not self.is_leased(offset) for offset in self.newest))
    @rule(data=st.data())
    def ack_by_the_newest_receipt(self, data: st.DataObject) -> None:
        """The lease is over, and nobody has got the message since."""
        over = sorted(offset for offset in self.newest if not self.is_leased(offset))
        offset = data.draw(st.sampled_from(over))
        if offset in self.released:
            return
        assert self.bench.ack(self.newest[offset]) == [""]
        self.settled.add(offset)
        self.ended(is_counted=None)

    @precondition(lambda self: self.answers)
    @rule(data=st.data(), is_whole=st.booleans())
    def ack(self, data: st.DataObject, is_whole: bool) -> None:
        leases = list(data.draw(st.sampled_from(self.answers))) if is_whole else [self.take(data)]
        assert self.bench.ack(*leases) == [""] * len(leases)
        self.settled |= {lease.offset for lease in leases}
        self.ended(is_counted=None)

    @precondition(lambda self: self.answers)
    @rule(data=st.data(), delay_ms=st.sampled_from([0, 0, 40, 400]))
    def nack(self, data: st.DataObject, delay_ms: int) -> None:
        lease = self.take(data)
        self.bench.nack(lease, delay_ms=delay_ms)
        self.ended(is_counted=lease)
        key = self.key_of(lease.offset)
        for answer in self.answers:
            assert not [each for each in answer if each.offset > lease.offset and self.key_of(each.offset) == key != -1]

    @precondition(lambda self: self.answers)
    @rule(data=st.data(), delays_ms=st.lists(st.sampled_from([0, 40, 400]), min_size=6, max_size=6))
    def nack_from_the_last_on(self, data: st.DataObject, delays_ms: list[int]) -> None:
        """So that each of them has been tried, and some may be due before those in front of them."""
        leases = data.draw(st.sampled_from(self.answers))
        for lease, delay_ms in zip(sorted(leases, key=lambda each: each.offset, reverse=True), delays_ms, strict=False):
            self.bench.nack(lease, delay_ms=delay_ms)
            self.ended(is_counted=lease)

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def nack_without_effect(self, data: st.DataObject) -> None:
        lease = self.take(data)
        decided = self.bench.group.nack(
            [lease], delay_ms=0, jitter=0, readable_end=self.bench.readable_end, wall_now_ms=self.bench.now_ms
        ).record
        assert decided is not None
        self.bench.group.abort(decided, now_ms=self.bench.now_ms)
        self.bench.partition.check_invariants()
        self.ended(is_counted=None)

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        answer = data.draw(st.sampled_from(self.answers))
        unseen = answer[data.draw(st.integers(0, len(answer) - 1)) :]
        self.bench.group.release(unseen)
        self.released |= {lease.offset for lease in unseen}
        self.ended(is_counted=None)

    @rule(elapsed_ms=st.sampled_from([1, 30, 60, VISIBILITY_MS]))
    def pass_time(self, elapsed_ms: int) -> None:
        self.bench.now_ms += elapsed_ms
        before = {lease.offset: lease for answer in self.answers for lease in answer}
        self.bench.expire()
        over = sorted(offset for offset in before if self.bench.state(offset) != "leased")
        failed_keys: set[int] = set()
        for offset in over:
            key = self.key_of(offset)
            if key == NO_KEY or key not in failed_keys:
                self.counted[offset] = counted_attempt(before[offset].attempt)
            failed_keys.add(key)
        self.ended(is_counted=None)

    @rule(fails=st.booleans())
    def bury(self, fails: bool) -> None:
        """The host moves what is due to the dead-letter topic, or cannot."""
        letters = [letter.offset for letter in self.bench.group.dead_letters(limit=3, now_ms=self.bench.now_ms)]
        if fails:
            self.bench.group.dead_letter_failed(letters, retry_at_ms=self.bench.now_ms + 10)
        elif letters:
            assert all(self.counted[offset] == self.attempts_max for offset in letters)
            self.bench.write(self.bench.group.dead_lettered(letters))
            self.settled |= set(letters)

    @precondition(lambda self: self.blocked())
    @rule(data=st.data(), is_written=st.booleans())
    def release_blocked(self, data: st.DataObject, is_written: bool) -> None:
        offset = data.draw(st.sampled_from(self.blocked()))
        decided = self.bench.group.release_blocked(offset, wall_now_ms=self.bench.now_ms)
        if not is_written:
            self.bench.group.abort(decided.record, now_ms=self.bench.now_ms)
            return
        self.bench.write(decided.record)
        del self.counted[offset]

    @precondition(lambda self: self.blocked())
    @rule(data=st.data(), is_written=st.booleans())
    def skip_blocked(self, data: st.DataObject, is_written: bool) -> None:
        offset = data.draw(st.sampled_from(self.blocked()))
        decided = self.bench.group.skip_blocked(offset)
        if not is_written:
            self.bench.group.abort(decided.record, now_ms=self.bench.now_ms)
            return
        self.bench.write(decided.record)
        self.settled.add(offset)

    @rule(data=st.data())
    def seek(self, data: st.DataObject) -> None:
        target = data.draw(st.integers(self.log_start, self.bench.readable_end))
        self.bench.write(self.bench.group.seek(target))
        self.settled = set(range(target))
        self.counted.clear()
        self.forget_leases()

    @rule(count=st.integers(1, 4))
    def retain(self, count: int) -> None:
        self.log_start = min(self.log_start + count, self.bench.readable_end)
        self.bench.write(self.bench.group.advance_log_start(self.log_start, deleted_below=0))
        self.settled |= set(range(self.log_start))
        self.ended(is_counted=None)

    @rule(is_of_snapshot=st.booleans())
    def fail_over(self, is_of_snapshot: bool) -> None:
        committed = self.bench.partition.snapshot()
        if is_of_snapshot:
            self.bench.fail_over(committed, replayed_from=len(self.bench.records))
        else:
            self.bench.fail_over()
        assert self.bench.partition.snapshot() == committed
        self.forget_leases()

    # --- what always holds -------------------------------------------------------------------------------------------

    @invariant()
    def what_is_remembered_is_bounded(self) -> None:
        """But for what came back of a run, and so was out."""
        for chooser in self.choosers[-1:]:
            assert chooser.remembered_ranges <= self.ranges_max + 8

    @invariant()
    def who_waits_for_a_person_is_known(self) -> None:
        if hasattr(self, "bench"):
            assert [each.offset for each in self.bench.group.blocked(at_or_above=0, limit=1000)] == self.blocked()
            if self.on_exhausted is not Exhausted.DEAD_LETTER:
                assert self.bench.group.dead_letters(limit=1, now_ms=self.bench.now_ms) == []

    def teardown(self) -> None:
        """Whoever goes on receiving gets all that is left, in time, and then everything is done."""
        if not hasattr(self, "bench"):
            return
        for _ in range(6 * OFFSETS_MAX):
            self.pass_time(VISIBILITY_MS)
            self.bury(fails=False)
            for offset in self.blocked():
                self.bench.write(self.bench.group.skip_blocked(offset).record)
                self.settled.add(offset)
            self.receive(3)
            for answer in list(self.answers):
                for lease in answer:
                    self.bench.ack(lease)
                    self.settled.add(lease.offset)
            self.answers.clear()
            if self.bench.group.progress >= self.bench.readable_end:
                break
        assert self.undone() == []
        assert self.bench.group.progress >= self.bench.readable_end


TestKeyOrder = KeyOrderMachine.TestCase
TestKeyOrder.settings = settings(
    max_examples=200,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)
