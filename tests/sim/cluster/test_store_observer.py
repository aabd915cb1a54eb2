"""The judge of what is written to the coordination store complains about each thing that must not happen there."""

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.projected_offsets import ProjectedOffsets, ProjectedPartition
from cluster.model.values import NO_LEADER, NodeRegistration, PartitionState, Topic, TopicConfig
from cluster.ports.coordination import Changed, KeyValue, Removed
from cluster.stores.memory_store import MemoryStore
from tests.sim.cluster.store_observer import StoreObserver
from tests.sim.history import Elected, History
from tests.support.manual_clock import ManualClock

BEFORE = PartitionState(
    "topic",
    0,
    replicas=(1, 2, 3),
    isr=(1, 2),
    leader=1,
    leader_incarnation=1,
    leader_epoch=4,
    partition_epoch=7,
    directories=("d1", "d2", "d3"),
)
ELECTED = replace(BEFORE, leader=2, leader_epoch=5, partition_epoch=8)


TOPIC = Topic("topic", "orders", 1, 3, 0, TopicConfig(min_insync_replicas=2))


def observed(*states: PartitionState, directory_on: Callable[[int], str | None] = lambda _node: None) -> StoreObserver:
    observer = StoreObserver(MemoryStore(ManualClock()), History(), Counter(), lambda: 1.0, directory_on=directory_on)
    observer.see(Changed(KeyValue(keys.topic("orders"), encode(TOPIC), 1, 2, 1)))
    for state in states:
        value = encode(state)
        observer.see(Changed(KeyValue(keys.partition(state.topic_id, state.partition), value, 1, 2, 1)))
    return observer


@pytest.mark.parametrize(
    ("after", "complaint"),
    [
        (replace(ELECTED, leader_epoch=3), "the epoch fell"),
        (replace(ELECTED, leader_epoch=4), "was (1, 1)'s, then (2, 1)'s"),
        (replace(BEFORE, leader_incarnation=2, partition_epoch=8), "was (1, 1)'s, then (1, 2)'s"),
        (replace(BEFORE, isr=(1, 2, 3)), "partition epoch 7 was followed by 7"),
        (replace(BEFORE, isr=(), partition_epoch=8), "is empty"),
        (replace(BEFORE, isr=(1, 9), partition_epoch=8), "no part of the replicas"),
        (replace(ELECTED, isr=(3, 1), leader=3), "3 was elected, which was not in the ISR (1, 2)"),
        (replace(ELECTED, isr=(2,)), "[1] left the ISR (1, 2), of which 2 have to stay"),
        (replace(ELECTED, directories=("d1", "new", "d3")), "2 was elected with the directory new, not d2"),
    ],
)
def test_what_must_not_be_written(after: PartitionState, complaint: str) -> None:
    violations = observed(BEFORE, after).violations
    assert any(complaint in violation for violation in violations), violations


def test_who_came_back_with_an_empty_disk_may_leave_before_that_is_written_down() -> None:
    shrunk = replace(BEFORE, isr=(1,), partition_epoch=8)
    for directory, complaints in (("d2", 1), ("new", 0), ("", 0)):
        observer = observed(BEFORE, shrunk, directory_on=lambda _node, directory=directory: directory)
        assert len(observer.violations) == complaints


def test_what_may_be_written() -> None:
    grown = replace(ELECTED, isr=(1, 2, 3), partition_epoch=9)
    smaller = replace(grown, isr=(2, 3), partition_epoch=10)
    wiped = replace(smaller, isr=(3,), directories=("d1", "new", "d3"), partition_epoch=11)
    alone = replace(wiped, leader=NO_LEADER, leader_epoch=6, partition_epoch=12)
    observer = observed(BEFORE, ELECTED, grown, smaller, wiped, alone)
    assert observer.violations == []
    assert [elected.epoch for elected in observer._history.of(Elected)] == [4, 5, 6]
    counted = observer._coverage
    assert (counted["elections"], counted["ISR shrinks"], counted["ISR growths"]) == (2, 2, 1)
    assert counted["times without a leader"] == 1


def test_registrations_are_known_while_they_live() -> None:
    observer = observed()
    registration = NodeRegistration(3, 1, "d3", "node-3:7000")
    observer.see(Changed(KeyValue(keys.node(3), encode(registration), 1, 2, 1)))
    assert observer.nodes == {3: registration}
    observer.see(Removed(keys.node(3), 3))
    assert observer.nodes == {}


def projected(*values: ProjectedPartition) -> StoreObserver:
    observer = observed()
    for value in values:
        written = msgspec.json.encode(ProjectedOffsets({"0": value}))
        observer.see(Changed(KeyValue(keys.offsets("group", "topic"), written, 1, 2, 1)))
    return observer


def test_what_a_later_leader_has_shown_is_not_replaced() -> None:
    first = ProjectedPartition(offset=10, done_above=0, leader_epoch=2, version=5)
    for later in (replace(first, version=6), replace(first, leader_epoch=3, version=1)):
        assert projected(first, later).violations == []
        assert "of partition 0 fell from" in projected(later, first).violations[0]
    observer = projected(first)
    observer.see(Removed(keys.offsets("group", "topic"), 3))
    assert observer.violations == []
