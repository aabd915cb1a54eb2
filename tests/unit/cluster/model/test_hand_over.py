"""Who gets the leadership of a leader that cannot commit."""

from msgspec.structs import replace

from cluster.model.hand_over import hand_overs_forgotten, handed_over
from cluster.model.values import NodeRegistration, PartitionState


def living(
    *node_ids: int, impaired: tuple[int, ...] = (), leaving: tuple[int, ...] = ()
) -> dict[int, NodeRegistration]:
    return {
        node: NodeRegistration(
            node, 10 * node, f"d{node}", "", is_leaving=node in leaving, has_impaired_storage=node in impaired
        )
        for node in node_ids
    }


def state(*replicas: int, isr: tuple[int, ...] = (), given_up_by: tuple[int, ...] = ()) -> PartitionState:
    """Led by node 1."""
    return PartitionState(
        topic_id="t",
        partition=0,
        replicas=replicas,
        isr=isr or replicas,
        leader=1,
        leader_incarnation=10,
        leader_epoch=5,
        directories=tuple(f"d{node}" for node in replicas),
        given_up_by=given_up_by,
    )


def test_one_of_those_that_are_not_heard_leads_without_the_old_leader() -> None:
    changed = handed_over(state(1, 2, 3), 1, living=living(1, 2, 3), heard=(), isr_floor=2)
    assert changed is not None
    assert (changed.leader, changed.leader_incarnation, changed.leader_epoch) == (2, 20, 6)
    assert (changed.isr, changed.given_up_by, changed.replicas) == ((2, 3), (1,), (1, 2, 3))


def test_with_a_minimum_of_all_one_that_is_heard_may_hear_the_rest() -> None:
    changed = handed_over(state(1, 2, 3), 1, living=living(1, 2, 3), heard=(3,), isr_floor=3)
    assert changed is not None
    assert (changed.leader, changed.isr) == (3, (1, 2, 3)), "below the minimum nobody leaves"


def test_nobody_moves_where_nobody_could_commit() -> None:
    assert handed_over(state(1, 2), 1, living=living(1, 2), heard=(), isr_floor=2) is None
    assert handed_over(state(1, 2, 3), 1, living=living(1), heard=(), isr_floor=2) is None
    assert handed_over(state(1, 2, 3), 1, living=living(1, 2, 3, impaired=(2, 3)), heard=(), isr_floor=2) is None
    assert handed_over(state(1, 2, 3, isr=(1,)), 1, living=living(1, 2, 3), heard=(), isr_floor=2) is None


def test_a_node_with_another_disk_is_not_in_sync() -> None:
    nodes = living(1, 2, 3)
    nodes[2] = NodeRegistration(2, 21, "another", "")
    changed = handed_over(state(1, 2, 3), 1, living=nodes, heard=(), isr_floor=1)
    assert changed is not None
    assert changed.leader == 3


def test_a_damaged_copy_neither_leads_nor_counts() -> None:
    damaged = replace(state(1, 2, 3), damaged=(2,))
    assert handed_over(damaged, 1, living=living(1, 2, 3), heard=(), isr_floor=2) is None
    changed = handed_over(replace(damaged, damaged=(1, 2)), 1, living=living(1, 2, 3), heard=(), isr_floor=1)
    assert changed is not None
    assert (changed.leader, changed.isr, changed.damaged) == (3, (2, 3), (2,))


def test_only_the_leader_hands_over() -> None:
    assert handed_over(state(1, 2, 3), 2, living=living(1, 2, 3), heard=(), isr_floor=2) is None


def test_whoever_gave_it_up_comes_last_and_the_first_of_them_first() -> None:
    nodes = living(1, 2, 3)
    once = handed_over(state(1, 2, 3, given_up_by=(2,)), 1, living=nodes, heard=(), isr_floor=2)
    assert once is not None
    assert (once.leader, once.given_up_by) == (3, (2, 1))
    again = handed_over(state(1, 2, 3, given_up_by=(3, 2, 1)), 1, living=nodes, heard=(), isr_floor=2)
    assert again is not None
    assert (again.leader, again.given_up_by) == (3, (3, 2, 1))


def test_one_that_stays_goes_before_one_that_is_about_to_stop() -> None:
    changed = handed_over(state(1, 2, 3), 1, living=living(1, 2, 3, leaving=(2,)), heard=(), isr_floor=2)
    assert changed is not None
    assert changed.leader == 3


def test_hand_overs_are_forgotten_once() -> None:
    forgotten = hand_overs_forgotten(state(1, 2, 3, given_up_by=(2,)))
    assert forgotten is not None
    assert (forgotten.given_up_by, forgotten.leader_epoch) == ((), 5)
    assert hand_overs_forgotten(forgotten) is None
