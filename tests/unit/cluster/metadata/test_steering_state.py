import msgspec
import pytest

from cluster.metadata.steering_state import SteeringState
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.steering import ClusterSteering, NodeSteering, OrderKind, PartitionOrder
from cluster.model.values import ControllerClaim, NodeRegistration
from cluster.ports.coordination import Changed, KeyValue, Removed

ORDER = PartitionOrder("t", 3, 5, OrderKind.MOVE, (1, 2))


def put(key: str, value: msgspec.Struct | bytes) -> Changed:
    return Changed(KeyValue(key, value if isinstance(value, bytes) else encode(value), 1, 1, 1))


@pytest.fixture
def state() -> SteeringState:
    return SteeringState(
        [
            put(keys.node(1), NodeRegistration(1, 4, "dir", "a:1")).item,
            put(keys.incarnation(2), b"7").item,
            put(keys.node_steering(2), NodeSteering(2, 5)).item,
            put(keys.CONTROLLER, ControllerClaim(1, 4)).item,
            put(keys.partition_order("t", 3), ORDER).item,
            put(keys.STEERING_CLUSTER, ClusterSteering(automatic_moves=False)).item,
            put(keys.topic("orders"), b"not of its concern").item,
        ]
    )


def test_what_is_there(state: SteeringState) -> None:
    first, second = state.membership.members()
    assert (first.node_id, first.is_live, second.node_id, second.is_live, second.is_draining) == (
        1,
        True,
        2,
        False,
        True,
    )
    assert state.controller == ControllerClaim(1, 4)
    assert state.orders("t") == {3: ORDER}
    assert not state.cluster.automatic_moves
    assert state.undecodable == {}


def test_what_goes(state: SteeringState) -> None:
    for key in (keys.node(1), keys.node_steering(2), keys.CONTROLLER, keys.partition_order("t", 3)):
        state.apply(Removed(key, 2))
    state.apply(Removed(keys.STEERING_CLUSTER, 2))
    state.apply(Removed(keys.partition_order("t", 3), 3))
    assert not state.membership.live()
    assert not state.membership.get(2).is_draining
    assert (state.controller, state.orders("t"), state.cluster) == (None, {}, ClusterSteering())


@pytest.mark.parametrize("key", [keys.CONTROLLER, keys.STEERING_CLUSTER, keys.partition_order("t", 3), keys.node(1)])
def test_what_a_newer_version_wrote_is_told(state: SteeringState, key: str) -> None:
    state.apply(put(key, b"\xc1 what is this"))
    assert list(state.undecodable) == [key]
    if key == keys.CONTROLLER:
        assert state.controller is None
    elif key == keys.STEERING_CLUSTER:
        assert not state.cluster.automatic_moves, "moves rest until it is understood"
    elif key == keys.node(1):
        assert not state.membership.live()
    else:
        assert state.orders("t") == {}
    state.apply(Removed(key, 2))
    assert state.undecodable == {}


def test_a_copy_of_the_members_stays_as_it_was(state: SteeringState) -> None:
    before = state.membership.copy()
    state.apply(Removed(keys.node(1), 2))
    state.apply(Removed(keys.node_steering(2), 2))
    assert before.get(1).is_live
    assert before.get(2).is_draining
