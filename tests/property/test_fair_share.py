"""Groups that are fair among keys, under any interleaving: what `test_selection` holds selections to, and the limit per
key; what is in flight is counted right (rule R30); whoever waits comes to its turn."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from cluster.model.values import GroupSettings
from storage.delivery.candidates import NO_KEY
from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.fair_share import FairShare, NewFairShare
from storage.delivery.leases import Lease
from tests.property.test_selection import _APPENDED, SelectionMachine
from tests.unit.storage.delivery.seeing_group import Seeing, SeeingBench
from tests.unit.storage.delivery.toy_choosers import EveryMessage

_LIMITS = st.sampled_from([None, 1, 2])


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
        self.share_otherwise(per_key)

    def check_leases(self, leases: list[Lease]) -> None:
        super().check_leases(leases)
        keys = {self.run_of(lease.offset).key_hash for lease in leases} - {NO_KEY}
        live = {lease.offset for lease in (*self.leases, *leases)}
        for key in keys if self.per_key is not None else ():
            assert sum(1 for offset in live if self.run_of(offset).key_hash == key) <= self.per_key

    @rule(per_key=_LIMITS)
    def share_otherwise(self, per_key: int | None) -> None:
        self.per_key = per_key
        self.bench.set_otherwise(NewFairShare(per_key))

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
        self.share_otherwise(before)

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
