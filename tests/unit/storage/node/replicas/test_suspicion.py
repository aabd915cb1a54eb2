"""Which nodes are declared dead, and which are left to their leases."""

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.node.replicas.suspicion import (
    DeclareDead,
    LeaveToLease,
    Lost,
    NodesRegistered,
    Probe,
    Probed,
    ProbeOutcome,
    Reached,
    Suspicion,
    SuspicionEffect,
    SuspicionEvent,
    SuspicionSettings,
)

SETTINGS = SuspicionSettings(tries=2, try_pause_ms=20, declarations_max=2, declarations_window_ms=1_000)


class _Observer:
    """Node 1 and what it thinks of nodes 2, 3 and so on, all in incarnation 1."""

    def __init__(self, others: Iterable[int] = (2, 3)) -> None:
        self.machine = Suspicion(SETTINGS)
        self.now_ms = 0
        self.step(NodesRegistered(dict.fromkeys(others, 1)))
        for node_id in others:
            self.step(Reached(node_id, 1))

    def step(self, event: SuspicionEvent) -> list[SuspicionEffect]:
        effects = self.machine.step(event, self.now_ms)
        self.machine.check_invariants()
        return effects

    def lose(self, node_id: int) -> Probe:
        [probe] = self.step(Lost(node_id, 1))
        assert isinstance(probe, Probe)
        return probe

    def confirm(self, probe: Probe) -> list[SuspicionEffect]:
        """Nobody answers this probe and the one after it."""
        [again] = self.step(Probed(probe, ProbeOutcome.REFUSED))
        assert isinstance(again, Probe)
        return self.step(Probed(again, ProbeOutcome.REFUSED))


def test_a_node_that_nobody_hears_of_any_more_is_declared_dead() -> None:
    observer = _Observer()
    first = observer.lose(2)
    assert first == Probe(2, 1, 1, pause_ms=0)
    [second] = observer.step(Probed(first, ProbeOutcome.REFUSED))
    assert second == Probe(2, 1, 2, pause_ms=20)
    assert observer.step(Probed(second, ProbeOutcome.REFUSED)) == [DeclareDead(2, 1)]


def test_a_node_that_nobody_answers_for_has_time_to_notice_that_it_is_cut_off() -> None:
    observer = _Observer()
    probe = observer.lose(2)
    while observer.now_ms < SETTINGS.silent_ms:
        [effect] = observer.step(Probed(probe, ProbeOutcome.SILENT))
        assert isinstance(effect, Probe)
        assert 0 < effect.pause_ms <= SETTINGS.silent_pause_ms
        probe = effect
        observer.now_ms += effect.pause_ms
    [last] = observer.step(Probed(probe, ProbeOutcome.SILENT))
    assert isinstance(last, Probe)
    assert observer.step(Probed(last, ProbeOutcome.SILENT)) == [DeclareDead(2, 1)]


def test_a_machine_that_answers_at_last_ends_the_wait() -> None:
    observer = _Observer()
    [probe] = observer.step(Probed(observer.lose(2), ProbeOutcome.SILENT))
    assert isinstance(probe, Probe)
    assert observer.confirm(probe) == [DeclareDead(2, 1)]


def test_a_node_that_answers_lives() -> None:
    observer = _Observer()
    first = observer.lose(2)
    [second] = observer.step(Probed(first, ProbeOutcome.REFUSED))
    assert isinstance(second, Probe)
    assert observer.step(Probed(second, ProbeOutcome.ANSWERED)) == []
    assert observer.step(Lost(2, 1)) == []  # there was no connection since
    observer.step(Reached(2, 1))
    assert observer.lose(2).attempt == 3


def test_a_node_that_is_reached_again_meanwhile_lives() -> None:
    observer = _Observer()
    probe = observer.lose(2)
    observer.step(Reached(2, 1))
    assert observer.step(Probed(probe, ProbeOutcome.REFUSED)) == []
    late = observer.lose(2)
    assert observer.step(Probed(probe, ProbeOutcome.REFUSED)) == []  # of the first time
    assert observer.confirm(late) == [DeclareDead(2, 1)]


def test_a_node_that_was_never_reached_is_left_to_its_lease() -> None:
    """Else two nodes that do not reach each other would end each other's registrations for ever."""
    observer = _Observer()
    observer.step(NodesRegistered({2: 1, 3: 1, 4: 1}))
    assert observer.step(Lost(4, 1)) == []
    assert observer.confirm(observer.lose(2)) == [DeclareDead(2, 1)]
    observer.step(NodesRegistered({3: 1, 4: 1}))
    observer.step(NodesRegistered({2: 1, 3: 1, 4: 1}))  # it lived, and registered again
    assert observer.step(Lost(2, 1)) == []


def test_another_life_of_the_node_is_another_node() -> None:
    observer = _Observer()
    probe = observer.lose(2)
    observer.step(NodesRegistered({2: 2, 3: 1}))
    assert observer.step(Probed(probe, ProbeOutcome.REFUSED)) == []
    assert observer.step(Lost(2, 1)) == []
    assert observer.step(Reached(2, 1)) == []
    assert observer.step(Lost(2, 2)) == []
    observer.step(Reached(2, 2))
    assert observer.step(Lost(2, 2)) == [Probe(2, 2, 1, pause_ms=0)]


