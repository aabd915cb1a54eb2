"""Selections that look, under any interleaving: nothing is lost, keys keep their order, bounds hold, and a replay of
the records gives the same state (rules R23, R24, R25, R41)."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cluster.model.values import GroupSettings
from storage.delivery.candidates import NO_KEY
from storage.delivery.candidates import CandidateKind as Kind
from storage.delivery.candidates import CandidateRun as Run
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.leases import Lease
from storage.delivery.records import Skipped, unpack_ranges
from tests.unit.storage.delivery.seeing_group import Seeing, SeeingBench
from tests.unit.storage.delivery.toy_choosers import EveryMessage, WithTag, WithTagInKeyOrder, in_key_order

RED = 1
CHOOSERS = {
    "every message": EveryMessage,
    "tag": lambda: WithTag(RED),
    "key order": in_key_order,
    "tag and key order": lambda: WithTagInKeyOrder(RED, ranges_max=3, ranges_of_key_max=2),
}
OFFSETS_MAX = 60
_APPENDED = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.sampled_from([Kind.MESSAGE] * 6 + [Kind.CONTROL, Kind.GAP]),
        st.sampled_from([NO_KEY, 10, 11, 12]),
        st.sampled_from([RED, RED, 2, 0]),
    ),
    min_size=1,
    max_size=6,
)


class SelectionMachine(RuleBasedStateMachine):
    """Acknowledgements are durable at once; what is passed over may be under way for a while, and fail."""

    @initialize(
        chooser=st.sampled_from(sorted(CHOOSERS)),
        runs_max=st.integers(1, 8),
        batch=st.integers(1, 7),
        appended=_APPENDED,
    )
    def begin(self, chooser: str, runs_max: int, batch: int, appended: list) -> None:
        self.has_tags, self.has_order = "tag" in chooser, "order" in chooser
        self.log: list[Run] = []
        self.bounds = DeliverySettings(candidate_runs_max=runs_max)
        self.bench = SeeingBench(
            self.log,
            CHOOSERS[chooser],
            bounds=self.bounds,
            settings=GroupSettings(max_in_flight=5, max_attempts=1000),
            batch=batch,
        )
        self.leases: list[Lease] = []
        self.skips: list = []
        self.settled: set[int] = set()
        self.snapshot: tuple[bytes, int] | None = None
        self.log_start = 0
        self.append(appended)

    # --- the model ---------------------------------------------------------------------------------------------------

    def run_of(self, offset: int) -> Run:
        return next(run for run in self.log if run.start <= offset < run.end)

    def is_wanted(self, offset: int) -> bool:
        run = self.run_of(offset)
        return run.kind is Kind.MESSAGE and (not self.has_tags or bool(run.tag_bits & RED))

    def undone(self) -> list[int]:
        return [
            offset
            for offset in range(self.log_start, self.bench.readable_end)
            if offset not in self.settled and self.is_wanted(offset)
        ]

    def check_leases(self, leases: list[Lease]) -> None:
        """Before what is given of a key, all of it is done, or in the same answer."""
        undone = self.undone()
        given = {lease.offset for lease in leases}
        for lease in leases:
            assert lease.offset in undone
            key = self.run_of(lease.offset).key_hash
            if self.has_order and key != NO_KEY:
                before = [each for each in undone if each < lease.offset and self.run_of(each).key_hash == key]
                assert set(before) <= given
        live = [lease.offset for lease in self.leases]
        assert not {lease.offset for lease in leases} & set(live)

    # --- rules -------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.bench.readable_end < OFFSETS_MAX)
    @rule(appended=_APPENDED)
    def append(self, appended: list) -> None:
        for length, kind, key_hash, tag_bits in appended:
            start = self.bench.readable_end
            is_message = kind is Kind.MESSAGE
            run = Run(start, start + length, kind, key_hash if is_message else NO_KEY, tag_bits if is_message else 0)
            self.log.append(run)

    @rule(max_messages=st.integers(1, 8), steps=st.integers(1, 6))
    def receive(self, max_messages: int, steps: int) -> None:
        """A host that gives up after some steps, and has not yet recorded what was passed over."""
        for _ in range(steps):
            received = self.bench.ask(max_messages)
            self.check_leases(received.leases)
            self.leases += received.leases
            if received.skipped is not None:
                assert not {offset for offset in passed_over(received.skipped) if self.is_wanted(offset)}
                self.skips.append(received.skipped)
            if received.wanted is not None:
                self.bench.feed(received.wanted)
            if received.leases:
                return

    @precondition(lambda self: self.skips)
    @rule(count=st.integers(1, 3), is_written=st.booleans())
    def finish_skips(self, count: int, is_written: bool) -> None:
        finished, self.skips = self.skips[:count], self.skips[count:]
        for skipped in finished:
            if is_written:
                self.bench.write(skipped)
                if skipped.generation == self.bench.group.generation:
                    self.settled |= passed_over(skipped)  # what was decided stays, whatever the filter is by now
            else:
                self.bench.group.abort(skipped, now_ms=self.bench.now_ms)

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        lease = self.leases.pop(data.draw(st.integers(0, len(self.leases) - 1)))
        how = data.draw(st.sampled_from(["ack", "ack", "nack", "delay", "delay", "release"]))
        if how == "ack":
            assert self.bench.ack(lease) == [""]
            self.settled.add(lease.offset)
        elif how == "release":
            self.bench.group.release([lease])
        else:
            self.bench.nack(lease, delay_ms=400 if how == "delay" else 0)
        self.forget_ended()

    def forget_ended(self) -> None:
        """Leases behind one that came back end with it."""
        self.leases = [lease for lease in self.leases if self.bench.state(lease.offset) == "leased"]

    @precondition(lambda self: not self.has_order)
    @rule(has_tags=st.booleans())
    def filter_otherwise(self, has_tags: bool) -> None:
        """An order by key never changes: it is a mode."""
        self.has_tags = has_tags
        self.bench.set_otherwise(Seeing(CHOOSERS["tag" if has_tags else "every message"]))

    @rule(elapsed_ms=st.sampled_from([1, 30, 150]))
    def pass_time(self, elapsed_ms: int) -> None:
        self.bench.now_ms += elapsed_ms
        self.bench.expire()
        live = self.bench.group
        self.forget_ended()
        assert live.in_flight_count == len(self.leases)

    @rule(data=st.data())
    def seek(self, data: st.DataObject) -> None:
        target = data.draw(st.integers(self.log_start, self.bench.readable_end))
        self.bench.write(self.bench.group.seek(target))
        self.settled = set(range(target))
        self.leases.clear()

    @rule(count=st.integers(1, 4))
    def retain(self, count: int) -> None:
        self.log_start = min(self.log_start + count, self.bench.readable_end)
        self.bench.write(self.bench.group.advance_log_start(self.log_start, deleted_below=0))
        self.leases = [lease for lease in self.leases if lease.offset >= self.log_start]

    @rule()
    def take_snapshot(self) -> None:
        self.snapshot = (self.bench.partition.snapshot(), len(self.bench.records))

    @rule()
    def fail_over(self) -> None:
        committed = self.bench.partition.snapshot()
        if self.snapshot is not None:
            data, replayed_from = self.snapshot
            self.bench.fail_over(data, replayed_from)
            assert self.bench.partition.snapshot() == committed
        self.bench.fail_over()
        assert self.bench.partition.snapshot() == committed
        self.leases.clear()
        self.skips.clear()
        self.receive(max_messages=3, steps=3)

    # --- what always holds -------------------------------------------------------------------------------------------

    @invariant()
    def bounds_hold(self) -> None:
        assert self.bench.index.run_count <= self.bounds.candidate_runs_max
        assert self.bench.group.in_flight_count <= 5

    @invariant()
    def nothing_that_is_wanted_is_done_unasked(self) -> None:
        for offset in self.undone():
            assert self.bench.state(offset) != "done"

    def teardown(self) -> None:
        """Whoever goes on receiving gets all that is left, in time, and then everything is done."""
        if not hasattr(self, "bench"):
            return
        self.finish_skips(len(self.skips), is_written=True)
        for _ in range(5 * OFFSETS_MAX):
            self.pass_time(150)
            leases = self.bench.receive(3)
            self.check_leases(leases)
            for lease in leases:
                self.bench.ack(lease)
                self.settled.add(lease.offset)
            if self.bench.group.progress >= self.bench.readable_end:
                break
        assert self.undone() == []
        assert self.bench.group.progress >= self.bench.readable_end


def passed_over(skipped: Skipped) -> set[int]:
    return {offset for start, end in unpack_ranges(skipped.runs) for offset in range(start, end)}


TestSelection = SelectionMachine.TestCase
TestSelection.settings = settings(
    max_examples=200,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)
