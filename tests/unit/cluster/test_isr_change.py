import pytest

from cluster import keys
from cluster.codec import decode, encode
from cluster.coordination import KeyValue, unchanged
from cluster.isr_change import found_empty, isr_with, isr_without, without_damaged
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


def living(*node_ids: int, **directories: str) -> dict[int, NodeRegistration]:
    return {
        node: NodeRegistration(node, 7, directories.get(f"n{node}", "abc"[node - 1]), f"node-{node}")
        for node in node_ids
    }


def state_of(**fields: object) -> PartitionState:
    return decode(PartitionState, partition(**fields).value)


def test_a_damaged_follower_leaves_where_enough_others_stay() -> None:
    after = without_damaged(state_of(isr=(1, 2, 3)), 3, living=living(1, 2, 3), isr_floor=2)
    assert after is not None
    assert (after.isr, after.leader, after.leader_incarnation) == ((1, 2), 1, 1)
    assert (after.leader_epoch, after.partition_epoch) == (6, 5), "the leader must forget what it knows of it"


@pytest.mark.parametrize(
    ("isr", "others"),
    [
        ((1, 3), living(1, 2, 3)),  # too few would stay
        ((1, 2, 3), living(1, 3)),  # one of them is gone
        ((1, 2, 3), living(1, 2, 3, n2="a new disk")),
    ],
)
def test_a_damaged_follower_stays_where_too_few_others_would(
    isr: tuple[int, ...], others: dict[int, NodeRegistration]
) -> None:
    assert without_damaged(state_of(isr=isr), 3, living=others, isr_floor=2) is None


def test_a_damaged_follower_that_is_no_member_only_takes_an_epoch() -> None:
    after = without_damaged(state_of(isr=(1, 2)), 3, living=living(1, 3), isr_floor=2)
    assert after is not None
    assert (after.isr, after.leader, after.leader_epoch) == ((1, 2), 1, 6)


def test_a_damaged_leader_is_followed_by_a_living_member() -> None:
    after = without_damaged(state_of(isr=(1, 2, 3)), 1, living=living(1, 3, 2), isr_floor=2)
    assert after is not None
    assert (after.isr, after.leader, after.leader_incarnation, after.leader_epoch) == ((2, 3), 2, 7, 6)


def test_a_damaged_leader_hands_over_also_where_it_has_to_stay() -> None:
    """And is preferred last, or the controller would soon give the leadership back."""
    after = without_damaged(state_of(isr=(1, 3)), 1, living=living(1, 2, 3), isr_floor=2)
    assert after is not None
    assert (after.isr, after.leader) == ((1, 3), 3)
    assert (after.replicas, after.directories) == ((2, 3, 1), ("b", "c", "a"))


def test_a_damaged_leader_stays_where_nobody_can_follow_it() -> None:
    assert without_damaged(state_of(isr=(1, 2)), 1, living=living(1, 3), isr_floor=1) is None
    assert without_damaged(state_of(isr=(1,)), 1, living=living(1, 2, 3), isr_floor=1) is None


def test_who_holds_nothing_gives_up_nothing() -> None:
    assert without_damaged(state_of(), 4, living=living(1, 2, 3), isr_floor=1) is None
