"""Operators' stories, told with the real planner on a cluster whose logs are only counted."""

import dataclasses
from collections import Counter

import pytest
from msgspec.structs import replace

from cluster.controller.dry_run import propose
from cluster.controller.moves import MoveKind
from cluster.controller.progress import MoveProgress, progress
from cluster.controller.steps import DecisionKind
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.steering import OrderKind, PartitionOrder
from cluster.model.values import PartitionLife
from cluster.ports.coordination import Put
from tests.support.planned_cluster import SETTINGS, PlannedCluster


@pytest.fixture
def cluster() -> PlannedCluster:
    cluster = PlannedCluster()
    for node in (1, 2, 3):
        cluster.start(node)
    cluster.create("orders", partitions=6, replicas=2)
    cluster.control()
    cluster.see()
    return cluster


def holders(cluster: PlannedCluster) -> Counter[int]:
    return Counter(node for state in cluster.states().values() for node in state.replicas)


def leaders(cluster: PlannedCluster) -> Counter[int]:
    return Counter(state.leader for state in cluster.states().values())


def kinds(cluster: PlannedCluster) -> Counter[DecisionKind]:
    return Counter(decision.kind for decision in cluster.decisions)


def test_a_new_topic_is_even_and_stays(cluster: PlannedCluster) -> None:
    assert holders(cluster) == {1: 4, 2: 4, 3: 4}
    assert leaders(cluster) == {1: 2, 2: 2, 3: 2}
    before = cluster.key_space.revision
    cluster.settle()
    assert cluster.key_space.revision == before


def test_elections_do_not_wait_for_the_round(cluster: PlannedCluster) -> None:
    cluster.settle()
    cluster.control()
    cluster.stop(2)
    cluster.control()
    assert leaders(cluster)[2] == 0
    assert all(2 not in state.isr for state in cluster.states().values())
    assert all(len(state.replicas) == 2 for state in cluster.states().values()), "nothing is repaired yet"


def test_who_has_no_leader_gets_one_before_anything_else_is_decided(cluster: PlannedCluster) -> None:
    cluster.settle()
    cluster.decisions.clear()
    cluster.stop(2)
    cluster.control()
    decided = [decision.kind for decision in cluster.decisions]
    elections = decided.count(DecisionKind.LEADER_ELECTED)
    assert 0 < elections < len(decided)
    assert DecisionKind.LEADER_ELECTED not in decided[2 * elections :], "each took the dead one out of the ISR, too"


def test_repair_waits_and_leadership_comes_back(cluster: PlannedCluster) -> None:
    cluster.stop(2)
    cluster.control()
    assert cluster.next_deadline_ms is not None
    cluster.now_ms += SETTINGS.repair_delay_ms - 1
    cluster.control()
    assert DecisionKind.MOVE_STARTED not in kinds(cluster)
    cluster.start(2)
    cluster.control()
    cluster.replicate()
    cluster.control()
    assert leaders(cluster)[2] == 0, "it has to prove itself first"
    cluster.settle()
    assert leaders(cluster) == {1: 2, 2: 2, 3: 2}
    assert DecisionKind.MOVE_STARTED not in kinds(cluster)


def test_the_deadline_tells_when_repair_begins(cluster: PlannedCluster) -> None:
    cluster.settle()
    cluster.stop(2)
    cluster.control()
    missed_at_ms = cluster.now_ms
    while DecisionKind.MOVE_STARTED not in kinds(cluster):
        assert cluster.next_deadline_ms is not None
        cluster.now_ms = max(cluster.now_ms, cluster.next_deadline_ms)
        cluster.control()
    assert cluster.now_ms - missed_at_ms <= SETTINGS.repair_delay_ms + 2 * SETTINGS.round_interval_ms
    assert kinds(cluster)[DecisionKind.MOVE_STARTED] <= SETTINGS.moves_max
    cluster.settle()
    assert holders(cluster) == {1: 6, 3: 6}


