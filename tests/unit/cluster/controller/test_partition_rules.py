from msgspec.structs import replace

from cluster.controller.partition_rules import rule
from cluster.controller.steps import DecisionKind
from cluster.model.values import NO_LEADER, PartitionLife, PartitionState
from tests.unit.cluster.controller.states import members, node, partition, topic

ALL = (node(1), node(2), node(3))


def kinds(ruling: object) -> list[DecisionKind]:
    return [decision.kind for decision in ruling.decisions]  # type: ignore[attr-defined]


def test_nothing_to_do() -> None:
    assert rule(partition(1, 2, 3), topic(), members(*ALL)) is None


def test_a_dead_leader_is_followed_by_the_first_in_sync_and_leaves_the_isr() -> None:
    ruling = rule(partition(1, 2, 3, isr=(1, 3)), topic(), members(node(2), node(3)))
    assert ruling is not None
    state = ruling.state
    assert (state.leader, state.leader_incarnation, state.leader_epoch, state.isr) == (3, 1, 6, (3,))
    assert state.partition_epoch == 11
    assert kinds(ruling) == [DecisionKind.LEADER_ELECTED, DecisionKind.ISR_SHRUNK]


def test_nobody_outside_the_isr_is_elected() -> None:
    """R9."""
    state = partition(1, 2, 3, isr=(1,))
    assert rule(state, topic(), members(node(2), node(3))) is None, "it may come back with everything"


def test_a_leader_that_started_again_takes_a_new_epoch() -> None:
    ruling = rule(partition(1, 2, 3), topic(), members(node(1, incarnation=2), node(2), node(3)))
    assert ruling is not None
    assert (ruling.state.leader, ruling.state.leader_incarnation, ruling.state.leader_epoch) == (1, 2, 6)


def test_dead_followers_leave_the_isr_but_not_below_its_floor() -> None:
    ruling = rule(partition(1, 2, 3), topic(min_isr=2), members(node(1)))
    assert ruling is not None
    assert ruling.state.isr == (1, 2)
    assert ruling.state.leader_epoch == 5
    assert rule(ruling.state, topic(min_isr=2), members(node(1))) is None
    assert rule(partition(1, 2, isr=(1,)), topic(), members(node(1))) is None


def test_a_replaced_disk_is_out_before_the_election() -> None:
    ruling = rule(partition(1, 2, isr=(1, 2)), topic(), members(node(2, incarnation=2, disk="new")))
    assert ruling is not None
    state = ruling.state
    assert (state.leader, state.isr, state.directories) == (1, (1,), ("disk-1", "new"))
    assert kinds(ruling) == [DecisionKind.DISK_REPLACED]


def test_a_leader_with_a_replaced_disk_is_followed_by_another() -> None:
    ruling = rule(partition(1, 2), topic(), members(node(1, incarnation=2, disk="new"), node(2)))
    assert ruling is not None
    assert (ruling.state.leader, ruling.state.isr, ruling.state.replicas) == (2, (2,), (1, 2))


def test_when_the_last_in_sync_lost_its_disk_nobody_leads() -> None:
    ruling = rule(partition(1, 2, isr=(1,)), topic(), members(node(1, incarnation=2, disk="new"), node(2)))
    assert ruling is not None
    assert (ruling.state.leader, ruling.state.isr) == (NO_LEADER, ())
    assert kinds(ruling) == [DecisionKind.DISK_REPLACED, DecisionKind.DATA_UNAVAILABLE]
    assert rule(ruling.state, topic(), members(node(1, incarnation=2, disk="new"), node(2))) is None


def test_an_unknown_directory_is_learned() -> None:
    ruling = rule(partition(1, 2, directories=()), topic(), members(node(1), node(2)))
    assert ruling is not None
    assert ruling.state.directories == ("disk-1", "disk-2")
    assert ruling.state.isr == (1, 2)
    assert rule(partition(1, 2, directories=()), topic(), members(node(1, disk=" "))) is not None


def test_a_leaving_leader_hands_over_to_who_stays() -> None:
    leaving = node(1, is_leaving=True)
    ruling = rule(partition(1, 2, 3), topic(), members(leaving, node(2), node(3), draining=(2,)))
    assert ruling is not None
    assert (ruling.state.leader, ruling.state.leader_epoch, ruling.state.isr) == (3, 6, (1, 2, 3))
    assert kinds(ruling) == [DecisionKind.LEADERSHIP_MOVED]
    assert rule(partition(1, 2, isr=(1,)), topic(), members(leaving, node(2))) is None
    everybody = members(leaving, node(2, is_leaving=True))
    assert rule(partition(1, 2), topic(), everybody) is None, "it would only go round"


def test_a_move_ends_when_the_new_replica_is_in_sync() -> None:
    moving = {"adding": (4,), "removing": (1,)}
    nodes = members(*ALL, node(4))
    assert rule(partition(4, 1, 2, isr=(1, 2), leader=1, **moving), topic(replicas=2), nodes) is None
    ruling = rule(partition(4, 1, 2, isr=(1, 2, 4), leader=1, **moving), topic(replicas=2), nodes)
    assert ruling is not None
    state = ruling.state
    assert (state.replicas, state.isr, state.adding, state.removing) == ((4, 2), (2, 4), (), ())
    assert (state.leader, state.leader_epoch) == (4, 6), "the leader that goes is followed by the preferred one"
    assert state.directories == ("disk-4", "disk-2")


