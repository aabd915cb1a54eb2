"""The server process: uvicorn around the gateway, with an orderly start and an orderly stop."""

import asyncio
import sys
from dataclasses import replace
from functools import partial

from app.configuration.configured_process import ConfiguredProcess
from app.configuration.jwt_options import JwtOptions
from app.configuration.server_settings import Settings
from app.configuration.tls_options import TlsOptions, completed
from app.configuration.trace_options import TraceOptions
from app.http.protocol.server import HttpServer, bind
from app.processes.descriptors import DescriptorPlan, plan_descriptors, raise_descriptor_limit, report
from app.processes.embedded import EmbeddedServer, start_embedded
from app.processes.embedded_store import open_store
from app.processes.exposure import check_exposure
from app.processes.garbage import collect_rarely, pass_over_what_is_there
from app.processes.gateway_server import OTHER_ADDRESS, gateway_config, reloads_of
from app.processes.jwt import jwt_of
from app.processes.master_keys import master_keys_of
from app.processes.node_end import NodeEnd, StorageFailedError
from app.processes.process_constants import IO_THREADS, SWITCH_INTERVAL_SECONDS, VITAL_INTERVAL_MS
from app.processes.process_figures import ProcessFigures
from app.processes.process_tls import ProcessTls
from app.processes.required_tokens import tokens_of
from app.processes.server_disk import locked_disk, schedule_indexes, table_indexes, with_open_files
from app.processes.service_manager import ServiceManager
from app.processes.signals import heeding_signals, run_process
from app.processes.tracing import Tracing, instance_of, start_tracing
from app.processes.welcome import ServerWelcome
from cluster.ports.clock import Clock
from cluster.ports.entropy import Entropy
from cluster.ports.runtime import SteadyClock, SystemEntropy
from storage.disk.thread_executor import ThreadExecutor
from storage.log.log_settings import LogStoreSettings
from storage.node.partition.node_settings import NodeSettings


async def serve(settings: Settings, node_settings: NodeSettings, process: ConfiguredProcess) -> None:
    """Run until SIGINT or SIGTERM. Raises what makes a start impossible. `process` is who told it the settings."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    collect_rarely()
    check_exposure(settings)
    plan = _plan(settings, node_settings.log_store)
    settings = replace(settings, connections_max=plan.connections)
    node_settings = with_open_files(node_settings, plan.open_files)
    listener = bind(settings.host, settings.port, what_to_do=OTHER_ADDRESS)
    clock, entropy = SteadyClock(), SystemEntropy()
    tokens, master_keys = tokens_of(settings), master_keys_of(process, entropy)
    tracing = _start_tracing(settings, process, entropy)
    figures = ProcessFigures(clock)
    io = ThreadExecutor(threads=IO_THREADS, name="acklog-io")
    tls_options = completed(process.loaded.make(TlsOptions), "server")
    tls = ProcessTls.load(tls_options, clock=clock, in_thread=io.run)
    jwt = jwt_of(settings, process.loaded.make(JwtOptions), clock=clock, in_thread=io.run)
    disk = locked_disk(settings.data_dir, figures.sync_times.add)
    blocking = ThreadExecutor(threads=1, name="acklog-sqlite")
    ballast_bytes = node_settings.log_store.ballast_bytes
    store = await open_store(
        settings.data_dir, disk, io=io, blocking=blocking, clock=clock, ballast_bytes=ballast_bytes
    )
    embedded = await start_embedded(
        store=store,
        disk=disk,
        io=io,
        clock=clock,
        entropy=entropy,
        settings=settings,
        node_settings=node_settings,
        schedule_indexes=schedule_indexes(settings.data_dir),
        table_indexes=table_indexes(settings.data_dir),
        master_keys=master_keys,
        tokens=tokens,
        signed=jwt.tokens,
        collectors=(*figures.of_embedded(), *tracing.collectors, *tls.collectors, *jwt.collectors),
        tracer=tracing.tracer,
    )
    manager = ServiceManager(process.environment)
    reloads = reloads_of(process, embedded.gateway, in_thread=io.run, look=tls.watch.look)

    async def close() -> None:
        figures.close()
        tls.watch.close()
        await jwt.close()
        watching.cancel()  # a store that is closed is not one that failed
        await embedded.close()
        await tracing.close()

    server = HttpServer(
        gateway_config(embedded.gateway, backlog=plan.backlog),
        on_listening=partial(_welcome, ServerWelcome.of(settings, tls_options), manager),
        before_stop=partial(_begin_shutdown, embedded, manager),
        after_stop=close,
        tls=tls.listening(opening_max=plan.backlog),
    )
    report(plan)
    pass_over_what_is_there()
    figures.start()
    tls.watch.start()
    await jwt.start()
    end = NodeEnd()
    watching = asyncio.create_task(_watch_storage(embedded, server, end, clock), name="storage watch")
    with heeding_signals(reload=reloads.ask, stop=server.stop):
        await server.serve(sockets=[listener])
    if end.reason is not None:
        raise end.reason


def _plan(settings: Settings, log_store: LogStoreSettings) -> DescriptorPlan:
    """Raises SettingsError."""
    return plan_descriptors(
        raise_descriptor_limit(),
        connections_max=settings.connections_max,
        open_files_max=log_store.open_files_max,
        journal_files_max=log_store.journal_files_max,
    )


def _start_tracing(settings: Settings, process: ConfiguredProcess, entropy: Entropy) -> Tracing:
    """Raises SettingsError."""
    options, instance = process.loaded.make(TraceOptions), instance_of(settings, entropy)
    return start_tracing(options, entropy, service="acklog-server", instance=instance)


async def _begin_shutdown(embedded: EmbeddedServer, manager: ServiceManager) -> None:
    manager.stopping()
    embedded.begin_shutdown()


async def _watch_storage(embedded: EmbeddedServer, server: HttpServer, end: NodeEnd, clock: Clock) -> None:
    """A start verifies what a failed device has left: whoever supervises the process is to begin one. What is found
    damaged at the start is not mended by another one: then the server stays, and says so at /readyz."""
    if embedded.node.failure is not None:
        return
    while embedded.node.failure is None:
        await clock.sleep(VITAL_INTERVAL_MS)
    end.tell(StorageFailedError(embedded.node.failure))
    server.stop()


def run(settings: Settings, node_settings: NodeSettings, process: ConfiguredProcess) -> None:
    run_process(serve(settings, node_settings, process))


def _welcome(welcome: ServerWelcome, manager: ServiceManager, port: int) -> None:
    sys.stdout.write(welcome.text(port))
    sys.stdout.flush()
    manager.ready()
