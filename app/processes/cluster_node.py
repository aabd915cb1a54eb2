"""A node of a cluster: storage node, its server, its registration, its part in the controller's election.

Composition over ports and nothing else, so that a simulation runs the very same node.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

import structlog

from app.configuration.node_process_settings import NodeProcessSettings
from app.gateway.nodes_with_self import NodesWithSelf
from app.gateway.remote_nodes import RemoteNodes
from app.processes.directory_start import count_start
from app.processes.earlier_nodes import name_earlier_nodes
from app.processes.node_end import NodeEnd, StorageFailedError
from app.processes.node_tracing import dead_letters_of, traced_node
from app.processes.storage_watch import StorageWatch
from cluster.catalog.topic_admin import TopicAdmin
from cluster.controller.host import ControllerHost
from cluster.life.incarnation import take_incarnation
from cluster.life.node_id import wait_for_node_id
from cluster.life.registration import NodeRegistrar
from cluster.lifecycle import Lifecycle
from cluster.metadata.metadata_view import MetadataView
from cluster.model import keys
from cluster.model.values import ControllerClaim, NodeRegistration, PartitionState
from cluster.ports.clock import Clock
from cluster.ports.coordination import CoordinationError, CoordinationStore
from cluster.ports.entropy import Entropy
from cluster.ports.tracing import Tracer
from storage.disk.executor import IoExecutor
from storage.disk.port import Disk
from storage.encryption.master_key import NO_MASTER_KEYS, MasterKeys
from storage.log.data_directory import read_meta
from storage.node.disk_health import DiskHealth
from storage.node.encryption.data_key_keeper import check_master_keys
from storage.node.node_ports import NodePorts
from storage.node.partition.node_settings import NodeSettings
from storage.node.replicas.failure_detector import FailureDetector
from storage.node.replicas.peer_directory import PeerDirectory
from storage.node.storage_node import StorageNode
from storage.rpc.in_process import InProcessNode
from storage.rpc.server import NodeServer
from storage.rpc.transport import NodeTransport
from storage.schedule.memory_index import IN_MEMORY
from storage.schedule.schedule_index import ScheduleIndexes
from storage.table import memory_table_index
from storage.table.table_index import TableIndexes

_log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class ClusterNode:
    """Made by `start_cluster_node`. Stop it with `leave` and `close`, or with `close` alone. When `end` has a reason
    (StorageFailedError, ReplacedError, DirectoryConflictError), it has to be closed."""

    settings: NodeProcessSettings
    store: CoordinationStore
    metadata: MetadataView
    node: StorageNode
    server: NodeServer
    registrar: NodeRegistrar
    controller: ControllerHost
    detector: FailureDetector
    disk_health: DiskHealth
    end: NodeEnd
    parts: AsyncExitStack
    life: Lifecycle = Lifecycle.SERVING

    @property
    def address(self) -> str:
        """Where gateways and peers dial."""
        return self.settings.advertise or self.server.address

    @property
    def is_leaving(self) -> bool:
        return self.life is not Lifecycle.SERVING

    @property
    def why_not_ready(self) -> str | None:
        """What keeps the node from serving; None while all is well. A lost registration does not."""
        return "the node is leaving" if self.is_leaving else self.node.failure

    async def leave(self) -> bool:
        """Ask for other leaders, and wait until nothing is led here that another node could lead, `leave_timeout_ms`
        at most; the node goes on serving meanwhile. Whether that was reached."""
        self._drain()
        changed = asyncio.Event()
        unsubscribe = self.metadata.subscribe(changed.set)
        try:
            async with asyncio.timeout(self.settings.leave_timeout_ms / 1000):
                await self.registrar.announce_leaving()
                while self.not_handed_over():
                    changed.clear()
                    await changed.wait()
        except (CoordinationError, TimeoutError) as error:
            _log.warning("node_leaves_early", partitions=len(self.not_handed_over()), reason=repr(error))
            return False
        finally:
            unsubscribe()
        return True

    def not_handed_over(self) -> list[PartitionState]:
        """What this life of the node leads, and another node, one that stays, could lead."""
        staying = {each.node_id for each in self.metadata.nodes() if not each.is_leaving} - {self.settings.node_id}
        return [
            state
            for topic in self.metadata.topics()
            for state in self.metadata.partitions(topic.id)
            if (state.leader, state.leader_incarnation) == (self.settings.node_id, self.node.incarnation)
            and not staying.isdisjoint(state.isr)
        ]

    def begin_shutdown(self) -> None:
        """Answer the long polls and refuse new work; requests under way go on."""
        self._drain()
        self.node.stop_waiting()

    async def close(self) -> None:
        """Give office and registration back, hang up, complete the writes, checkpoint everything."""
        self.begin_shutdown()
        self.life = self.life.then(Lifecycle.CLOSING)
        await self.parts.aclose()
        self.life = self.life.then(Lifecycle.CLOSED)

    def _drain(self) -> None:
        if self.life.may_become(Lifecycle.DRAINING):
            self.life = Lifecycle.DRAINING


async def start_cluster_node(
    *,
    store: CoordinationStore,
    transport: NodeTransport,
    disk: Disk,
    io: IoExecutor,
    clock: Clock,
    entropy: Entropy,
    settings: NodeProcessSettings,
    node_settings: NodeSettings,
    schedule_indexes: ScheduleIndexes = IN_MEMORY,
    table_indexes: TableIndexes = memory_table_index.IN_MEMORY,
    master_keys: MasterKeys = NO_MASTER_KEYS,
    tracer: Tracer | None = None,
) -> ClusterNode:
    """Recover the data directory, register, and take part in the election. `store` is the node's from here on: it is
    closed with it, also when the start fails.

    Waits for a coordination store that cannot be reached. Raises DirectoryConflictError and ReplacedError (the node id
    is somebody else's), StorageFailedError and what opening the data directory raises, OSError for the address,
    CoordinationError, and ServerError NO_MASTER_KEY where topics are encrypted by one that the node does not have.
    """
    async with AsyncExitStack() as parts:
        parts.push_async_callback(store.close)
        metadata = MetadataView(store, clock, settings.metadata)
        parts.push_async_callback(metadata.close)
        await metadata.start()
        check_master_keys(metadata.topics(), master_keys)
        others = RemoteNodes(metadata, transport, clock=clock, entropy=entropy, settings=settings.rpc_client)
        parts.push_async_callback(others.close)
        nodes = NodesWithSelf(settings.node_id, others)
        topics = TopicAdmin(store, metadata, clock=clock, entropy=entropy)
        peers = PeerDirectory(metadata, transport, clock=clock, entropy=entropy)
        parts.push_async_callback(peers.close)
        node = await StorageNode.open(
            NodePorts(
                store=store,
                metadata=metadata,
                dead_letters=dead_letters_of(topics, metadata, nodes, clock, tracer),
                peers=peers,
                disk=disk,
                io=io,
                clock=clock,
                entropy=entropy,
                schedule_indexes=schedule_indexes,
                table_indexes=table_indexes,
                master_keys=master_keys,
                client_of=nodes.client,
            ),
            node_id=settings.node_id,
            incarnation=await _begin_life(store, disk, io, clock, settings),
            settings=node_settings,
            replication=settings.replication,
        )
        parts.push_async_callback(node.close)
        if node.failure is not None:
            raise StorageFailedError(node.failure)
        nodes.attach(traced_node(InProcessNode(node), metadata, tracer))
        server = NodeServer(traced_node(node, metadata, tracer), transport, settings=settings.rpc_server, peer=node)
        await server.start(settings.listen)
        parts.push_async_callback(server.close)
        return await _join(store, metadata, node, server, transport, clock, entropy, settings, master_keys.ids, parts)
    raise AssertionError("unreachable: no part of a start suppresses a failure")


async def _begin_life(
    store: CoordinationStore, disk: Disk, io: IoExecutor, clock: Clock, settings: NodeProcessSettings
) -> int:
    """The incarnation of this start, taken only when nobody else has the node id: it would end that one. Raises
    DataDirectoryError for an old copy of a directory."""
    meta = await io.run(partial(read_meta, disk))
    directory_id = "" if meta is None else meta.directory_id
    await wait_for_node_id(store, settings.node_id, directory_id, clock=clock, settings=settings.registration)
    backoff = settings.registration.backoff
    if directory_id:
        await count_start(store, directory_id, disk=disk, io=io, clock=clock, backoff=backoff)
    return await take_incarnation(store, settings.node_id, clock=clock, backoff=backoff)


async def _join(
    store: CoordinationStore,
    metadata: MetadataView,
    node: StorageNode,
    server: NodeServer,
    transport: NodeTransport,
    clock: Clock,
    entropy: Entropy,
    settings: NodeProcessSettings,
    master_keys: Sequence[str],
    parts: AsyncExitStack,
) -> ClusterNode:
    """The node serves: now the others may know it. Takes the parts over once everything has begun."""
    end = NodeEnd()
    registrar = NodeRegistrar(
        store,
        NodeRegistration(
            settings.node_id,
            node.incarnation,
            node.logs.directory_id,
            address=settings.advertise or server.address,
            rack=settings.rack,
            newest_protocol=settings.rpc_server.versions.newest,
            master_keys=tuple(master_keys),
        ),
        clock=clock,
        on_change=partial(_registration_changed, node),
        on_ended=end.tell,
        settings=settings.registration,
    )
    node.is_registered = partial(_is_registered, registrar, metadata)
    parts.push_async_callback(registrar.close)
    await registrar.start()
    claim = ControllerClaim(settings.node_id, node.incarnation)
    controller = ControllerHost(store, claim, clock=clock, settings=settings.controller)
    controller.start()
    parts.push_async_callback(controller.close)
    detector = FailureDetector(
        settings.node_id,
        node.incarnation,
        metadata=metadata,
        store=store,
        transport=transport,
        clock=clock,
        entropy=entropy,
        settings=settings.failure_detector,
        on_crashed=_detector_crashed,
    )
    detector.start()
    parts.push_async_callback(detector.close)
    parts.callback(name_earlier_nodes(metadata, own_protocol=settings.rpc_server.versions.newest))
    watch = StorageWatch(node, registrar, metadata, end, clock=clock, interval_ms=settings.vital_interval_ms)
    watching = asyncio.create_task(watch.run(), name="storage watch")
    parts.callback(watching.cancel)
    return ClusterNode(
        settings, store, metadata, node, server, registrar, controller, detector, watch.health, end, parts.pop_all()
    )


def _detector_crashed(error: BaseException) -> None:
    """A bug. Leases still end, only later: no reason to stop a node that serves."""
    _log.error("failure_detector_crashed", reason=repr(error))


def _is_registered(registrar: NodeRegistrar, metadata: MetadataView) -> bool:
    """And the view shows what happened before: who registers again may have been replaced meanwhile."""
    key = keys.node(registrar.node_id)
    return registrar.is_registered and metadata.revision_of(key) >= registrar.registered_revision


def _registration_changed(node: StorageNode, is_registered: bool) -> None:
    _log.info("registration_changed", is_registered=is_registered)
    node.coordination_changed(is_registered)
