"""The process of a cluster's node: data directory, etcd, the node, and a little HTTP for whoever runs it."""

import asyncio
import sys
from dataclasses import replace
from functools import partial

import uvicorn
from prometheus_client.registry import Collector

from app.configuration.configured_process import ConfiguredProcess
from app.configuration.etcd_options import EtcdOptions
from app.configuration.node_options import NodeOptions
from app.configuration.server_settings import Settings
from app.configuration.tls_options import PeerOptions, TlsOptions, completed, completed_peers
from app.configuration.trace_options import TraceOptions
from app.http.protocol.limited_protocol import make_http_protocol
from app.http.protocol.server import HttpServer, bind, url_of
from app.http.protocol.web_guard import guard_of
from app.processes.cluster_node import ClusterNode, start_cluster_node
from app.processes.descriptors import PEERS, DescriptorPlan, plan_descriptors, raise_descriptor_limit, report
from app.processes.etcd_connection import connect_to_etcd
from app.processes.exposure import check_node_exposure
from app.processes.garbage import collect_rarely, pass_over_what_is_there
from app.processes.in_force import InForce
from app.processes.master_keys import master_keys_of
from app.processes.node_http import create_node_app
from app.processes.process_constants import COORDINATION_FILE, GRACE_SECONDS, IO_THREADS, SWITCH_INTERVAL_SECONDS
from app.processes.process_figures import ProcessFigures
from app.processes.process_tls import ProcessTls
from app.processes.reloads import Reloads
from app.processes.service_manager import ServiceManager
from app.processes.signals import heeding_signals, run_process
from app.processes.tracing import start_tracing
from cluster.ports.runtime import SteadyClock, SystemEntropy
from cluster.tls.peer_identity import node_identity
from storage.disk.real_disk import RealDisk
from storage.disk.thread_executor import ThreadExecutor
from storage.log.data_directory import read_meta
from storage.log.directory_role import claim_for_node
from storage.log.log_settings import LogStoreSettings
from storage.node.partition.node_settings import NodeSettings
from storage.node.schedule.sqlite_schedule_indexes import SqliteScheduleIndexes
from storage.node.table.sqlite_table_index import SqliteTableIndexes
from storage.rpc.rpc_settings import RpcServerSettings
from storage.schedule.schedule_index import SCHEDULES_DIRECTORY
from storage.table.table_index import TABLES_DIRECTORY

HTTP_CONNECTIONS_MAX = 64
"""Whoever runs the node asks for its health and metrics; nobody else has any business there."""
OTHER_ADDRESS = "Give another --http address (port 0 takes a free one)."


