"""Groups that are fair among keys, or among the values of a header, under any interleaving: what `test_selection` holds
selections to, and the limit per key or value; what is in flight is counted right (rule R30); whoever waits comes to its
turn. And what such groups see of messages is what a plain loop over them says."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule
from msgspec.structs import replace

from acklog.wire.partitioner import hash_of_key
from acklog.wire.record import Record
from cluster.model.values import GroupSettings
from storage.delivery.candidates import NO_KEY, CandidateKind, CandidateRun, runs_of
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.fair_share import FairShare, NewFairShare
from storage.delivery.leases import Lease
from tests.property.test_selection import _APPENDED, SelectionMachine
from tests.unit.storage.delivery.seeing_group import Seeing, SeeingBench
from tests.unit.storage.delivery.toy_choosers import EveryMessage

_LIMITS = st.sampled_from([None, 1, 2])
_HEADERS = st.sampled_from([None, "tenant", "region"])


def seen_by(run: CandidateRun, header: str | None) -> CandidateRun:
    """The toy's headers: their values go by the run's tags, and cut across the keys."""
    if header is None or run.kind is not CandidateKind.MESSAGE:
        return run
    value = {"tenant": run.tag_bits % 2, "region": run.tag_bits or NO_KEY}[header]
    return replace(run, key_hash=value)


class FairShareMachine(SelectionMachine):
    has_tags = has_order = False

    @initialize(
        per_key=_LIMITS,
        runs_max=st.integers(1, 8),
        ranges_max=st.integers(1, 8),
        batch=st.integers(1, 7),
        appended=_APPENDED,
    )
    def begin(self, per_key: int | None, runs_max: int, ranges_max: int, batch: int, appended: list) -> None:
        self.log = []
        self.bounds = DeliverySettings(candidate_runs_max=runs_max, look_ahead_ranges_max=ranges_max)
        group_settings = GroupSettings(max_in_flight=5, max_attempts=1000)
        self.bench = SeeingBench(self.log, EveryMessage, bounds=self.bounds, settings=group_settings, batch=batch)
        self.leases: list[Lease] = []
        self.skips: list = []
        self.settled: set[int] = set()
        self.snapshot = None
        self.log_start = 0
        self.append(appended)
        self.share_otherwise(per_key, None)

    def check_leases(self, leases: list[Lease]) -> None:
        super().check_leases(leases)
        keys = {self.key_of(lease.offset) for lease in leases} - {NO_KEY}
        live = {lease.offset for lease in (*self.leases, *leases)}
        for key in keys if self.per_key is not None else ():
            assert sum(1 for offset in live if self.key_of(offset) == key) <= self.per_key

    def key_of(self, offset: int) -> int:
        """What is called the key: of the message, or of its header."""
        return seen_by(self.run_of(offset), self.header).key_hash

    @rule(per_key=_LIMITS, header=_HEADERS)
    def share_otherwise(self, per_key: int | None, header: str | None) -> None:
        """By something else, or with another limit."""
        self.per_key, self.header = per_key, header
        self.bench.set_otherwise(NewFairShare(per_key, header))
        self.bench.show_otherwise(lambda run: seen_by(run, header))

    @precondition(lambda self: self.leases)
    @rule(data=st.data())
    def extend(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.leases))
        end, now_ms = self.bench.readable_end, self.bench.now_ms
        self.bench.group.extend([lease], visibility_ms=200, readable_end=end, now_ms=now_ms, wall_now_ms=now_ms)

    @precondition(lambda self: True)
    @rule()
    def filter_otherwise(self) -> None:
        """To one that is not fair, and back."""
        self.bench.set_otherwise(Seeing(EveryMessage))
        self.per_key, before = None, self.per_key
        self.receive(max_messages=2, steps=3)
        self.share_otherwise(before, self.header)

    @invariant()
    def what_is_in_flight_is_counted(self) -> None:
        state = self.bench.group._state
        selection = self.bench.group._selection
        assert isinstance(selection, FairShare)
        selection.check_invariants(state)
        assert selection._keys.range_count <= self.bounds.look_ahead_ranges_max + len(state.progress.retries) + 20


TestFairShare = FairShareMachine.TestCase
TestFairShare.settings = settings(
    max_examples=200,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
)


_RECORDS = st.lists(
    st.one_of(
        st.none(),
        st.builds(
            Record,
            st.just(b"x"),
            st.sampled_from([None, "a", "b"]),
            st.sampled_from([None, {}, {"tenant": "a"}, {"tenant": "b", "x": "a"}, {"x": "a"}, {"tenant": ""}]),
            st.sampled_from([None, ["red"]]),
        ),
    ),
    min_size=1,
    max_size=12,
)


@given(_RECORDS, st.sampled_from([None, "tenant", "x"]))
def test_each_message_is_seen_by_its_key_or_by_its_header(records: list[Record | None], header: str | None) -> None:
    expected = []
    for record in records:
        if record is None:
            expected.append((CandidateKind.GAP, NO_KEY))
            continue
        value = record.key if header is None else dict(record.headers or {}).get(header)
        expected.append((CandidateKind.MESSAGE, NO_KEY if value is None else hash_of_key(value)))
    runs = runs_of(7, records, header=header)
    assert [(run.kind, run.key_hash) for run in runs for _ in range(run.start, run.end)] == expected
    assert [run.start for run in runs] == [7, *[run.end for run in runs[:-1]]]
