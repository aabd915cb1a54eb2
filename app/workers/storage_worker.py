"""The storage process of a server of several: data directory, coordination store, controller, and the sockets by which
gateways reach them. It serves nobody from outside."""

import asyncio
import sys
from dataclasses import dataclass

from app.configuration.configured_process import ConfiguredProcess
from app.configuration.server_settings import Settings
from app.configuration.trace_options import TraceOptions
from app.gateway.exposition import SteppedRegistry
from app.http.exchange.turns import Turns
from app.processes.descriptors import DescriptorPlan, plan_descriptors, raise_descriptor_limit, report
from app.processes.embedded_node import EmbeddedNode, open_embedded_node
from app.processes.embedded_store import open_store
from app.processes.garbage import collect_rarely, pass_over_what_is_there
from app.processes.in_force import InForce
from app.processes.master_keys import master_keys_of
from app.processes.node_end import StorageFailedError
from app.processes.node_metrics import NodeCollector
from app.processes.node_tracing import traced_node
from app.processes.process_constants import IO_THREADS, SWITCH_INTERVAL_SECONDS, VITAL_INTERVAL_MS
from app.processes.process_figures import ProcessFigures
from app.processes.reloads import Reloads
from app.processes.server_disk import locked_disk, schedule_indexes, table_indexes, with_open_files
from app.processes.tracing import Tracing, instance_of, start_tracing
from app.workers.local_rpc import local_server
from app.workers.metrics_door import MetricsDoor
from app.workers.supervisor_channel import Served, SupervisorChannel
from app.workers.worker_names import STORAGE, STORAGE_SOCKET
from cluster.ports.clock import Clock
from cluster.ports.runtime import SteadyClock, SystemEntropy
from storage.disk.thread_executor import ThreadExecutor
from storage.log.data_directory import SOCKETS_DIRECTORY
from storage.log.log_settings import LogStoreSettings
from storage.node.partition.node_settings import NodeSettings
from storage.node.storage_node import StorageNode
from storage.rpc.rpc_settings import RpcServerSettings
from storage.rpc.server import NodeServer
from storage.rpc.socket_directory import SocketDirectory
from storage.rpc.unix_transport import UnixTransport
from storage.shared_store.served_store import ServedStore


@dataclass(slots=True)
class _Storage:
    """What is closed in the order that `close` says."""

    embedded: EmbeddedNode
    server: NodeServer
    door: MetricsDoor
    sockets: SocketDirectory
    figures: ProcessFigures
    tracing: Tracing

    async def close(self) -> None:
        self.embedded.node.stop_waiting()
        await self.door.close()
        await self.server.close()
        self.figures.close()
        await self.embedded.close()
        await self.tracing.close()
        self.sockets.close()


async def serve_storage(
    settings: Settings, node_settings: NodeSettings, process: ConfiguredProcess, channel: SupervisorChannel
) -> None:
    """Run until the supervisor says that it is enough, or is gone. Raises what makes a start impossible, and
    StorageFailedError where the data directory has failed since."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    collect_rarely()
    plan = _plan(local_server(settings), node_settings.log_store)
    clock, io = SteadyClock(), ThreadExecutor(threads=IO_THREADS, name="acklog-io")
    storage = await _open(settings, with_open_files(node_settings, plan.open_files), process, clock, io)
    report(plan)
    pass_over_what_is_there()
    storage.figures.start()
    stopped = asyncio.Event()
    reloads = Reloads(InForce(process), in_thread=io.run)
    failure = storage.embedded.node.failure
    watching = asyncio.create_task(_watch(storage.embedded.node, stopped, clock), name="storage watch")
    with channel.heeding(stop=stopped.set, reload=reloads.ask):
        channel.tell_served(Served(failure=failure))
        await stopped.wait()
    watching.cancel()  # a store that is closed is not one that failed
    reason = storage.embedded.node.failure
    await storage.close()
    if reason is not None and failure is None:
        raise StorageFailedError(reason)


async def _open(
    settings: Settings, node_settings: NodeSettings, process: ConfiguredProcess, clock: Clock, io: ThreadExecutor
) -> _Storage:
    entropy, figures = SystemEntropy(), ProcessFigures(clock)
    master_keys = master_keys_of(process, entropy)
    tracing = start_tracing(
        process.loaded.make(TraceOptions), entropy, service="acklog-node", instance=instance_of(settings, entropy)
    )
    disk = locked_disk(settings.data_dir, figures.sync_times.add)
    store = await open_store(
        settings.data_dir,
        disk,
        io=io,
        blocking=ThreadExecutor(threads=1, name="acklog-sqlite"),
        clock=clock,
        ballast_bytes=node_settings.log_store.ballast_bytes,
    )
    embedded = await open_embedded_node(
        store=store,
        disk=disk,
        io=io,
        clock=clock,
        entropy=entropy,
        settings=node_settings,
        address=STORAGE_SOCKET,
        schedule_indexes=schedule_indexes(settings.data_dir),
        table_indexes=table_indexes(settings.data_dir),
        master_keys=master_keys,
        tracer=tracing.tracer,
    )
    sockets = SocketDirectory.make(f"{settings.data_dir}/{SOCKETS_DIRECTORY}")
    server = NodeServer(
        traced_node(embedded.node, embedded.metadata, tracing.tracer),
        UnixTransport(sockets),
        settings=local_server(settings),
        coordination=ServedStore(store),
    )
    await server.start(STORAGE_SOCKET)
    registry, turns = SteppedRegistry(), Turns()
    names_max = settings.metric_names_max
    for collector in (
        NodeCollector(embedded.node, embedded.metadata, names_max=names_max),
        *figures.of_embedded(),
        *tracing.collectors,
    ):
        registry.register(collector)
    door = await MetricsDoor.open(sockets, STORAGE, lambda: turns.take(registry.exposition()))
    await embedded.registrar.start()  # gateways find it by that, and it serves
    return _Storage(embedded, server, door, sockets, figures, tracing)


def _plan(rpc_server: RpcServerSettings, log_store: LogStoreSettings) -> DescriptorPlan:
    """Raises SettingsError."""
    return plan_descriptors(
        raise_descriptor_limit(),
        connections_max=rpc_server.connections_max,
        open_files_max=log_store.open_files_max,
        journal_files_max=log_store.journal_files_max,
    )


async def _watch(node: StorageNode, stopped: asyncio.Event, clock: Clock) -> None:
    """As in one process: what fails while it serves ends it, and what was damaged before does not."""
    if node.failure is not None:
        return
    while node.failure is None:
        await clock.sleep(VITAL_INTERVAL_MS)
    stopped.set()
