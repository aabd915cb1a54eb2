"""The storage node of a server on one machine: its own only node, with its controller, on the store of that machine.

Gateways are around it, in the same process or in others.
"""

from dataclasses import dataclass, replace

from acklog.wire.problems import ProblemCode
from app.processes.node_tracing import dead_letters_of, traced_node
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
IN_PROCESS = "embedded"
"""In the place of an address, where nobody dials the node."""


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
class EmbeddedNode:
    """Made by `open_embedded_node`. It serves once it is registered (`registrar.start`)."""

    node: StorageNode
    nodes: LocalNodes
    metadata: MetadataView
    topics: TopicAdmin
    controller: EmbeddedController
    registrar: NodeRegistrar
    store: CoordinationStore

    async def close(self) -> None:
        """Complete the writes and checkpoint everything. No request may be under way any more."""
        await self.node.close()
        await self.registrar.close()
        await self.controller.close()
        await self.metadata.close()
        await self.store.close()


async def open_embedded_node(
    *,
    store: CoordinationStore,
    disk: Disk,
    io: IoExecutor,
    clock: Clock,
    entropy: Entropy,
    settings: NodeSettings,
    address: str = IN_PROCESS,
    schedule_indexes: ScheduleIndexes = IN_MEMORY,
    table_indexes: TableIndexes = memory_table_index.IN_MEMORY,
    master_keys: MasterKeys = NO_MASTER_KEYS,
    tracer: Tracer | None = None,
) -> EmbeddedNode:
    """Recover everything. `address` is where gateways in other processes reach the node. Raises ServerError when the
    data directory cannot be served."""
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
    if address == IN_PROCESS:
        # Only gateways at the other end of a connection send a batch again.
        settings = replace(settings, producers_read_bytes_max=0)
    node = await StorageNode.open(ports, node_id=NODE_ID, incarnation=incarnation, settings=settings)
    nodes.attach(traced_node(InProcessNode(node), metadata, tracer))
    registrar = _registrar_of(node, store, address, master_keys, clock)
    return EmbeddedNode(node, nodes, metadata, topics, controller, registrar, store)


def _registrar_of(
    node: StorageNode, store: CoordinationStore, address: str, master_keys: MasterKeys, clock: Clock
) -> NodeRegistrar:
    registration = NodeRegistration(
        NODE_ID,
        node.incarnation,
        node.logs.directory_id,
        address=address,
        newest_protocol=NEWEST_VERSION,
        master_keys=master_keys.ids,
    )
    return NodeRegistrar(store, registration, clock=clock, on_change=lambda is_registered: None)
