"""The key space against a plain dictionary, and against itself with a copy that runs ahead."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.ports.coordination import (
    Changed,
    Compare,
    CompareTarget,
    Delete,
    KeyValue,
    LeaseLostError,
    Operation,
    Put,
    Removed,
    key_of,
)
from cluster.stores.key_space import FIRST_REVISION, KeySpace, LeaseEnd, Request, Transaction

KEYS = ("/a", "/a/1", "/a/2", "/b", "/ü")
LEASES = (0, 1, 2)

numbers = st.integers(0, 12)
compares = st.one_of(
    st.builds(
        Compare,
        st.sampled_from(KEYS),
        st.sampled_from([CompareTarget.CREATE_REVISION, CompareTarget.MOD_REVISION, CompareTarget.VERSION]),
        numbers,
    ),
    st.builds(Compare, st.sampled_from(KEYS), st.just(CompareTarget.VALUE), st.binary(max_size=1)),
)


def operations() -> st.SearchStrategy[tuple[Operation, ...]]:
    one: st.SearchStrategy[Operation] = st.one_of(
        st.builds(Put, st.sampled_from(KEYS), st.binary(max_size=1), st.sampled_from(LEASES)),
        st.builds(Delete, st.sampled_from(KEYS)),
    )
    return st.lists(one, max_size=4, unique_by=lambda operation: operation.key).map(tuple)


requests: st.SearchStrategy[Request | int] = st.one_of(
    st.builds(Transaction, st.lists(compares, max_size=2).map(tuple), operations(), operations()),
    st.builds(LeaseEnd, st.sampled_from((1, 2))),
    st.sampled_from((1, 2)),  # grant
)


@dataclass
class Model:
    """What the port's words say, without any thought of speed."""

    revision: int = FIRST_REVISION
    items: dict[str, KeyValue] = field(default_factory=dict)
    leases: dict[int, None] = field(default_factory=dict)

    def end(self, lease_id: int) -> list[str]:
        if lease_id not in self.leases:
            raise LeaseLostError
        del self.leases[lease_id]
        doomed = sorted(key for key, item in self.items.items() if item.lease_id == lease_id)
        for key in doomed:
            del self.items[key]
        self.revision += bool(doomed)
        return doomed

    def transact(self, transaction: Transaction) -> bool:
        succeeded = all(self._holds(compare) for compare in transaction.compares)
        chosen = transaction.then if succeeded else transaction.otherwise
        if any(isinstance(each, Put) and each.lease_id and each.lease_id not in self.leases for each in chosen):
            raise LeaseLostError
        chosen = tuple(each for each in chosen if isinstance(each, Put) or each.key in self.items)
        self.revision += bool(chosen)
        for each in chosen:
            old = self.items.pop(each.key, None)
            if isinstance(each, Put):
                created, version = (old.create_revision, old.version + 1) if old else (self.revision, 1)
                self.items[each.key] = KeyValue(each.key, each.value, created, self.revision, version, each.lease_id)
        return succeeded

    def _holds(self, compare: Compare) -> bool:
        item = self.items.get(compare.key)
        if compare.target is CompareTarget.VALUE:
            return item is not None and item.value == compare.value
        return compare.value == (getattr(item, compare.target.value) if item else 0)


def same(space: KeySpace, model: Model) -> None:
    assert space.revision == model.revision
    for prefix in ("", "/a", "/a/", "/x"):
        listing = space.list(prefix)
        assert listing.revision == model.revision
        assert list(listing.items) == [model.items[key] for key in sorted(model.items) if key.startswith(prefix)]
    for key in KEYS:
        assert space.get(key) == model.items.get(key)
    assert [lease_id for lease_id in LEASES if space.has_lease(lease_id)] == sorted(model.leases)
    assert space.lease_count == len(model.leases)


@settings(max_examples=200, deadline=None)
@given(st.lists(requests, max_size=25))
def test_the_key_space_does_what_the_words_say(steps: list[Request | int]) -> None:
    space, model = KeySpace(), Model()
    for step in steps:
        if isinstance(step, int):
            space.grant(step)
            model.leases[step] = None
            continue
        try:
            decision = space.decide(step)
        except LeaseLostError:
            try:
                model.end(step.lease_id) if isinstance(step, LeaseEnd) else model.transact(step)
            except LeaseLostError:
                continue
            raise
        before = {key: space.get(key) for key in KEYS}
        same(space, model)  # deciding changes nothing
        space.apply(decision.mutation)
        if isinstance(step, LeaseEnd):
            assert [key_of(event) for event in decision.mutation.events] == model.end(step.lease_id)
        else:
            assert model.transact(step) == decision.succeeded
        same(space, model)
        for event in decision.mutation.events:
            if isinstance(event, Changed):
                assert space.get(event.item.key) == event.item
                assert event.item.mod_revision == space.revision
            else:
                assert before[event.key] is not None
                assert event == Removed(event.key, space.revision)


@settings(max_examples=100, deadline=None)
@given(st.lists(requests, max_size=15), st.data())
def test_a_copy_that_runs_ahead_arrives_where_the_other_follows(
    steps: list[Request | int], data: st.DataObject
) -> None:
    visible = KeySpace()
    ahead = visible.copy()
    waiting = []
    granted: dict[int, None] = {}
    for step in steps:
        if isinstance(step, int):
            if step not in granted:  # a lease id never comes again
                granted[step] = None
                visible.grant(step)
                ahead.grant(step)
            continue
        try:
            decision = ahead.decide(step)
        except LeaseLostError:
            continue
        ahead.apply(decision.mutation)
        waiting.append(decision.mutation)
        if data.draw(st.booleans()):
            for mutation in waiting:
                visible.apply(mutation)
            waiting.clear()
            assert visible.list("") == ahead.list("") == visible.copy().list("")
            assert all(visible.has_lease(each) == ahead.has_lease(each) for each in LEASES)