def test_a_move_waits_for_enough_in_sync_that_stay() -> None:
    state = partition(1, 2, 4, isr=(1, 4), adding=(4,), removing=(1,))
    assert rule(state, topic(replicas=2, min_isr=2), members(*ALL, node(4))) is None
    dead = partition(1, 2, 4, isr=(1, 4), adding=(4,), removing=(2,))
    ruling = rule(dead, topic(replicas=2), members(node(1)))
    assert ruling is not None
    assert ruling.state.is_moving, "the new replica died before the old one was let go"


def test_two_rules_in_one_write_take_one_epoch() -> None:
    state = partition(1, 2, 3, isr=(1, 2, 3), adding=(3,), removing=(1,))
    ruling = rule(state, topic(replicas=2), members(node(1, incarnation=2), node(2), node(3)))
    assert ruling is not None
    assert ruling.state.leader == 2
    assert ruling.state.leader_epoch == 6


def test_the_life_of_a_decommissioned_partition() -> None:
    nodes, decommissioned = members(*ALL), topic(decommissioned=(0,))
    ruling = rule(partition(1, 2, 3), decommissioned, nodes)
    assert ruling is not None
    assert ruling.state.life is PartitionLife.DECOMMISSIONED
    assert ruling.state.leader_epoch == 5, "it goes on under the same leader"
    assert rule(ruling.state, decommissioned, nodes) is None, "until its leader says that it is empty"
    empty = partition(1, 2, 3, life=PartitionLife.EMPTY)
    assert rule(empty, topic(), nodes) is None
    ruling = rule(empty, decommissioned, nodes)
    assert ruling is not None
    gone = ruling.state
    assert (gone.life, gone.replicas, gone.isr, gone.leader) == (PartitionLife.GONE, (), (), NO_LEADER)
    assert gone.leader_epoch == 6
    assert rule(gone, decommissioned, nodes) is None


def test_a_leader_outside_the_isr_is_replaced() -> None:
    """No version writes it; whoever did, it is not trusted."""
    strange: PartitionState = partition(1, 2, isr=(2,), leader=1)
    ruling = rule(strange, topic(), members(node(1), node(2)))
    assert ruling is not None
    assert ruling.state.leader == 2


def test_a_leader_with_a_full_disk_is_followed_and_leaves_the_isr() -> None:
    nodes = members(node(1, is_impaired=True), node(2), node(3))
    ruling = rule(partition(1, 2, 3), topic(min_isr=2), nodes)
    assert ruling is not None
    assert (ruling.state.leader, ruling.state.leader_epoch, ruling.state.isr) == (2, 6, (2, 3))
    assert kinds(ruling) == [DecisionKind.LEADERSHIP_MOVED, DecisionKind.ISR_SHRUNK]
    assert rule(ruling.state, topic(min_isr=2), nodes) is None


def test_a_follower_with_a_full_disk_leaves_the_isr_where_the_minimum_stays() -> None:
    nodes = members(node(1), node(2, is_impaired=True), node(3))
    ruling = rule(partition(1, 2, 3), topic(min_isr=2), nodes)
    assert ruling is not None
    assert (ruling.state.leader, ruling.state.isr, ruling.state.leader_epoch) == (1, (1, 3), 5)
    assert rule(partition(1, 2, 3), topic(min_isr=3), nodes) is None


def test_nobody_moves_where_all_disks_are_full() -> None:
    full = members(*(node(number, is_impaired=True) for number in (1, 2, 3)))
    assert rule(partition(1, 2, 3), topic(min_isr=2), full) is None
    two_full = members(node(1, is_impaired=True), node(2, is_impaired=True), node(3))
    ruling = rule(partition(1, 2, 3), topic(min_isr=2), two_full)
    assert ruling is not None, "the third one can at least be asked"
    assert (ruling.state.leader, ruling.state.isr) == (3, (1, 2, 3))


def test_a_node_with_a_full_disk_is_elected_last() -> None:
    ruling = rule(partition(1, 2, 3), topic(), members(node(2, is_impaired=True), node(3)))
    assert ruling is not None
    assert ruling.state.leader == 3
    alone = rule(partition(1, 2, 3), topic(), members(node(2, is_impaired=True)))
    assert alone is not None
    assert alone.state.leader == 2, "what it has can be read"


def test_who_has_handed_a_leadership_over_is_elected_after_the_others() -> None:
    state = replace(partition(1, 2, 3), given_up_by=(2,))
    ruling = rule(state, topic(), members(node(2), node(3)))
    assert ruling is not None
    assert ruling.state.leader == 3


def test_who_has_handed_a_leadership_over_is_elected_after_a_drained_node() -> None:
    """Rule R36: being drained keeps nobody from committing."""
    state = replace(partition(1, 2, 3), given_up_by=(2,))
    drained = rule(state, topic(), members(node(2), node(3), draining=(3,)))
    assert drained is not None
    assert drained.state.leader == 3
    leaving = rule(state, topic(), members(node(2), node(3, is_leaving=True)))
    assert leaving is not None
    assert leaving.state.leader == 2, "the other one is about to stop"
