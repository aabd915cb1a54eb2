"""The embedded server: gateway, storage node and controller in one process, SQLite where a cluster has etcd.

Same code, same API, same durability as a cluster; only the composition differs, and it is all here.
"""

from dataclasses import dataclass

from prometheus_client.registry import Collector

from app.auth.callers import SignedTokens
from app.auth.tokens import TokenTable
from app.configuration.server_settings import Settings
from app.gateway.dependencies import Gateway
from app.gateway.traced_nodes import TracedNodes
from app.processes.embedded_node import EmbeddedNode, open_embedded_node
from app.processes.node_metrics import NodeCollector
from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.catalog.group_admin import GroupAdmin
from cluster.catalog.namespace_admin import NamespaceAdmin
from cluster.catalog.producer_admin import ProducerAdmin
from cluster.catalog.queue_admin import QueueAdmin
from cluster.catalog.recurring_admin import RecurringAdmin
from cluster.catalog.redrive_admin import RedriveAdmin
from cluster.catalog.token_admin import TokenAdmin
from cluster.metadata.metadata_view import MetadataView
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationStore
from cluster.ports.entropy import Entropy
from cluster.ports.tracing import Tracer
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk
from storage.encryption.master_key import NO_MASTER_KEYS, MasterKeys
from storage.node.partition.node_settings import NodeSettings
from storage.node.storage_node import StorageNode
from storage.schedule.memory_index import IN_MEMORY
from storage.schedule.schedule_index import ScheduleIndexes
from storage.table import memory_table_index
from storage.table.table_index import TableIndexes


@dataclass(slots=True)
class EmbeddedServer:
    """Made by `start_embedded`. `gateway` goes to `create_app`."""

    gateway: Gateway
    parts: EmbeddedNode

    @property
    def node(self) -> StorageNode:
        return self.parts.node

    @property
    def metadata(self) -> MetadataView:
        return self.parts.metadata

    @property
    def store(self) -> CoordinationStore:
        return self.parts.store

    def begin_shutdown(self) -> None:
        """Answer the long polls and refuse new work; requests under way go on."""
        self.gateway.shutdown.begin()
        self.node.stop_waiting()

    async def close(self) -> None:
        """Complete the writes and checkpoint everything. No request may be under way any more."""
        self.begin_shutdown()
        await self.gateway.shutdown.end()
        await self.parts.close()


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
    embedded = await open_embedded_node(
        store=store,
        disk=disk,
        io=io,
        clock=clock,
        entropy=entropy,
        settings=node_settings,
        schedule_indexes=schedule_indexes,
        table_indexes=table_indexes,
        master_keys=master_keys,
        tracer=tracer,
    )
    await embedded.registrar.start()
    node, nodes, metadata = embedded.node, embedded.nodes, embedded.metadata
    gateway = Gateway(
        metadata=metadata,
        topics=embedded.topics,
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
    return EmbeddedServer(gateway, embedded)