def test_drain_and_its_dry_run_agree(cluster: PlannedCluster) -> None:
    proposal = propose(cluster.image, drain=[2])
    assert {move.kind for move in proposal.moves} == {MoveKind.DRAIN}
    assert all(move.reason == "node 2 is drained" for move in proposal.moves)
    assert proposal.is_complete
    assert proposal.stuck == ()
    before = cluster.key_space.revision
    assert cluster.control() == 0, "a dry run changes nothing"
    cluster.drain(2)
    cluster.control()
    figures = progress(cluster.image)
    assert [each.is_draining for each in figures.nodes] == [False, True, False]
    cluster.settle()
    assert cluster.key_space.revision > before
    assert {move.partition_id: set(move.after) for move in proposal.moves}.items() <= {
        partition: set(state.replicas) for partition, state in cluster.states().items()
    }.items()
    [drained] = [each for each in progress(cluster.image).nodes if each.node_id == 2]
    assert (drained.replicas, drained.leaders) == (0, 0)


def test_a_drain_without_room_is_told(cluster: PlannedCluster) -> None:
    cluster.stop(3)
    cluster.settle()
    proposal = propose(cluster.image, drain=[2])
    assert proposal.moves == ()
    assert len(proposal.stuck) == 6
    assert not propose(cluster.image, drain=[1], lost=[3], moves_max=0).moves


def test_a_dry_run_that_is_too_long_says_so(cluster: PlannedCluster) -> None:
    proposal = propose(cluster.image, drain=[2], moves_max=2)
    assert len(proposal.moves) == 2
    assert not proposal.is_complete


def test_a_new_node_gets_its_share_a_few_at_a_time(cluster: PlannedCluster) -> None:
    cluster.settle()
    cluster.start(4)
    cluster.control()
    assert propose(cluster.image).moves, "the dry run does not wait"
    assert DecisionKind.MOVE_STARTED not in kinds(cluster)
    while DecisionKind.MOVE_STARTED not in kinds(cluster):
        assert cluster.next_deadline_ms is not None
        cluster.now_ms = max(cluster.now_ms, cluster.next_deadline_ms)
        cluster.control()
    moving = [state for state in cluster.states().values() if state.is_moving]
    assert len(moving) == SETTINGS.moves_per_node_max
    [first, *_] = progress_of(cluster)
    assert first.waiting_for == (4,)
    cluster.settle()
    assert sorted(holders(cluster).values()) == [3, 3, 3, 3]
    assert sorted(leaders(cluster).values()) in ([1, 1, 2, 2], [1, 2, 1, 2])


def progress_of(cluster: PlannedCluster) -> tuple[MoveProgress, ...]:
    cluster.see()
    return progress(cluster.image).moves


def test_an_order_is_carried_out_and_deleted(cluster: PlannedCluster) -> None:
    partition = ("id-orders", 0)
    held = cluster.state(partition).replicas
    other = next(node for node in (1, 2, 3) if node not in held)
    wanted = (other, held[1])
    [move] = [
        each
        for each in propose(cluster.image, orders=[PartitionOrder(*partition, 0, OrderKind.MOVE, wanted)]).moves
        if each.kind is MoveKind.ORDERED
    ]
    assert (move.before, move.after) == (held, wanted)
    cluster.pause()
    cluster.order(partition, wanted)
    cluster.control()
    cluster.now_ms += SETTINGS.round_interval_ms
    cluster.control()
    assert cluster.state(partition).adding == (other,)
    assert progress(cluster.image).orders_waiting == 1
    cluster.settle()
    assert cluster.state(partition).replicas == wanted
    assert cluster.key_space.get(keys.partition_order(*partition)) is None


def test_a_cancelled_move_leaves_all_as_it_was(cluster: PlannedCluster) -> None:
    partition = ("id-orders", 0)
    before = cluster.state(partition)
    other = next(node for node in (1, 2, 3) if node not in before.replicas)
    cluster.pause()
    cluster.order(partition, (before.replicas[0], other))
    cluster.now_ms += SETTINGS.round_interval_ms
    cluster.control()
    assert cluster.state(partition).is_moving
    cluster.cancel(partition)
    for _ in range(3):
        cluster.now_ms += SETTINGS.round_interval_ms
        cluster.control()
    after = cluster.state(partition)
    assert (after.replicas, after.isr, after.leader, after.is_moving) == (before.replicas, before.isr, 1, False)
    assert cluster.key_space.get(keys.partition_order(*partition)) is None
    cluster.settle()
    assert cluster.state(partition).replicas == before.replicas


