"""What a node of a cluster has to tell beside its storage: its registration, its office, its connections, how the
cluster's partitions are and how its own replicas follow."""

from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.processes.cluster_node import ClusterNode
from cluster.model.values import PartitionLife
from storage.log.log_table import LogKind
from storage.node.replicas.replica_host import ReplicaHost
from storage.replication.replica_events import Role


class ClusterNodeCollector(Collector):
    """What it says of the cluster's partitions is what this node has read of them."""

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
        is_impaired = node.disk_health.impairment is not None
        yield _gauge(
            "acklog_node_disk_impaired", "1 while its disk is full or stands still, so others lead", is_impaired
        )
        yield _gauge("acklog_node_connections", "Gateways and nodes that are connected", node.server.connections)
        yield _gauge("acklog_cluster_nodes", "Nodes that this node sees alive", len(node.metadata.nodes()))
        yield _gauge("acklog_controller", "1 while this node is the controller", node.controller.is_controller)
        yield _counter("acklog_controller_terms", "Times this node became the controller", figures.terms)
        yield _counter("acklog_controller_transactions", "Transactions of this node's terms", figures.transactions)
        yield _counter("acklog_controller_conflicts", "Of these, those that were out of date", figures.conflicts)
        yield _counter("acklog_controller_fenced", "Terms that another controller's ended", figures.fenced)
        yield from self._partitions()
        yield from self._replicas()
        isr = self._node.node.isr_figures
        family = CounterMetricFamily(
            "acklog_isr_changes", "Changes that this node, as leader, made to who is in sync", labels=["kind"]
        )
        for kind, count in (("expanded", isr.expanded), ("shrunk", isr.shrunk), ("notDone", isr.not_done)):
            family.add_metric([kind], count)
        yield family

    def _partitions(self) -> Iterable[Metric]:
        metadata = self._node.metadata
        alive = {node.node_id for node in metadata.nodes()}
        leaderless = lacking = short = unclean = 0
        for topic in metadata.topics():
            for state in metadata.partitions(topic.id):
                unclean += state.unclean_election.count if state.unclean_election is not None else 0
                if state.life is PartitionLife.GONE:
                    continue
                in_sync = len(alive.intersection(state.isr))  # who is gone keeps its place until it lacks something
                leaderless += state.leader not in alive  # the only replica's node stays its leader while it is gone
                lacking += in_sync < len(state.replicas)
                short += in_sync < topic.config.min_insync_replicas
        yield _gauge("acklog_cluster_partitions_without_leader", "Partitions that nobody serves", leaderless)
        yield _gauge(
            "acklog_cluster_partitions_under_replicated",
            "Partitions with a replica that is gone or not in sync",
            lacking,
        )
        yield _gauge(
            "acklog_cluster_partitions_below_minimum", "Partitions with fewer in sync than acks=all needs", short
        )
        yield _gauge(
            "acklog_cluster_unclean_elections",
            "Times that somebody who was not in sync was made leader, of the partitions that there are",
            unclean,
        )

    def _replicas(self) -> Iterable[Metric]:
        replicas = self._node.node.replicas()
        followers = [each for each in replicas if each.role is Role.FOLLOWER]
        still = sum(each.contradiction is not None for each in followers)
        lag = max((_uncommitted(each) for each in followers), default=0)
        yield _gauge("acklog_node_replicas", "Replicas that the node holds", len(replicas))
        damaged = sum(each.is_damaged for each in replicas)
        yield _gauge("acklog_node_replicas_damaged", "Those with a damaged log, which is not replaced yet", damaged)
        yield _gauge("acklog_node_replicas_standing_still", "Those that contradict their leader, and wait", still)
        yield _gauge("acklog_node_uncommitted_records", "Stored and not known to be committed, at most", lag)


def _uncommitted(replica: ReplicaHost) -> int:
    """How many records of the messages are not known to be committed here."""
    return replica.logs[LogKind.MESSAGES].log_end - replica.high_watermarks[LogKind.MESSAGES]


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=float(value))


def _counter(name: str, text: str, value: int) -> Metric:
    return CounterMetricFamily(name, text, value=float(value))
