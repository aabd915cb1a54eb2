import pytest

from cluster import keys
from cluster.codec import decode, encode
from cluster.coordination import KeyValue, unchanged
from cluster.isr_change import found_empty, isr_with, isr_without
from cluster.model import NodeRegistration, PartitionLife, PartitionState


def partition(**fields: object) -> KeyValue:
    values = {"replicas": (1, 2, 3), "isr": (1, 2), "directories": ("a", "b", "c"), "partition_epoch": 4} | fields
    state = PartitionState(topic_id="t", partition=0, leader=1, leader_incarnation=1, leader_epoch=5, **values)  # type: ignore[arg-type]
    return KeyValue(keys.partition("t", 0), encode(state), 1, 30, 2)


def follower(node_id: int = 3, incarnation: int = 7, directory: str = "c") -> KeyValue:
    registration = NodeRegistration(node_id, incarnation, directory, "")
    return KeyValue(keys.node(node_id), encode(registration), 1, 20, 1)


def test_adding_names_the_follower_in_its_present_life() -> None:
    before = partition()
    change = isr_with(before, follower(), incarnation=7)
    assert change is not None
    assert change.compares == (unchanged(before), unchanged(follower()))
    assert change.state.isr == (1, 2, 3)
    assert (change.state.partition_epoch, change.state.leader_epoch) == (5, 5)
    assert decode(PartitionState, change.put.value) == change.state


@pytest.mark.parametrize(
    "registration",
    [
        follower(incarnation=8),  # started again since it caught up
        follower(directory="other"),  # its disk was replaced, and the controller does not know yet
        follower(node_id=2, directory="b"),  # in sync already
        follower(node_id=4),  # no replica
    ],
)
def test_who_must_not_be_added(registration: KeyValue) -> None:
    assert isr_with(partition(), registration, incarnation=7) is None


def test_a_directory_that_was_never_told_does_not_matter() -> None:
    assert isr_with(partition(directories=()), follower(directory="any"), incarnation=7) is not None


def test_removing_stops_at_the_least_number_in_sync_and_never_removes_the_leader() -> None:
    of_three = partition(isr=(1, 2, 3))
    change = isr_without(of_three, (2, 3), min_insync_replicas=1)
    assert change is not None
    assert change.state.isr == (1,)
    assert change.compares == (unchanged(of_three),)
    change = isr_without(of_three, (2, 3), min_insync_replicas=2)
    assert change is not None
    assert change.state.isr == (1, 2)
    assert isr_without(of_three, (2, 3), min_insync_replicas=3) is None
    assert isr_without(of_three, (1,), min_insync_replicas=1) is None
    assert isr_without(partition(isr=(1,)), (1, 2), min_insync_replicas=0) is None


def test_only_a_decommissioned_partition_can_be_found_empty() -> None:
    assert found_empty(partition()) is None
    change = found_empty(partition(life=PartitionLife.DECOMMISSIONED))
    assert change is not None
    assert change.state.life is PartitionLife.EMPTY
