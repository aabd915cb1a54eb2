"""The process of a cluster's gateway: etcd, the gateway, uvicorn around it."""

import asyncio
import sys
from dataclasses import replace
from functools import partial

import uvloop

from app.auth.tokens import TokenTable
from app.configuration.etcd_options import EtcdOptions
from app.configuration.server_settings import Settings
from app.configuration.trace_options import TraceOptions
from app.http.protocol.server import HttpServer, bind, url_of
from app.processes.cluster_gateway import start_cluster_gateway
from app.processes.descriptors import PEERS, plan_descriptors, raise_descriptor_limit, report
from app.processes.etcd_connection import connect_to_etcd
from app.processes.garbage import collect_rarely, pass_over_what_is_there
from app.processes.gateway_server import OTHER_ADDRESS, check_exposure, gateway_config
from app.processes.process_figures import ProcessFigures
from app.processes.tracing import instance_of, start_tracing
from cluster.ports.runtime import SteadyClock, SystemEntropy
from storage.disk.thread_executor import ThreadExecutor
from storage.rpc.tcp_transport import TcpTransport


async def serve(settings: Settings, etcd: EtcdOptions, traces: TraceOptions) -> None:
    """Run until SIGINT or SIGTERM. Raises what makes a start impossible."""
    collect_rarely()
    check_exposure(settings)
    plan = plan_descriptors(raise_descriptor_limit(), connections_max=settings.connections_max, others=PEERS)
    settings = replace(settings, connections_max=plan.connections)
    listener = bind(settings.host, settings.port, what_to_do=OTHER_ADDRESS)
    tokens = TokenTable.load(settings.tokens_file) if settings.tokens_file else None
    clock, entropy = SteadyClock(), SystemEntropy()
    tracing = start_tracing(traces, entropy, service="acklog-gateway", instance=instance_of(settings, entropy))
    figures = ProcessFigures(clock)
    store = await connect_to_etcd(etcd, clock=clock, entropy=entropy, on_call=figures.note_etcd_call)
    cluster_gateway = await start_cluster_gateway(
        store=store,
        transport=TcpTransport(),
        clock=clock,
        entropy=entropy,
        settings=settings,
        tokens=tokens,
        in_thread=ThreadExecutor(threads=1, name="acklog-load").run,
        collectors=(*figures.of_gateway(), *tracing.collectors),
        tracer=tracing.tracer,
    )

    async def begin_shutdown() -> None:
        cluster_gateway.begin_shutdown()

    async def close() -> None:
        figures.close()
        await cluster_gateway.close()
        await tracing.close()

    server = HttpServer(
        gateway_config(cluster_gateway.gateway, backlog=plan.backlog),
        on_listening=partial(_print_welcome, settings, etcd),
        before_stop=begin_shutdown,
        after_stop=close,
    )
    report(plan)
    pass_over_what_is_there()
    figures.start()
    await server.serve(sockets=[listener])


def run(settings: Settings, etcd: EtcdOptions, traces: TraceOptions) -> None:
    """Serve on an event loop of its own (uvloop)."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, etcd, traces))


def _print_welcome(settings: Settings, etcd: EtcdOptions, port: int) -> None:
    url = url_of(settings.host, port)
    sys.stdout.write(f"Acklog's gateway listens on {url} (documentation: {url}/docs), etcd: {etcd.etcd}\n")
    sys.stdout.flush()
