from cluster.controller.moves import Movable, Move, MoveFinder, MoveKind
from cluster.controller.preference import PreferenceBalance
from cluster.controller.replica_change import originals, retargeted
from cluster.controller.replica_placement import ReplicaPlacement
from tests.unit.cluster.controller.states import members, node, partition


def finder(
    placed: dict[int, tuple[int, ...]],
    *nodes: int,
    replicas: int = 2,
    racks: dict[int, str] | None = None,
    lost: tuple[int, ...] = (),
    draining: tuple[int, ...] = (),
    moving: tuple[int, ...] = (),
) -> tuple[MoveFinder, ReplicaPlacement]:
    membership = members(*(node(each, rack=(racks or {}).get(each, "")) for each in nodes), draining=draining)
    placement = ReplicaPlacement(membership)
    for number, held in placed.items():
        placement.place(("t", number), held)
    movable = {
        ("t", number): Movable(replicas, held, held[0], is_moving=number in moving) for number, held in placed.items()
    }
    return MoveFinder(placement, movable, lost=lost, draining=draining), placement


def necessary(moves: MoveFinder, placement: ReplicaPlacement) -> list[Move]:
    found = []
    for move in moves.necessary():
        placement.place(move.partition_id, move.after)
        found.append(move)
    return found


def test_a_lost_node_is_replaced_in_its_place() -> None:
    [move] = necessary(*finder({0: (9, 1), 1: (1, 2)}, 1, 2, 3, lost=(9,)))
    assert (move.kind, move.before, move.after) == (MoveKind.REPAIR, (9, 1), (3, 1))
    assert move.reason == "node 9 is away for too long"


def test_without_another_node_the_lost_one_keeps_its_place() -> None:
    assert necessary(*finder({0: (9, 1)}, 1, lost=(9,))) == []


def test_a_drained_node_is_emptied_evenly() -> None:
    moves, placement = finder(dict.fromkeys(range(4), (1, 2)), 1, 2, 3, 4, draining=(2,))
    found = necessary(moves, placement)
    assert {move.kind for move in found} == {MoveKind.DRAIN}
    assert placement.load(2) == 0
    assert (placement.load(3), placement.load(4)) == (2, 2)


def test_the_least_replicated_come_first() -> None:
    moves, placement = finder({0: (1, 2, 9), 1: (9,)}, 1, 2, 3, replicas=3, lost=(9,))
    assert [move.partition for move in necessary(moves, placement)] == [1, 0]


def test_replicas_grow_and_shrink_with_the_topic() -> None:
    [grown] = necessary(*finder({0: (1,)}, 1, 2, 3, replicas=3))
    assert (grown.kind, grown.after) == (MoveKind.REPLICATION, (1, 2, 3))
    [shrunk] = necessary(*finder({0: (1, 2, 3)}, 1, 2, 3, replicas=2))
    assert shrunk.after == (1, 2), "the leader stays"
    assert necessary(*finder({0: (1, 2, 3)}, 1, 2, 3, replicas=2, moving=(0,))) == [], "one thing at a time"
    [gone] = necessary(*finder({0: (1, 2, 9)}, 1, 2, 3, replicas=2, lost=(9,)))
    assert gone.after == (1, 2), "what is lost goes first, and is not replaced"


def test_another_rack_comes_before_fewer_replicas() -> None:
    racks = {1: "a", 2: "a", 3: "b"}
    [move] = necessary(*finder({0: (1, 9), 1: (3, 1), 2: (3, 1)}, 1, 2, 3, racks=racks, lost=(9,)))
    assert move.after == (1, 3)


def test_shared_racks_are_left() -> None:
    moves, placement = finder({0: (1, 2)}, 1, 2, 3, racks={1: "a", 2: "a", 3: "b"})
    [move] = list(apply(moves, placement))
    assert (move.kind, sorted(move.after)) in [(MoveKind.SPREAD, [1, 3]), (MoveKind.SPREAD, [2, 3])]


def apply(moves: MoveFinder, placement: ReplicaPlacement) -> list[Move]:
    found = []
    for move in moves.improving():
        placement.place(move.partition_id, move.after)
        found.append(move)
    return found


def test_a_new_node_gets_its_share_and_leaders_stay() -> None:
    moves, placement = finder({number: (1, 2) if number % 2 else (2, 1) for number in range(6)}, 1, 2, 3)
    found = apply(moves, placement)
    assert sorted(placement.load(each) for each in (1, 2, 3)) == [4, 4, 4]
    assert len(found) == 4, "no more moves than needed"
    assert all(move.before[0] == move.after[0] for move in found), "followers move first"


