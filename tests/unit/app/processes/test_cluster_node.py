import pytest

from app.configuration.node_process_settings import NODE_ID_MAX, NodeProcessSettings
from app.processes.cluster_node import ClusterNode
from app.processes.node_end import StorageFailedError
from cluster.life.node_id import DirectoryConflictError
from cluster.life.registration import ReplacedError
from cluster.life.registration_settings import RegistrationSettings
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.values import NodeRegistration, Topic
from cluster.ports.coordination import CoordinationUnavailableError, Put
from storage.rpc.handshake import NEWEST_VERSION
from tests.sim.sim_disk import SimDisk
from tests.support.cluster import Cluster, ClusterBuilder, OwnConnection, client_of

IMPATIENT = RegistrationSettings(directory_conflict_wait_ms=2_000)


def _leaders(node: ClusterNode, topic: Topic) -> set[int]:
    return {state.leader for state in node.metadata.partitions(topic.id)}


async def _registration(cluster: Cluster, node_id: int) -> NodeRegistration | None:
    item = await cluster.store.get(keys.node(node_id))
    return None if item is None else decode(NodeRegistration, item.value)


def test_nodes_and_a_gateway_serve_together() -> None:
    async def main(cluster: Cluster) -> None:
        nodes = list(cluster.nodes.values())
        [gateway] = cluster.gateways
        assert [node.registrar.is_registered for node in nodes] == [True] * 3
        await cluster.until(lambda: sum(node.controller.is_controller for node in nodes) == 1)
        async with client_of(gateway) as client:
            assert (await client.get("/readyz")).status_code == 200
            for number in range(20):
                sent = await client.post("/messages", json={"queue": "orders", "body": number, "key": str(number)})
                assert sent.status_code == 201, sent.text
            received = await client.get("/messages?queue=orders&max=100&waitSeconds=1")
            assert len(received.json()["messages"]) == 20
        [topic] = gateway.metadata.topics()
        assert _leaders(nodes[0], topic) == {1, 2, 3}
        registration = await _registration(cluster, 2)
        assert registration is not None
        assert (registration.address, registration.rack) == ("node-2:7000", "rack-2")
        await cluster.close()
        assert [await _registration(cluster, node_id) for node_id in (1, 2, 3)] == [None] * 3
        assert all(isinstance(node.store, OwnConnection) and node.store.is_closed for node in nodes)

    ClusterBuilder().racks("rack-1", "rack-2", "rack-3").gateway().run(main)


def test_a_node_hands_over_before_it_stops() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(partitions=4, replicas=3)
        await cluster.in_sync(topic)
        leaving = cluster.nodes[2]
        assert leaving.not_handed_over()
        assert await leaving.leave()
        assert leaving.why_not_ready == "the node is leaving"
        assert leaving.not_handed_over() == []
        assert 2 not in _leaders(leaving, topic)
        await cluster.stop(2)

    ClusterBuilder().nodes(3).run(main)


def test_a_node_does_not_wait_for_what_nobody_can_take_over() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(partitions=4, replicas=1)
        node = cluster.nodes[1]
        assert 1 in _leaders(node, topic)
        before_ms = cluster.clock.monotonic_ms()
        assert await node.leave()
        assert cluster.clock.monotonic_ms() - before_ms < 1_000

    ClusterBuilder().nodes(2).run(main)


def test_a_node_that_cannot_hand_over_leaves_in_time() -> None:
    """Its controller is gone, and so is the store at last: what it leads is elected anew when its lease ends."""

    async def main(cluster: Cluster) -> None:
        nodes = list(cluster.nodes.values())
        await cluster.in_sync(await cluster.topic(partitions=4, replicas=2))
        for node in nodes:
            await node.controller.close()
        before_ms = cluster.clock.monotonic_ms()
        assert not await nodes[0].leave()
        assert 3_000 <= cluster.clock.monotonic_ms() - before_ms < 3_100
        store = nodes[1].store
        assert isinstance(store, OwnConnection)
        store.before["get"] = [CoordinationUnavailableError("away")] * 1_000
        assert not await nodes[1].leave()
        store.before.clear()

    ClusterBuilder().nodes(2, leave_timeout_ms=3_000).run(main)


