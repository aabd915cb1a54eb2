"""When a partition could take writes, by who is sound and who reaches whom."""

from collections.abc import Collection
from dataclasses import dataclass, field

from cluster.model.values import PartitionState
from tests.sim.cluster.quorum import Quorum, quorums


@dataclass
class World:
    sound: set[int] = field(default_factory=lambda: {1, 2, 3})
    registered: set[int] = field(default_factory=set)
    cut: set[frozenset[int | str]] = field(default_factory=set)

    def is_sound(self, node: int) -> bool:
        return node in self.sound

    def stays_registered(self, node: int) -> bool:
        return node in self.sound | self.registered

    def hear_each_other(self, one: int, other: int) -> bool:
        return frozenset({one, other}) not in self.cut

    def sound_gateways(self) -> Collection[str]:
        return ["a", "b"]

    def is_reached(self, node: int, gateway: str) -> bool:
        return frozenset({node, gateway}) not in self.cut


def state(*, leader: int = 1, isr: tuple[int, ...] = (1, 2, 3), damaged: tuple[int, ...] = ()) -> PartitionState:
    return PartitionState(
        topic_id="t",
        partition=0,
        replicas=(1, 2, 3),
        isr=isr,
        leader=leader,
        leader_incarnation=1,
        leader_epoch=1,
        damaged=damaged,
    )


def found(world: World, minimum: int = 2, **changes: object) -> set[Quorum]:
    impaired = changes.pop("impaired", ())
    return set(quorums(state(**changes), minimum, world, impaired=impaired))  # type: ignore[arg-type]


def both(*members: int) -> set[Quorum]:
    return {Quorum(gateway, frozenset(members)) for gateway in ("a", "b")}


def test_a_whole_cluster_needs_its_leader() -> None:
    assert found(World()) == both(1, 2) | both(1, 3) | both(1, 2, 3)


def test_too_few_are_no_quorum() -> None:
    assert found(World(sound={1})) == set()
    assert found(World(cut={frozenset({1, 2}), frozenset({1, 3}), frozenset({2, 3})})) == set()


def test_a_leader_that_cannot_commit_is_to_be_followed_by_who_can() -> None:
    assert found(World(sound={2, 3})) == both(2, 3)
    assert found(World(cut={frozenset({1, 2}), frozenset({1, 3})})) == both(2, 3)


def test_a_leader_that_commits_with_one_of_them_stays() -> None:
    assert found(World(cut={frozenset({1, 2})})) == both(1, 3)


def test_a_gateway_has_to_reach_all_of_them() -> None:
    assert found(World(sound={1, 2}, cut={frozenset({1, "a"})})) == {Quorum("b", frozenset({1, 2}))}


def test_one_of_them_may_be_elected() -> None:
    assert found(World(sound={2, 3}), isr=(1, 2)) == both(2, 3)
    assert found(World(sound={2, 3}), isr=(1, 2), impaired={3}) == set(), "nobody lets the third one join"
    assert found(World(sound={2, 3}), isr=(1,)) == set()
    assert found(World(sound={3}), minimum=1, isr=(1, 2)) == set()


LEADER_CUT_OFF: set[frozenset[int | str]] = {frozenset({1, 2}), frozenset({1, 3})}


def test_a_registered_leader_hands_nothing_over_to_an_impaired_disk_or_a_damaged_copy() -> None:
    assert found(World(cut=LEADER_CUT_OFF), isr=(1, 2)) == both(2, 3)
    assert found(World(cut=LEADER_CUT_OFF), isr=(1, 2), impaired={2}) == set()
    assert found(World(cut=LEADER_CUT_OFF), isr=(1, 2), damaged=(2,)) == set()
    assert found(World(sound={2, 3}, registered={1}), isr=(1, 2), impaired={1, 2}) == set()
    assert found(World(cut=LEADER_CUT_OFF), impaired={2}) == both(2, 3), "the third one is in sync with a sound disk"


def test_of_a_leader_that_is_gone_they_take_the_place() -> None:
    assert found(World(sound={2, 3}), isr=(1, 2), impaired={2}) == both(2, 3)
    assert found(World(sound={2, 3}), isr=(1, 2), damaged=(2,)) == both(2, 3)


def test_an_impaired_disk_in_sync_is_asked_for_as_a_follower() -> None:
    assert found(World(), isr=(1, 2), impaired={2, 3}) == both(1, 2)