async def serve(
    options: NodeOptions, etcd: EtcdOptions, node_settings: NodeSettings, process: ConfiguredProcess
) -> None:
    """Run until SIGINT, SIGTERM, or until the node has to end. Raises what makes a start impossible, or why it ended:
    see `app.processes.cluster_node`. `process` is who told it the settings."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    collect_rarely()
    tls_options = completed(process.loaded.make(TlsOptions), f"node-{options.id}")
    peers = completed_peers(process.loaded.make(PeerOptions), tls_options, f"node-{options.id}")
    check_node_exposure(options, peers)
    process_settings = options.process_settings()
    plan = _plan(process_settings.rpc_server, node_settings.log_store)
    rpc_server = process_settings.rpc_server.within(plan.connections)
    node_settings = replace(node_settings, log_store=replace(node_settings.log_store, open_files_max=plan.open_files))
    host, port = options.http_address
    listener = bind(host, port, what_to_do=OTHER_ADDRESS)
    clock, entropy = SteadyClock(), SystemEntropy()
    tracing = start_tracing(
        process.loaded.make(TraceOptions), entropy, service="acklog-node", instance=f"node-{options.id}"
    )
    figures, master_keys = ProcessFigures(clock), master_keys_of(process, entropy)
    io = ThreadExecutor(threads=IO_THREADS, name="acklog-io")
    tls = ProcessTls.load(tls_options, peers, etcd, own=node_identity(options.id), clock=clock, in_thread=io.run)
    disk = RealDisk(options.data_dir, on_sync=figures.sync_times.add)
    disk.lock("lock")
    await io.run(partial(read_meta, disk))  # a directory of a newer version is refused before anything is changed
    await io.run(partial(claim_for_node, disk, options.id, embedded_path=COORDINATION_FILE))
    node = await start_cluster_node(
        store=await connect_to_etcd(etcd, tls.etcd, clock=clock, entropy=entropy, on_call=figures.note_etcd_call),
        transport=tls.transport(opening_max=rpc_server.strangers_max),
        disk=disk,
        io=io,
        clock=clock,
        entropy=entropy,
        settings=replace(process_settings, rpc_server=rpc_server),
        node_settings=node_settings,
        schedule_indexes=SqliteScheduleIndexes(
            f"{options.data_dir}/{SCHEDULES_DIRECTORY}", ThreadExecutor(threads=1, name="acklog-schedule")
        ),
        table_indexes=SqliteTableIndexes(
            f"{options.data_dir}/{TABLES_DIRECTORY}", ThreadExecutor(threads=1, name="acklog-table")
        ),
        master_keys=master_keys,
        tracer=tracing.tracer,
    )

    async def close() -> None:
        figures.close()
        tls.watch.close()
        await node.close()
        await tracing.close()

    manager = ServiceManager(process.environment)
    server = HttpServer(
        _config(node, options, (*figures.of_node(), *tracing.collectors, *tls.collectors)),
        on_listening=partial(_welcome, node, options, tls.scheme, manager),
        before_stop=partial(_hand_over, node, manager),
        after_stop=close,
        tls=tls.listening(opening_max=HTTP_CONNECTIONS_MAX),
    )
    report(plan)
    pass_over_what_is_there()
    figures.start()
    tls.watch.start()
    ending = asyncio.create_task(_stop_at_the_end(node, server), name="end of the node")
    with heeding_signals(reload=Reloads(InForce(process), in_thread=io.run, look=tls.watch.look).ask, stop=server.stop):
        await server.serve(sockets=[listener])
    ending.cancel()
    if node.end.reason is not None:
        raise node.end.reason


def _plan(rpc_server: RpcServerSettings, log_store: LogStoreSettings) -> DescriptorPlan:
    """Raises SettingsError."""
    return plan_descriptors(
        raise_descriptor_limit(),
        connections_max=rpc_server.connections_max,
        open_files_max=log_store.open_files_max,
        journal_files_max=log_store.journal_files_max,
        others=PEERS + 2 * HTTP_CONNECTIONS_MAX,
    )


async def _stop_at_the_end(node: ClusterNode, server: HttpServer) -> None:
    await node.end.wait()
    server.stop()


async def _hand_over(node: ClusterNode, manager: ServiceManager) -> None:
    """A node that has to end has nothing to hand over: it stores nothing any more, or its place is taken."""
    manager.stopping()
    if node.end.reason is None:
        await node.leave()
    node.begin_shutdown()


def _config(node: ClusterNode, options: NodeOptions, collectors: tuple[Collector, ...]) -> uvicorn.Config:
    host, _ = options.http_address
    guard = guard_of(listens_on=host, allowed_hosts=options.allowed_hosts, has_tokens=False)
    return uvicorn.Config(
        create_node_app(node, metric_names_max=options.metric_names_max, collectors=collectors),
        http=make_http_protocol(Settings(connections_max=HTTP_CONNECTIONS_MAX), guard),
        loop="uvloop",
        ws="none",
        lifespan="off",
        proxy_headers=False,
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=HTTP_CONNECTIONS_MAX,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def run(options: NodeOptions, etcd: EtcdOptions, node_settings: NodeSettings, process: ConfiguredProcess) -> None:
    run_process(serve(options, etcd, node_settings, process))


def _welcome(node: ClusterNode, options: NodeOptions, scheme: str, manager: ServiceManager, port: int) -> None:
    url = url_of(options.http_address[0], port, scheme=scheme)
    sys.stdout.write(
        f"Acklog's node {options.id} serves on {node.address}, stores in {options.data_dir}, health: {url}\n"
    )
    sys.stdout.flush()
    manager.ready()
