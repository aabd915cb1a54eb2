"""The process of a cluster's gateway: etcd, the gateway, uvicorn around it."""

import sys
from dataclasses import replace
from functools import partial

from app.configuration.configured_process import ConfiguredProcess
from app.configuration.etcd_options import EtcdOptions
from app.configuration.jwt_options import JwtOptions
from app.configuration.server_settings import Settings
from app.configuration.tls_options import PeerOptions, TlsOptions, completed, completed_peers
from app.configuration.trace_options import TraceOptions
from app.http.protocol.server import HttpServer, bind, url_of
from app.processes.cluster_gateway import start_cluster_gateway
from app.processes.descriptors import PEERS, plan_descriptors, raise_descriptor_limit, report
from app.processes.etcd_connection import connect_to_etcd
from app.processes.exposure import check_exposure
from app.processes.garbage import collect_rarely, pass_over_what_is_there
from app.processes.gateway_server import OTHER_ADDRESS, gateway_config, reloads_of
from app.processes.jwt import jwt_of
from app.processes.process_figures import ProcessFigures
from app.processes.process_tls import ProcessTls
from app.processes.required_tokens import tokens_of
from app.processes.service_manager import ServiceManager
from app.processes.signals import heeding_signals, run_process
from app.processes.tracing import instance_of, start_tracing
from cluster.ports.runtime import SteadyClock, SystemEntropy
from cluster.tls.peer_identity import GATEWAY
from storage.disk.thread_executor import ThreadExecutor


async def serve(settings: Settings, etcd: EtcdOptions, process: ConfiguredProcess) -> None:
    """Run until SIGINT or SIGTERM. Raises what makes a start impossible. `process` is who told it the settings."""
    collect_rarely()
    check_exposure(settings)
    plan = plan_descriptors(raise_descriptor_limit(), connections_max=settings.connections_max, others=PEERS)
    settings = replace(settings, connections_max=plan.connections)
    listener = bind(settings.host, settings.port, what_to_do=OTHER_ADDRESS)
    tokens = tokens_of(settings)
    clock, entropy = SteadyClock(), SystemEntropy()
    tracing = start_tracing(
        process.loaded.make(TraceOptions), entropy, service="acklog-gateway", instance=instance_of(settings, entropy)
    )
    figures = ProcessFigures(clock)
    in_thread = ThreadExecutor(threads=1, name="acklog-load").run
    tls_options = completed(process.loaded.make(TlsOptions), "gateway")
    peers = completed_peers(process.loaded.make(PeerOptions), tls_options, "gateway")
    tls = ProcessTls.load(tls_options, peers, etcd, own=GATEWAY, clock=clock, in_thread=in_thread)
    jwt = jwt_of(settings, process.loaded.make(JwtOptions), clock=clock, in_thread=in_thread)
    store = await connect_to_etcd(etcd, tls.etcd, clock=clock, entropy=entropy, on_call=figures.note_etcd_call)
    cluster_gateway = await start_cluster_gateway(
        store=store,
        transport=tls.transport(opening_max=1),
        clock=clock,
        entropy=entropy,
        settings=settings,
        tokens=tokens,
        signed=jwt.tokens,
        collectors=(*figures.of_gateway(), *tracing.collectors, *tls.collectors, *jwt.collectors),
        tracer=tracing.tracer,
        in_thread=in_thread,
    )

    manager = ServiceManager(process.environment)
    reloads = reloads_of(process, cluster_gateway.gateway, in_thread=in_thread, look=tls.watch.look)

    async def begin_shutdown() -> None:
        manager.stopping()
        cluster_gateway.begin_shutdown()

    async def close() -> None:
        figures.close()
        tls.watch.close()
        await jwt.close()
        await cluster_gateway.close()
        await tracing.close()

    server = HttpServer(
        gateway_config(cluster_gateway.gateway, backlog=plan.backlog),
        on_listening=partial(_welcome, settings, tls.scheme, etcd, manager),
        before_stop=begin_shutdown,
        after_stop=close,
        tls=tls.listening(opening_max=plan.backlog),
    )
    report(plan)
    pass_over_what_is_there()
    figures.start()
    tls.watch.start()
    await jwt.start()
    with heeding_signals(reload=reloads.ask, stop=server.stop):
        await server.serve(sockets=[listener])


def run(settings: Settings, etcd: EtcdOptions, process: ConfiguredProcess) -> None:
    run_process(serve(settings, etcd, process))


def _welcome(settings: Settings, scheme: str, etcd: EtcdOptions, manager: ServiceManager, port: int) -> None:
    url = url_of(settings.host, port, scheme=scheme)
    sys.stdout.write(f"Acklog's gateway listens on {url} (documentation: {url}/docs), etcd: {etcd.etcd}\n")
    sys.stdout.flush()
    manager.ready()