def test_an_order_that_waits_for_a_node_holds_up_no_drain(cluster: PlannedCluster) -> None:
    """The node may never come back."""
    cluster.start(4)
    cluster.settle()
    cluster.stop(4)
    partition = next(place for place, state in sorted(cluster.states().items()) if 4 not in state.replicas)
    cluster.order(partition, (4, cluster.state(partition).replicas[1]))
    drained = cluster.state(partition).replicas[0]
    cluster.drain(drained)
    cluster.settle()
    assert holders(cluster)[drained] == 0
    assert progress(cluster.image).orders_waiting == 1
    cluster.undrain(drained)
    cluster.start(4)
    cluster.settle()
    assert 4 in cluster.state(partition).replicas, "it is carried out when the node comes"
    assert progress(cluster.image).orders_waiting == 0


def test_an_ordered_move_whose_new_node_is_lost_is_repaired(cluster: PlannedCluster) -> None:
    partition = ("id-orders", 0)
    held = cluster.state(partition).replicas
    other = next(node for node in (1, 2, 3) if node not in held)
    cluster.start(4)
    cluster.order(partition, (4, held[1]))
    cluster.now_ms += SETTINGS.round_interval_ms
    cluster.control()
    assert cluster.state(partition).adding == (4,)
    cluster.stop(4)
    cluster.stop(held[0])
    cluster.settle()
    assert sorted(cluster.state(partition).replicas) == sorted((held[1], other))
    assert progress(cluster.image).orders_waiting == 1


def test_paused_moves_rest_but_elections_and_drains_go_on(cluster: PlannedCluster) -> None:
    cluster.pause()
    cluster.stop(2)
    cluster.settle()
    assert leaders(cluster)[2] == 0
    assert holders(cluster)[2] == 4
    assert not progress(cluster.image).automatic_moves
    cluster.start(2)
    cluster.settle()
    assert leaders(cluster)[2] == 0
    cluster.drain(3)
    cluster.settle()
    assert holders(cluster)[3] == 0
    cluster.undrain(3)
    cluster.resume()
    cluster.settle()
    assert holders(cluster) == {1: 4, 2: 4, 3: 4}


@pytest.mark.parametrize("unfit", ["given_up_by", "damaged"])
def test_a_drained_node_leads_on_where_the_others_would_hand_the_leadership_on(unfit: str) -> None:
    """Rule R36: one that gave it up, as it could not commit, or whose copy is damaged."""
    cluster = PlannedCluster()
    cluster.start(1)
    cluster.start(2)
    cluster.create("orders", partitions=1, replicas=2)
    cluster.control()
    partition = "id-orders", 0
    state = cluster.state(partition)
    drained, other = state.replicas
    cluster.drain(drained)
    changed = {unfit: (other,), "partition_epoch": state.partition_epoch + 1}
    cluster.write(Put(keys.partition(*partition), encode(replace(state, **changed))))
    cluster.settle()
    state = cluster.state(partition)
    assert (state.leader, state.isr) == (drained, (drained, other))
    changed = {unfit: (), "partition_epoch": state.partition_epoch + 1}
    cluster.write(Put(keys.partition(*partition), encode(replace(state, **changed))))
    cluster.settle()
    assert cluster.state(partition).leader == other, "its leader has found it well"


def test_a_leaving_node_hands_over_and_keeps_its_replicas(cluster: PlannedCluster) -> None:
    cluster.leave(1)
    cluster.control()
    assert leaders(cluster)[1] == 0
    assert holders(cluster)[1] == 4
    assert all(state.isr == state.replicas for state in cluster.states().values())


