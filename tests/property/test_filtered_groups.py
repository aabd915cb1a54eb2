"""Groups with filters, in each mode, under any interleaving: against a model that knows which messages match.

Nothing that matches is passed over, nothing that does not is delivered, order holds, a change of the filter holds for
what is not done yet, and a replay of the records gives the same state (rules R23, R24, R25, R41)."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from cluster.model.values import FairBy, Group, GroupMode, GroupSettings
from storage.delivery.candidates import NO_KEY, CandidateIndex
from storage.delivery.candidates import CandidateKind as Kind
from storage.delivery.candidates import CandidateRun as Run
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_delivery import GroupDelivery
from storage.delivery.group_in_partition import GroupInPartition
from storage.delivery.handover import OwnershipClaim
from storage.delivery.leases import Lease
from storage.delivery.matching import receive_matching
from storage.delivery.partition_delivery import PartitionDelivery
from storage.delivery.records import Acked, SkipCause, Skipped, Started, decode_records, encode_records, unpack_ranges

MESSAGES_MAX = 80
FILTERS = [None, "red", "blue"]
SETTINGS = GroupSettings(max_in_flight=5, max_attempts=1000, retry_backoff_min_ms=10, retry_backoff_max_ms=40)
FAIR = replace(SETTINGS, fair_by=FairBy.KEY)
KINDS = {
    "shared": (GroupMode.SHARED, SETTINGS),
    "fair": (GroupMode.SHARED, FAIR),
    "keyOrdered": (GroupMode.KEY_ORDERED, SETTINGS),
    "exclusive": (GroupMode.EXCLUSIVE, SETTINGS),
}
_APPENDED = st.lists(
    st.tuples(
        st.integers(1, 6), st.sampled_from([NO_KEY, 10, 11]), st.sampled_from(["", "", "red", "blue", "red blue"])
    ),
    min_size=1,
    max_size=5,
)


class FilteredGroupMachine(RuleBasedStateMachine):
    """What settles is durable at once; what is passed over may be gathered for a while, be under way, and fail."""

    @initialize(kind=st.sampled_from(sorted(KINDS)), runs_max=st.integers(2, 12), batch=st.integers(1, 9))
    def begin(self, kind: str, runs_max: int, batch: int) -> None:
        self.mode, self.settings = KINDS[kind]
        self.bounds = DeliverySettings(candidate_runs_max=runs_max, skips_gathered_ms=50)
        self.batch = batch
        self.log: list[tuple[int, str]] = []  # key and tags of each message
        self.now_ms, self.leader_epoch, self.ownership = 1000, 0, 1
        self.records: list[bytes] = []
        self.skips: list[Skipped] = []
        self.leases: list[Lease] = []
        self.acked: set[int] = set()
        self.passed: set[int] = set()
        self.snapshot: tuple[bytes, int] | None = None
        self.new_leader()
        self.write(Started("g", 0))

    # --- the world ---------------------------------------------------------------------------------------------------

    def new_leader(self, snapshot: bytes = b"", replayed_from: int = 0) -> None:
        self.leader_epoch += 1
        self.indexes = {text: CandidateIndex(runs_max=self.bounds.candidate_runs_max) for text in FILTERS}
        self.partition = PartitionDelivery(leader_epoch=self.leader_epoch, groups_max=1, settings=self.bounds)
        if snapshot:
            self.partition.restore(snapshot, now_ms=self.now_ms, wall_now_ms=self.now_ms)
        for data in self.records[replayed_from:]:
            self.apply(data)

    @property
    def group(self) -> GroupInPartition:
        group = self.partition.as_it_is_set(Group("g", "g", 0, self.mode, self.settings))
        assert group is not None
        return group

    def write(self, *records) -> None:
        written = [record for record in records if record is not None]
        if written:
            self.records.append(encode_records(written))
            self.apply(self.records[-1])

    def apply(self, data: bytes) -> None:
        self.partition.apply(decode_records(data), now_ms=self.now_ms, wall_now_ms=self.now_ms)
        self.partition.check_invariants()

    def feed(self, start: int, end: int) -> None:
        end = min(start + self.batch, end)
        runs = []
        for offset in range(start, end):
            key, tags = self.log[offset]
            is_it = self.settings.filter is None or self.settings.filter in tags
            runs.append(
                Run(offset, offset + 1, Kind.MESSAGE, key) if is_it else Run(offset, offset + 1, Kind.FILTERED_OUT)
            )
        self.indexes[self.settings.filter].feed(start, end, merged(runs))

    def matches(self, offset: int) -> bool:
        return self.settings.filter is None or self.settings.filter in self.log[offset][1]

    def undone(self) -> list[int]:
        """What was passed over and is not recorded yet stays passed, whatever the filter is by now."""
        done, skipping = self.acked | self.passed, self.group._state.skipping
        return [
            offset
            for offset in range(len(self.log))
            if offset not in done and offset not in skipping and self.matches(offset)
        ]

    def check_leases(self, leases: list[Lease]) -> None:
        given = [lease.offset for lease in leases]
        live = [lease.offset for lease in self.leases]
        assert not set(given) & set(live), "it is with somebody"
        undone = self.undone()
        for offset in given:
            assert self.matches(offset), "it does not match"
            assert offset in undone, "it was done"
            key = self.log[offset][0]
            if self.mode is GroupMode.KEY_ORDERED and key != NO_KEY:
                of_key = [each for each in undone if each < offset and self.log[each][0] == key]
                assert set(of_key) <= set(given), "one before it of its key is not done"
                assert not [each for each in live if self.log[each][0] == key], "one of its key is out"
            if self.mode is GroupMode.EXCLUSIVE:
                assert {each for each in undone if each < offset} <= {*given, *live}, "it is ahead of its turn"

    def ask(self, max_messages: int) -> bool:
        """Whether asking again may find more."""
        if self.mode is GroupMode.EXCLUSIVE:
            claim = OwnershipClaim("ada", self.ownership)
            self.write(*self.group.claim(claim, now_ms=self.now_ms, wall_now_ms=self.now_ms).records)
            self.forget_ended()
        received = self.group.receive(
            self.indexes[self.settings.filter],
            consumer="c",
            max_messages=max_messages,
            visibility_ms=100,
            readable_end=len(self.log),
            now_ms=self.now_ms,
        )
        self.partition.check_invariants()
        self.check_leases(received.leases)
        self.leases += received.leases
        if received.skipped is not None:
            self.skips.append(received.skipped)
        if received.wanted is not None:
            self.feed(*received.wanted)
        return received.wanted is not None or received.skipped is not None

    def forget_ended(self) -> None:
        self.leases = [lease for lease in self.leases if self.state(lease.offset) == "leased"]

    def state(self, offset: int) -> str:
        return self.group.describe(offset, readable_end=len(self.log), now_ms=self.now_ms).state

    # --- rules -------------------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.log) < MESSAGES_MAX)
    @rule(appended=_APPENDED)
    def append(self, appended: list) -> None:
        for count, key, tags in appended:
            self.log += [(key, tags)] * count

    @rule(max_messages=st.integers(1, 8), steps=st.integers(1, 8))
    def receive(self, max_messages: int, steps: int) -> None:
        for _ in range(steps):
            if not self.ask(max_messages):
                return

    @precondition(lambda self: self.mode is GroupMode.SHARED and self.settings.fair_by is FairBy.NONE)
    @rule(text=st.sampled_from(["red", "blue"]), max_messages=st.integers(1, 5), reach=st.integers(1, 40))
    def receive_by_a_filter_of_its_own(self, text: str, max_messages: int, reach: int) -> None:
        """It leaves what does not match as it was, and so the group's own receives find it."""
        group, before = self.group, self.group.progress
        assert isinstance(group, GroupDelivery)
        index = CandidateIndex(runs_max=100)
        runs = [
            Run(offset, offset + 1, Kind.MESSAGE if self.matches(offset) and text in tags else Kind.FILTERED_OUT)
            for offset, (_, tags) in enumerate(self.log)
        ]
        if runs:
            index.feed(0, len(runs), merged(runs))
        found = receive_matching(
            group,
            index,
            consumer="c",
            max_messages=max_messages,
            visibility_ms=100,
            readable_end=len(self.log),
            reach=reach,
            now_ms=self.now_ms,
        )
        self.partition.check_invariants()
        assert found.wanted is None
        assert all(text in self.log[lease.offset][1] for lease in found.leases)
        self.check_leases(found.leases)
        self.leases += found.leases
        assert self.group.progress == before

    @rule(text=st.sampled_from(FILTERS))
    def filter_otherwise(self, text: str | None) -> None:
        self.settings = replace(self.settings, filter=text)

    @precondition(lambda self: self.skips)
    @rule(count=st.integers(1, 3), is_written=st.booleans())
    def finish_skips(self, count: int, is_written: bool) -> None:
        finished, self.skips = self.skips[:count], self.skips[count:]
        for skipped in finished:
            if not is_written:
                self.group.abort(skipped, now_ms=self.now_ms)
                continue
            if skipped.generation == self.group.generation:
                offsets = {offset for start, end in unpack_ranges(skipped.runs) for offset in range(start, end)}
                assert skipped.cause == SkipCause.FILTERED
                assert not offsets & self.acked
                self.passed |= offsets
            self.write(skipped)

    @rule()
    def record_what_is_passed_over(self) -> None:
        skipped = self.group.record_passed_over()
        if skipped is not None:
            self.skips.append(skipped)

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        lease = self.leases.pop(data.draw(st.integers(0, len(self.leases) - 1)))
        how = data.draw(st.sampled_from(["ack", "ack", "nack", "delay", "release"]))
        if how == "release":
            self.group.release([lease])
        elif how == "ack":
            settled = self.group.ack([lease], readable_end=len(self.log))
            assert settled.results == [None]
            assert isinstance(settled.record, Acked)
            self.acked.add(lease.offset)
            self.write(settled.record)
        else:
            delay_ms = 60 if how == "delay" else 0
            settlement = self.group.nack(
                [lease], delay_ms=delay_ms, jitter=0.0, readable_end=len(self.log), wall_now_ms=self.now_ms
            )
            self.write(settlement.record)
        self.forget_ended()

    @rule(elapsed_ms=st.sampled_from([1, 60, 150]))
    def pass_time(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms
        self.write(self.group.expire(now_ms=self.now_ms, wall_now_ms=self.now_ms, limit=1000))
        self.forget_ended()

    @rule(data=st.data())
    def seek(self, data: st.DataObject) -> None:
        target = data.draw(st.integers(0, len(self.log)))
        self.write(self.group.seek(target))
        self.acked, self.passed = set(range(target)), set()
        self.leases.clear()

    @precondition(lambda self: self.mode is GroupMode.EXCLUSIVE)
    @rule()
    def reassign(self) -> None:
        self.ownership += 1

    @rule()
    def take_snapshot(self) -> None:
        self.snapshot = (self.partition.snapshot(), len(self.records))

    @rule()
    def fail_over(self) -> None:
        committed = self.partition.snapshot()
        if self.snapshot is not None:
            self.new_leader(*self.snapshot)
            assert self.partition.snapshot() == committed
        self.new_leader()
        assert self.partition.snapshot() == committed
        self.leases.clear()
        self.skips.clear()

    # --- what always holds -------------------------------------------------------------------------------------------

    @invariant()
    def progress_passes_nothing_that_is_not_done(self) -> None:
        if hasattr(self, "log"):
            done = self.acked | self.passed
            assert all(offset in done for offset in range(self.group.progress))
            assert all(self.state(offset) == "passedOver" for offset in self.passed)

    def teardown(self) -> None:
        """Whoever goes on receiving gets all that matches, and progress gets to the end."""
        if not hasattr(self, "log"):
            return
        for _ in range(6 * MESSAGES_MAX):
            self.finish_skips(len(self.skips), is_written=True)
            self.pass_time(150)
            for _ in range(len(self.log) + 2):
                if not self.ask(3):
                    break
            while self.leases:
                lease = self.leases.pop(0)
                self.write(self.group.ack([lease], readable_end=len(self.log)).record)
                self.acked.add(lease.offset)
            if self.group.progress == len(self.log):
                break
        assert self.undone() == []
        assert self.group.progress == len(self.log)


def merged(runs: list[Run]) -> list[Run]:
    found: list[Run] = []
    for run in runs:
        last = found[-1] if found else None
        if last is not None and (last.kind, last.key_hash) == (run.kind, run.key_hash):
            found[-1] = Run(last.start, run.end, run.kind, run.key_hash)
        else:
            found.append(run)
    return found


TestFilteredGroups = FilteredGroupMachine.TestCase
TestFilteredGroups.settings = settings(
    max_examples=200,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


def test_what_somebody_had_when_the_filter_changed_is_judged_by_it_when_it_comes_back() -> None:
    machine = FilteredGroupMachine()
    machine.begin(kind="fair", batch=8, runs_max=5)
    machine.append(appended=[(1, 10, "blue")])
    machine.receive(max_messages=1, steps=8)
    assert [lease.offset for lease in machine.leases] == [0]
    machine.filter_otherwise(text="red")
    machine.append(appended=[(1, 11, "red")])
    machine.receive(max_messages=1, steps=8)
    for _ in range(4):
        machine.pass_time(elapsed_ms=10_000)
        machine.receive(max_messages=4, steps=8)
    machine.record_what_is_passed_over()
    machine.finish_skips(count=3, is_written=True)
    assert machine.state(0) == "passedOver"
