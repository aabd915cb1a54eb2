"""The embedded server: gateway, storage node and controller in one process, SQLite where a cluster has etcd.

Same code, same API, same durability as a cluster; only the composition differs, and it is all here.
"""

from dataclasses import dataclass, replace

from prometheus_client.registry import Collector

from acklog.wire.problems import ProblemCode
from app.auth.callers import SignedTokens
from app.auth.tokens import TokenTable
from app.configuration.server_settings import Settings
from app.gateway.dependencies import Gateway
from app.gateway.traced_nodes import TracedNodes
from app.processes.node_metrics import NodeCollector
from app.processes.node_tracing import dead_letters_of, traced_node
from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.catalog.group_admin import GroupAdmin
from cluster.catalog.namespace_admin import NamespaceAdmin
from cluster.catalog.producer_admin import ProducerAdmin
from cluster.catalog.queue_admin import QueueAdmin
from cluster.catalog.recurring_admin import RecurringAdmin
from cluster.catalog.redrive_admin import RedriveAdmin
from cluster.catalog.token_admin import TokenAdmin
from cluster.catalog.topic_admin import TopicAdmin
from cluster.controller.embedded import EmbeddedController
from cluster.errors import ServerError
from cluster.life.registration import NodeRegistrar
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.values import NodeRegistration
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore
from cluster.ports.entropy import Entropy
from cluster.ports.tracing import Tracer
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk
from storage.encryption.master_key import NO_MASTER_KEYS, MasterKeys
from storage.node.encryption.data_key_keeper import check_master_keys
from storage.node.node_ports import NodePorts
from storage.node.partition.node_settings import NodeSettings
from storage.node.replicas.no_peers import NoPeers
from storage.node.storage_node import StorageNode
from storage.rpc.handshake import NEWEST_VERSION
from storage.rpc.in_process import InProcessNode
from storage.rpc.node_api import NodeApi
from storage.schedule.memory_index import IN_MEMORY
from storage.schedule.schedule_index import ScheduleIndexes
from storage.table import memory_table_index
from storage.table.table_index import TableIndexes

NODE_ID = 1


class LocalNodes:
    """The node directory of a process that is its own only node."""

    def __init__(self) -> None:
        self._client: NodeApi | None = None

    def attach(self, node: NodeApi) -> None:
        self._client = node

    def client(self, node_id: int) -> NodeApi:
        if self._client is None or node_id != NODE_ID:
            raise ServerError(ProblemCode.UNAVAILABLE, f"There is no node {node_id}.", retry_after_ms=1000)
        return self._client


@dataclass(slots=True)
class EmbeddedServer:
    """Made by `start_embedded`. `gateway` goes to `create_app`."""

    gateway: Gateway
    node: StorageNode
    metadata: MetadataView
    controller: EmbeddedController
    registrar: NodeRegistrar
    store: CoordinationStore

    def begin_shutdown(self) -> None:
        """Answer the long polls and refuse new work; requests under way go on."""
        self.gateway.shutdown.begin()
        self.node.stop_waiting()

    async def close(self) -> None:
        """Complete the writes and checkpoint everything. No request may be under way any more."""
        self.begin_shutdown()
        await self.gateway.shutdown.end()
        await self.node.close()
        await self.registrar.close()
        await self.controller.close()
        await self.metadata.close()
        await self.store.close()


async def start_embedded(
    *,
    store: CoordinationStore,
    disk: Disk,
    io: IoExecutor,
    clock: Clock,
    entropy: Entropy,
    settings: Settings,
    node_settings: NodeSettings,
    schedule_indexes: ScheduleIndexes = IN_MEMORY,
    table_indexes: TableIndexes = memory_table_index.IN_MEMORY,
    master_keys: MasterKeys = NO_MASTER_KEYS,
    tokens: TokenTable | None = None,
    signed: SignedTokens | None = None,
    collectors: tuple[Collector, ...] = (),
    tracer: Tracer | None = None,
) -> EmbeddedServer:
    """Recover everything and be ready to serve. Raises ServerError when the data directory cannot be served."""
    metadata = MetadataView(store, clock)
    await metadata.start()
    check_master_keys(metadata.topics(), master_keys)
    controller = EmbeddedController(store, node_id=NODE_ID, clock=clock)
    incarnation = await controller.start()
    topics = TopicAdmin(store, metadata, clock=clock, entropy=entropy)
    nodes = LocalNodes()
    # The view has to show this incarnation's elections, or the node would find nothing to open yet.
    await metadata.wait_for((await store.list(keys.NODES)).revision)
    ports = NodePorts(
        store=store,
        metadata=metadata,
        dead_letters=dead_letters_of(topics, metadata, nodes, clock, tracer),
        peers=NoPeers(),
        disk=disk,
        io=io,
        clock=clock,
        entropy=entropy,
        schedule_indexes=schedule_indexes,
        table_indexes=table_indexes,
        master_keys=master_keys,
        client_of=nodes.client,
    )
    node = await _open_node(ports, incarnation, node_settings)
    nodes.attach(traced_node(InProcessNode(node), metadata, tracer))
    registrar = _registrar_of(node, store, master_keys, clock)
    await registrar.start()
    gateway = Gateway(
        metadata=metadata,
        topics=topics,
        groups=GroupAdmin(store, metadata, clock=clock, entropy=entropy),
        producers=ProducerAdmin(store, metadata, clock=clock, entropy=entropy),
        recurring=RecurringAdmin(store, metadata, clock=clock, entropy=entropy),
        redrives=RedriveAdmin(store, metadata, clock=clock, entropy=entropy),
        stored_tokens=TokenAdmin(store, metadata, clock=clock, entropy=entropy),
        namespaces=NamespaceAdmin(store, metadata, clock=clock, entropy=entropy),
        queues=QueueAdmin(store, metadata, clock=clock, entropy=entropy),
        steering=ClusterAdmin(store, metadata, clock=clock),
        nodes=nodes if tracer is None else TracedNodes(nodes, tracer),
        clock=clock,
        entropy=entropy,
        settings=settings,
        tokens=tokens,
        signed=signed,
        in_thread=io.run,
        is_embedded=True,
        tracer=tracer,
        collectors=(NodeCollector(node, metadata, names_max=settings.metric_names_max), *collectors),
        why_not_ready=lambda: node.failure,
    )
    return EmbeddedServer(gateway, node, metadata, controller, registrar, store)


async def _open_node(ports: NodePorts, incarnation: int, settings: NodeSettings) -> StorageNode:
    # Only gateways at the other end of a connection send a batch again.
    settings = replace(settings, producers_read_bytes_max=0)
    return await StorageNode.open(ports, node_id=NODE_ID, incarnation=incarnation, settings=settings)


def _registrar_of(node: StorageNode, store: CoordinationStore, master_keys: MasterKeys, clock: Clock) -> NodeRegistrar:
    registration = NodeRegistration(
        NODE_ID,
        node.incarnation,
        node.logs.directory_id,
        address="embedded",
        newest_protocol=NEWEST_VERSION,
        master_keys=master_keys.ids,
    )
    return NodeRegistrar(store, registration, clock=clock, on_change=lambda is_registered: None)