def test_new_partitions_avoid_nodes_that_are_drained_or_leaving(cluster: PlannedCluster) -> None:
    cluster.drain(1)
    cluster.leave(2)
    cluster.create("more", partitions=4, replicas=2)
    cluster.control()
    assert {state.replicas for state in cluster.states().values() if state.topic_id == "id-more"} == {(3,)}


def test_nothing_is_placed_on_a_drained_node_on_old_news(cluster: PlannedCluster) -> None:
    """The topic is seen, the wish to drain is not yet; and the operator sees a node that is drained and has nothing."""
    cluster.drain(3)
    cluster.settle()
    assert holders(cluster)[3] == 0
    cluster.undrain(3)
    cluster.see()
    cluster.create("late", partitions=3, replicas=3)
    cluster.drain(3)
    cluster.control(batches=1)
    assert holders(cluster)[3] == 0
    cluster.control()
    assert holders(cluster) == {1: 9, 2: 9}, "the two others get it instead"


def test_nothing_is_moved_to_a_drained_node_on_old_news(cluster: PlannedCluster) -> None:
    cluster.settle()
    partition, state = next(each for each in cluster.states().items() if 3 not in each[1].replicas)
    cluster.order(partition, (3, *state.replicas[:1]))
    cluster.drain(3)
    cluster.now_ms += SETTINGS.round_interval_ms
    cluster.control(batches=1)
    assert 3 not in cluster.state(partition).replicas


def test_a_topic_waits_for_the_first_node() -> None:
    cluster = PlannedCluster()
    cluster.create("orders", partitions=2, replicas=3)
    cluster.control()
    assert cluster.states() == {}
    cluster.start(1)
    cluster.control()
    assert {state.replicas for state in cluster.states().values()} == {(1,)}
    cluster.start(2)
    cluster.start(3)
    cluster.settle()
    assert all(sorted(state.isr) == [1, 2, 3] for state in cluster.states().values())


def test_growth_adds_and_decommissioning_removes(cluster: PlannedCluster) -> None:
    topic = cluster.topics()["id-orders"]
    cluster.change(replace(topic, partitions=8))
    cluster.settle()
    assert len(cluster.states()) == 8
    cluster.append(("id-orders", 3))
    cluster.change(replace(topic, partitions=8, decommissioned=(3,)))
    cluster.settle()
    held = cluster.logs["id-orders", 3].committed
    cluster.append(("id-orders", 3))
    assert cluster.logs["id-orders", 3].committed == held, "it takes no more"
    assert progress(cluster.image).decommissioned == 1
    cluster.find_empty(("id-orders", 3))
    cluster.settle()
    assert cluster.state(("id-orders", 3)).life is PartitionLife.GONE
    assert max(holders(cluster).values()) - min(holders(cluster).values()) <= 1
    cluster.change(replace(topic, partitions=9, decommissioned=(3,)))
    cluster.settle()
    assert cluster.state(("id-orders", 3)).life is PartitionLife.GONE, "its number is not given again"


def test_how_bad_it_is_can_be_told(cluster: PlannedCluster) -> None:
    figures = progress(cluster.image)
    assert (figures.partitions, figures.without_leader, figures.under_replicated) == (6, 0, 0)
    topic = cluster.topics()["id-orders"]
    cluster.change(replace(topic, config=replace(topic.config, min_insync_replicas=2)))
    cluster.stop(2)
    cluster.stop(3)
    cluster.control()
    cluster.see()
    figures = progress(cluster.image)
    assert figures.under_replicated == 6
    assert figures.below_min_isr == 6
    assert figures.without_leader == sum(1 not in state.isr for state in cluster.states().values())


def test_without_limits_for_moves_nothing_moves() -> None:
    cluster = PlannedCluster(dataclasses.replace(SETTINGS, moves_max=0, leader_moves_max=0))
    cluster.start(1)
    cluster.create("orders", partitions=4, replicas=1)
    cluster.control()
    assert cluster.next_deadline_ms is None
    cluster.start(2)
    cluster.settle()
    assert holders(cluster) == {1: 4}