def test_what_is_even_enough_stays() -> None:
    assert apply(*finder({0: (1, 2), 1: (2, 3)}, 1, 2, 3)) == []
    moves, placement = finder(dict.fromkeys(range(5), (1,)), 1, 2, replicas=1)
    assert len(apply(moves, placement)) == 2


def test_balance_never_shares_a_rack() -> None:
    racks = {1: "a", 2: "b", 3: "b"}
    moves, placement = finder(dict.fromkeys(range(4), (1, 2)), 1, 2, 3, racks=racks)
    apply(moves, placement)
    assert [placement.load(each) for each in (1, 2, 3)] == [4, 2, 2]


def test_who_does_not_place_a_move_gets_no_more() -> None:
    moves, _ = finder(dict.fromkeys(range(5), (1,)), 1, 2, replicas=1)
    assert len(list(moves.improving())) == 1


def test_new_partitions_are_spread_over_nodes_racks_and_leaders() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    placement = ReplicaPlacement(members(*(node(each, rack=rack) for each, rack in racks.items())))
    for number in range(8):
        replicas = placement.fresh("t", 2)
        assert racks[replicas[0]] != racks[replicas[1]]
        placement.place(("t", number), replicas)
    assert [placement.load(each) for each in racks] == [4, 4, 4, 4]
    assert [placement.preferred_load(each) for each in racks] == [2, 2, 2, 2]
    assert len(placement.fresh("t", 9)) == 4, "as many as there are nodes"
    assert ReplicaPlacement(members()).fresh("t", 1) == ()


def test_an_empty_new_node_does_not_get_all_of_a_new_topic() -> None:
    placement = ReplicaPlacement(members(*(node(each) for each in (1, 2, 3))))
    for number in range(9):
        placement.place(("old", number), (1 + number % 2,))
    for number in range(3):
        placement.place(("t", number), placement.fresh("t", 1))
    assert [placement.topic_load("t", each) for each in (1, 2, 3)] == [1, 1, 1]


def test_preferences_even_out_over_chains() -> None:
    """Node 1 is preferred twice, node 3 never, and they share no partition: node 2 stands in between."""
    replicas = {("t", 0): (1, 2), ("t", 1): (1, 2), ("t", 2): (2, 3)}
    [chain] = list(PreferenceBalance(replicas, [1, 2, 3]).chains())
    assert chain == [(("t", 0), (2, 1)), (("t", 2), (3, 2))]
    assert list(PreferenceBalance({("t", 0): (1, 2), ("t", 1): (2, 1)}, [1, 2]).chains()) == []
    assert list(PreferenceBalance({("t", 0): (1,), ("t", 1): (1,)}, [1, 2]).chains()) == [], "there is no other way"


def test_a_move_keeps_both_orders() -> None:
    nodes = members(*(node(each) for each in (1, 2, 3, 4)))
    state = partition(1, 2, 3)
    moving = retargeted(state, (4, 2, 3), nodes, isr_floor=1)
    assert moving is not None
    assert (moving.target, originals(moving)) == ((4, 2, 3), (1, 2, 3))
    assert (moving.adding, moving.removing, moving.isr, moving.leader) == ((4,), (1,), (1, 2, 3), 1)
    assert moving.directory_of(4) == "disk-4"
    assert moving.partition_epoch == state.partition_epoch + 1
    back = retargeted(moving, originals(moving), nodes, isr_floor=1)
    assert back is not None
    assert (back.replicas, back.is_moving, back.isr) == ((1, 2, 3), False, (1, 2, 3))


def test_another_target_gives_up_what_was_begun() -> None:
    nodes = members(*(node(each) for each in (1, 2, 3, 4)))
    moving = partition(3, 1, 2, isr=(1, 2, 3), leader=3, adding=(3,), removing=(1,))
    changed = retargeted(moving, (4, 2), nodes, isr_floor=1)
    assert changed is not None
    assert (changed.replicas, changed.adding, changed.removing) == ((4, 1, 2), (4,), (1,))
    assert (changed.isr, changed.leader, changed.leader_epoch) == ((1, 2), 2, 6), "the leader was given up, too"


def test_what_would_leave_too_few_in_sync_waits() -> None:
    nodes = members(node(1), node(3))
    moving = partition(3, 1, isr=(3,), leader=3, adding=(3,), removing=(1,))
    assert retargeted(moving, (1,), nodes, isr_floor=1) is None
    assert retargeted(partition(1, 2, leader=2), (3, 2), nodes, isr_floor=1) is None, "it has no leader"
