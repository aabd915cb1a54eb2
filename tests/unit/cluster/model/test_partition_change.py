import pytest

from cluster.model.partition_change import found_empty, without_damaged
from cluster.model.values import NodeRegistration, PartitionLife, PartitionState


def state_of(**fields: object) -> PartitionState:
    values = {"replicas": (1, 2, 3), "isr": (1, 2), "directories": ("a", "b", "c"), "partition_epoch": 4} | fields
    return PartitionState(topic_id="t", partition=0, leader=1, leader_incarnation=1, leader_epoch=5, **values)  # type: ignore[arg-type]


def test_only_a_decommissioned_partition_can_be_found_empty() -> None:
    assert found_empty(state_of()) is None
    changed = found_empty(state_of(life=PartitionLife.DECOMMISSIONED))
    assert changed is not None
    assert (changed.life, changed.partition_epoch) == (PartitionLife.EMPTY, 5)


def living(*node_ids: int, **directories: str) -> dict[int, NodeRegistration]:
    return {
        node: NodeRegistration(node, 7, directories.get(f"n{node}", "abc"[node - 1]), f"node-{node}")
        for node in node_ids
    }


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


def test_two_damaged_members_do_not_hand_the_leadership_to_each_other() -> None:
    others = living(1, 2)
    after = without_damaged(state_of(isr=(1, 2)), 1, living=others, isr_floor=2)
    assert after is not None
    assert (after.leader, after.isr, after.damaged) == (2, (1, 2), (1,))
    assert without_damaged(after, 2, living=others, isr_floor=2) is None
    assert without_damaged(after, 2, living=living(1, 2, 3), isr_floor=1) is None, "nobody whole is left in sync"


def test_a_damaged_one_that_leaves_is_known_as_such_no_longer() -> None:
    state = state_of(isr=(1, 2, 3), damaged=(3,))
    after = without_damaged(state, 3, living=living(1, 2, 3), isr_floor=2)
    assert after is not None
    assert (after.isr, after.damaged) == ((1, 2), ())


def test_nobody_drops_its_copy_where_the_others_are_damaged() -> None:
    state = state_of(isr=(1, 2, 3), damaged=(2,))
    assert without_damaged(state, 3, living=living(1, 2, 3), isr_floor=2) is None
