"""What a node of a cluster has to tell beside its storage: its registration, its office, its connections."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.cluster_node import ClusterNode


class ClusterNodeCollector(Collector):
    """Labels are those of the controller's decisions, a closed list."""

    def __init__(self, node: ClusterNode) -> None:
        self._node = node

    def collect(self) -> Iterable[Metric]:
        node = self._node
        figures = node.controller.figures
        identity = GaugeMetricFamily(
            "acklog_node_info", "1, with who the node is", labels=["node", "incarnation", "rack", "address"]
        )
        identity.add_metric(
            [str(node.settings.node_id), str(node.node.incarnation), node.settings.rack, node.address], 1
        )
        yield identity
        yield _gauge("acklog_node_registered", "1 while etcd shows this node as alive", node.registrar.is_registered)
        yield _gauge("acklog_node_leaving", "1 while the node hands over", node.is_leaving)
        yield _gauge("acklog_node_connections", "Gateways and nodes that are connected", node.server.connections)
        yield _gauge("acklog_cluster_nodes", "Nodes that this node sees alive", len(node.metadata.nodes()))
        yield _gauge("acklog_controller", "1 while this node is the controller", node.controller.is_controller)
        yield _counter("acklog_controller_terms", "Times this node became the controller", figures.terms)
        yield _counter("acklog_controller_transactions", "Transactions of this node's terms", figures.transactions)
        yield _counter("acklog_controller_conflicts", "Of these, those that were out of date", figures.conflicts)
        yield _counter("acklog_controller_fenced", "Terms that another controller's ended", figures.fenced)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=float(value))


def _counter(name: str, text: str, value: int) -> Metric:
    return CounterMetricFamily(name, text, value=float(value))
