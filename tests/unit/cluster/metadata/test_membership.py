from cluster.metadata.membership import Membership
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.steering import NodeSteering
from cluster.model.values import NodeRegistration
from cluster.ports.coordination import Changed, KeyValue, Removed, absent, unchanged


def item(key: str, value: bytes, revision: int = 1) -> KeyValue:
    return KeyValue(key, value, 1, revision, 1)


def registered(node: NodeRegistration, revision: int = 1) -> Changed:
    return Changed(item(keys.node(node.node_id), encode(node), revision))


def test_who_was_ever_started_is_known_and_who_is_registered_lives() -> None:
    membership = Membership()
    assert membership.apply(Changed(item(keys.incarnation(2), b"5")))
    assert membership.apply(registered(NodeRegistration(1, 3, "d", "here", "a")))
    assert not membership.apply(Changed(item(keys.topic("t"), b"")))
    assert [(member.node_id, member.is_live) for member in membership.members()] == [(1, True), (2, False)]
    assert [member.node_id for member in membership.usable()] == [1]
    membership.apply(Removed(keys.node(1), 2))
    assert membership.live() == []
    assert not membership.get(1).is_live
    assert not membership.get(77).is_live, "nobody has heard of it"


def test_drained_and_leaving_nodes_live_but_are_not_for_use() -> None:
    membership = Membership()
    membership.apply(registered(NodeRegistration(1, 1, "d", "")))
    membership.apply(registered(NodeRegistration(2, 1, "d", "", is_leaving=True)))
    membership.apply(Changed(item(keys.node_steering(1), encode(NodeSteering(1, 0)))))
    assert [member.node_id for member in membership.live()] == [1, 2]
    assert membership.usable() == []
    membership.apply(Removed(keys.node_steering(1), 2))
    assert [member.node_id for member in membership.usable()] == [1]


def test_nodes_without_a_rack_have_one_of_their_own() -> None:
    membership = Membership()
    membership.apply(registered(NodeRegistration(1, 1, "d", "")))
    membership.apply(registered(NodeRegistration(2, 1, "d", "")))
    assert membership.get(1).rack != membership.get(2).rack


def test_who_does_not_say_which_protocol_it_speaks_is_of_an_earlier_version() -> None:
    membership = Membership()
    membership.apply(registered(NodeRegistration(1, 1, "d", "", newest_protocol=4)))
    membership.apply(registered(NodeRegistration(2, 1, "d", "")))
    membership.apply(Changed(item(keys.incarnation(3), b"1")))
    assert [member.node_id for member in membership.earlier_than(4)] == [2], "one that is away says nothing"
    assert [member.node_id for member in membership.earlier_than(5)] == [1, 2]
    assert membership.earlier_than(0) == []


def test_guards_hold_as_long_as_nobody_comes_or_goes() -> None:
    membership = Membership()
    change = registered(NodeRegistration(1, 1, "d", ""), revision=9)
    membership.apply(change)
    assert membership.guards([1, 2]) == (unchanged(change.item), absent(keys.node(2)))


def test_what_is_not_understood_is_told_and_not_trusted() -> None:
    membership = Membership()
    for key in (keys.node(1), f"{keys.NODES}x"):
        membership.apply(Changed(item(key, b"?")))
    assert sorted(membership.undecodable) == sorted([keys.node(1), f"{keys.NODES}x"])
    assert membership.live() == []
    membership.apply(registered(NodeRegistration(1, 1, "d", "")))
    assert list(membership.undecodable) == [f"{keys.NODES}x"]


def test_a_sole_node_is_alone_whatever_is_registered() -> None:
    membership = Membership(sole=NodeRegistration(1, 4, "", ""))
    assert not membership.apply(registered(NodeRegistration(2, 1, "d", "")))
    assert [member.node_id for member in membership.live()] == [1]
    assert membership.guards([1, 2]) == ()