def test_a_node_whose_registration_is_lost_goes_on_serving() -> None:
    async def main(cluster: Cluster) -> None:
        node = cluster.nodes[1]
        [gateway] = cluster.gateways
        topic = await cluster.topic(partitions=4, replicas=1)
        store = node.store
        assert isinstance(store, OwnConnection)
        store.before["keep_alive"] = [CoordinationUnavailableError("away")] * 10_000
        store.before["grant_lease"] = [CoordinationUnavailableError("away")] * 10_000
        async with client_of(gateway) as client:
            await client.post("/messages", json={"queue": "orders", "body": 0, "partition": 0})
            await cluster.until(lambda: not node.registrar.is_registered)
            assert (node.why_not_ready, node.end.reason) == (None, None)
            sent = await client.post("/messages", json={"queue": "orders", "body": 1, "partition": 0})
            assert sent.status_code == 201, sent.text
        store.before.clear()
        await cluster.until(lambda: node.registrar.is_registered)
        assert _leaders(node, topic) == {1}

    ClusterBuilder().nodes(1).gateway().run(main)


def test_a_replaced_node_is_told_to_end() -> None:
    async def main(cluster: Cluster) -> None:
        node = cluster.nodes[1]
        registered = await _registration(cluster, 1)
        assert registered is not None
        assert registered.newest_protocol == NEWEST_VERSION
        later = NodeRegistration(1, registered.incarnation + 1, registered.directory_id, "elsewhere:7000")
        item = await cluster.store.get(keys.node(1))
        assert item is not None
        await cluster.store.transact([], [Put(item.key, encode(later))])
        reason = await node.end.wait()
        assert isinstance(reason, ReplacedError)
        assert "node 1 was started again" in str(reason)
        assert await node.end.wait() is reason

    ClusterBuilder().nodes(1).run(main)


def test_a_node_that_cannot_store_is_told_to_end() -> None:
    async def main(cluster: Cluster) -> None:
        node = cluster.nodes[1]
        node.node.logs.fail("the disk is gone")
        assert isinstance(await node.end.wait(), StorageFailedError)
        assert node.why_not_ready == "the disk is gone"
        node.end.tell(ReplacedError("later"))
        assert isinstance(node.end.reason, StorageFailedError), "the first reason counts"

    ClusterBuilder().nodes(1).run(main)


def test_a_second_machine_with_the_same_id_is_refused_and_does_the_first_no_harm() -> None:
    async def main(cluster: Cluster) -> None:
        node = cluster.nodes[1]
        own_disk = cluster.disks[1]
        with pytest.raises(DirectoryConflictError, match="give this node another id"):
            await cluster.node(1, disk=SimDisk(seed="other"), listen="other:7000", registration=IMPATIENT)
        cluster.disks[1] = own_disk
        item = await cluster.store.get(keys.incarnation(1))
        assert item is not None
        assert int(item.value) == node.node.incarnation, "no incarnation was taken from the first"
        await cluster.clock.sleep(60_000)
        assert (node.registrar.is_registered, node.end.reason) == (True, None)

    ClusterBuilder().nodes(1).run(main)


def test_a_start_that_fails_leaves_nothing_behind() -> None:
    async def main(cluster: Cluster) -> None:
        connections: list[OwnConnection] = []
        disk = SimDisk(seed=1)
        cluster.transport.refuse_listening = True
        with pytest.raises(OSError, match="in use"):
            await cluster.node(1, disk=disk, connections=connections)
        assert [connection.is_closed for connection in connections] == [True]
        assert await _registration(cluster, 1) is None
        disk.kill()
        cluster.transport.refuse_listening = False
        await cluster.start(1)

    ClusterBuilder().run(main)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"node_id": 0}, "node_id"),
        ({"node_id": NODE_ID_MAX + 1}, "node_id"),
        ({"listen": ""}, "listen"),
        ({"leave_timeout_ms": -1}, "leave_timeout_ms"),
        ({"vital_interval_ms": 0}, "vital_interval_ms"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        NodeProcessSettings(**{"node_id": 1, "listen": "a:1", **settings})  # type: ignore[arg-type]
