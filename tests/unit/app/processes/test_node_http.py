import httpx2
import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry, generate_latest

from acklog.command.server_metrics import ServerMetrics
from acklog.wire.problems import ProblemCode
from app.gateway.nodes_with_self import NodesWithSelf
from app.processes.cluster_node import ClusterNode
from app.processes.cluster_node_metrics import ClusterNodeCollector
from app.processes.node_http import create_node_app
from cluster.errors import ServerError
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.values import UncleanElection
from cluster.ports.coordination import Put
from tests.support.cluster import Cluster, ClusterBuilder, client_of


def test_health_readiness_and_metrics_of_a_node() -> None:
    async def main(cluster: Cluster) -> None:
        node = await cluster.node(4, rack='a "rack"')
        await cluster.until(lambda: node.controller.is_controller)
        transport = httpx2.ASGITransport(app=create_node_app(node, metric_names_max=10), raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://node", timeout=None) as client:
            assert (await client.get("/healthz")).json() == {"status": "alive"}
            assert (await client.get("/readyz")).json() == {"status": "ready"}
            metrics = ServerMetrics((await client.get("/metrics")).text)
            assert metrics.value("acklog_node_registered") == 1
            assert metrics.value("acklog_controller") == 1
            assert metrics.value("acklog_controller_terms_total") == 1
            assert metrics.value("acklog_cluster_nodes") == 1
            assert metrics.value("acklog_storage_failed") == 0
            assert metrics.by_label("acklog_node_info", "rack") == {'a "rack"': 1}
            assert metrics.by_label("acklog_node_info", "node") == {"4": 1}
            assert (await client.get("/messages")).status_code == 404
            node.node.logs.fail("the disk is gone")
            failed = await client.get("/readyz")
            assert (failed.status_code, failed.json()["code"]) == (503, "STORAGE_FAILED")
            assert "the disk is gone" in failed.json()["detail"]
            node.begin_shutdown()
            leaving = await client.get("/readyz")
            assert (leaving.status_code, leaving.json()["code"]) == (503, "SHUTTING_DOWN")
            assert (await client.get("/healthz")).status_code == 200

    ClusterBuilder().run(main)


def figures_of(node: ClusterNode) -> dict[str, float]:
    registry = CollectorRegistry()
    registry.register(ClusterNodeCollector(node))
    metrics = ServerMetrics(generate_latest(registry).decode())
    names = ("without_leader", "under_replicated", "below_minimum")
    found = {name: metrics.value(f"acklog_cluster_partitions_{name}") for name in names}
    return found | {name: metrics.value(f"acklog_node_{name}") for name in ("replicas", "replicas_standing_still")}


def test_partitions_and_replicas_that_are_not_well_are_counted() -> None:
    async def main(cluster: Cluster) -> None:
        [gateway] = cluster.gateways
        node = cluster.nodes[1]
        async with client_of(gateway) as client:
            topic = {"partitions": 3, "replicationFactor": 2, "config": {"minInsyncReplicas": 2}}
            assert (await client.put("/topics/orders", json=topic)).status_code == 201
            well = {"without_leader": 0, "under_replicated": 0, "below_minimum": 0}
            well |= {"replicas": 3, "replicas_standing_still": 0}
            await cluster.until(lambda: figures_of(node) == well)
            await cluster.stop(2)
            await cluster.until(lambda: figures_of(node) == {**well, "under_replicated": 3, "below_minimum": 3})

    ClusterBuilder().nodes(2).gateway().run(main)


def test_unclean_elections_are_counted() -> None:
    def count(node: ClusterNode) -> float | None:
        registry = CollectorRegistry()
        registry.register(ClusterNodeCollector(node))
        return ServerMetrics(generate_latest(registry).decode()).value("acklog_cluster_unclean_elections")

    async def main(cluster: Cluster) -> None:
        [gateway] = cluster.gateways
        node = cluster.nodes[1]
        async with client_of(gateway) as client:
            topic = {"partitions": 2, "replicationFactor": 1}
            assert (await client.put("/topics/orders", json=topic)).status_code == 201
        await cluster.until(lambda: sum(len(node.metadata.partitions(each.id)) for each in node.metadata.topics()) == 2)
        assert count(node) == 0
        [topic_id] = [each.id for each in node.metadata.topics()]
        for state, times in zip(node.metadata.partitions(topic_id), (1, 3), strict=True):
            marked = replace(state, unclean_election=UncleanElection(times, state.leader_epoch, 1, 4, 9, 0))
            await cluster.store.transact([], [Put(keys.partition(topic_id, state.partition), encode(marked))])
        await cluster.until(lambda: count(node) == 4)

    ClusterBuilder().nodes(1).gateway().run(main)


class _Directory:
    def client(self, node_id: int) -> str:
        if node_id == 9:
            raise ServerError(ProblemCode.UNAVAILABLE, "no")
        return f"connection to {node_id}"


def test_a_node_reaches_itself_without_a_connection() -> None:
    nodes = NodesWithSelf(1, _Directory())  # type: ignore[arg-type]
    assert nodes.client(1) == "connection to 1", "not attached yet"  # type: ignore[comparison-overlap]
    nodes.attach("itself")  # type: ignore[arg-type]
    assert [nodes.client(1), nodes.client(2)] == ["itself", "connection to 2"]  # type: ignore[comparison-overlap]
    with pytest.raises(ServerError):
        nodes.client(9)