def test_a_registration_that_ended_meanwhile_needs_no_declaration() -> None:
    observer = _Observer()
    probe = observer.lose(2)
    observer.step(NodesRegistered({3: 1}))
    assert observer.step(Probed(probe, ProbeOutcome.REFUSED)) == []


def test_who_loses_most_of_the_others_takes_itself_for_cut_off() -> None:
    observer = _Observer()
    first, second = observer.lose(2), observer.lose(3)
    assert observer.confirm(first) == []  # it is not known of the other yet
    effects = observer.confirm(second)
    assert [effect.node_id for effect in effects if isinstance(effect, LeaveToLease)] == [2, 3]
    assert len(effects) == 2
    assert observer.step(Lost(2, 1)) == []


def test_whoever_answers_in_the_end_is_not_counted() -> None:
    observer = _Observer()
    first, second = observer.lose(2), observer.lose(3)
    assert observer.confirm(first) == []
    assert observer.step(Probed(second, ProbeOutcome.ANSWERED)) == [DeclareDead(2, 1)]


def test_one_that_leaves_meanwhile_is_not_counted() -> None:
    observer = _Observer((2, 3, 4))
    first, _ = observer.lose(2), observer.lose(3)
    assert observer.confirm(first) == []
    assert observer.step(NodesRegistered({2: 1, 4: 1, 5: 1})) == [DeclareDead(2, 1)]


def test_half_of_the_others_may_die_at_once() -> None:
    observer = _Observer((2, 3, 4, 5))
    first, second = observer.lose(2), observer.lose(3)
    assert observer.confirm(first) == [DeclareDead(2, 1)]
    assert observer.confirm(second) == [DeclareDead(3, 1)]


def test_of_two_nodes_either_may_declare_the_other_dead() -> None:
    observer = _Observer((2,))
    assert observer.confirm(observer.lose(2)) == [DeclareDead(2, 1)]


def test_only_so_many_are_declared_dead_within_a_window() -> None:
    observer = _Observer((2, 3, 4, 5, 6, 7, 8))
    assert observer.confirm(observer.lose(2)) == [DeclareDead(2, 1)]
    observer.now_ms = 500
    assert observer.confirm(observer.lose(3)) == [DeclareDead(3, 1)]
    [left] = observer.confirm(observer.lose(4))
    assert isinstance(left, LeaveToLease)
    observer.now_ms = 1_000
    assert observer.confirm(observer.lose(5)) == [DeclareDead(5, 1)]
    [left] = observer.confirm(observer.lose(6))
    assert isinstance(left, LeaveToLease)


_NODE = st.integers(2, 5)
_LIFE = st.integers(1, 2)
_EVENTS = st.lists(
    st.one_of(
        st.builds(Reached, _NODE, _LIFE),
        st.builds(Lost, _NODE, _LIFE),
        st.dictionaries(_NODE, _LIFE).map(NodesRegistered),
        st.tuples(
            st.integers(0, 100), st.sampled_from(ProbeOutcome)
        ),  # the outcome of one of the probes that are under way
        st.integers(1, 2_000),  # time passes
    ),
    max_size=80,
)


@settings(max_examples=200, deadline=None)
@given(_EVENTS)
def test_nobody_is_declared_dead_without_a_reason(
    events: list[SuspicionEvent | tuple[int, ProbeOutcome] | int],
) -> None:
    """Reached, lost, and as many probes without an answer as it takes, all in the same life; within the rate. Refused
    ones, or such that came when the node had its time to notice that it is cut off."""
    machine = Suspicion(SETTINGS)
    now_ms = 0
    registered: dict[int, int] = {}
    under_way: list[Probe] = []
    reached: dict[int, int] = {}
    lost_ms: dict[int, int] = {}
    against: dict[int, int] = {}  # probes in a row that speak against it, since the connection was lost
    declared: list[int] = []
    for event in events:
        if isinstance(event, int):
            now_ms += event
            continue
        if isinstance(event, tuple):
            if not under_way:
                continue
            probe = under_way.pop(event[0] % len(under_way))
            is_early = now_ms < lost_ms.get(probe.node_id, 0) + SETTINGS.silent_ms
            is_for_it = event[1] is ProbeOutcome.ANSWERED or (event[1] is ProbeOutcome.SILENT and is_early)
            against[probe.node_id] = 0 if is_for_it else against.get(probe.node_id, 0) + 1
            event = Probed(probe, event[1])
        elif isinstance(event, NodesRegistered):
            for node_id in [*registered]:
                if event.incarnations.get(node_id) != registered[node_id]:
                    reached.pop(node_id, None)
            registered = dict(event.incarnations)
        elif isinstance(event, Reached) and registered.get(event.node_id) == event.incarnation:
            reached[event.node_id] = event.incarnation
            against[event.node_id] = 0
        elif isinstance(event, Lost) and reached.get(event.node_id) == event.incarnation:
            lost_ms[event.node_id] = now_ms
        for effect in machine.step(event, now_ms):
            if isinstance(effect, Probe):
                assert reached[effect.node_id] == effect.incarnation
                under_way.append(effect)
            elif isinstance(effect, DeclareDead):
                assert registered[effect.node_id] == effect.incarnation
                assert reached.pop(effect.node_id) == effect.incarnation
                assert against[effect.node_id] >= SETTINGS.tries
                declared.append(now_ms)
        machine.check_invariants()
    for at_ms in declared:
        within = [each for each in declared if at_ms <= each < at_ms + SETTINGS.declarations_window_ms]
        assert len(within) <= SETTINGS.declarations_max
