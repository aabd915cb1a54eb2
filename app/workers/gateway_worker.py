"""A gateway process of a server of several: the gateway of a cluster, whose store and node are in the process next to
it."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from app.configuration.configured_process import ConfiguredProcess
from app.configuration.jwt_options import JwtOptions
from app.configuration.server_settings import Settings
from app.configuration.tls_options import TlsOptions, completed
from app.configuration.trace_options import TraceOptions
from app.configuration.worker_options import WorkerOptions
from app.gateway.dependencies import Gateway
from app.processes.cluster_gateway import ClusterGateway, start_cluster_gateway
from app.processes.descriptors import PEERS, plan_descriptors, raise_descriptor_limit, report
from app.processes.garbage import collect_rarely, pass_over_what_is_there
from app.processes.gateway_server import gateway_config
from app.processes.in_force import InForce
from app.processes.jwt import jwt_of
from app.processes.logging import set_log_level
from app.processes.process_figures import ProcessFigures
from app.processes.process_tls import ProcessTls
from app.processes.reloads import InThread, Reloads
from app.processes.tracing import instance_of, start_tracing
from app.workers.fellow_workers import FellowWorkers
from app.workers.local_rpc import local_client
from app.workers.supervisor_channel import Served, SupervisorChannel
from app.workers.worker_names import STORAGE, STORAGE_SOCKET, gateway_names
from app.workers.worker_process import OwnWorker
from app.workers.worker_server import WorkerServer
from cluster.ports.clock import Clock
from cluster.ports.entropy import Entropy
from cluster.ports.runtime import SteadyClock, SystemEntropy
from storage.disk.thread_executor import ThreadExecutor
from storage.log.data_directory import SOCKETS_DIRECTORY
from storage.rpc.rpc_channel import RpcChannel
from storage.rpc.rpc_settings import RpcClientSettings
from storage.rpc.socket_directory import SocketDirectory
from storage.rpc.unix_transport import UnixTransport
from storage.shared_store.remote_store import RemoteStore


async def serve_gateway(settings: Settings, process: ConfiguredProcess, own: OwnWorker, in_force: InForce) -> None:
    """Run until the supervisor says that it is enough, or is gone. `in_force` is the supervisor's: all gateways go by
    the same settings and tokens, whenever they are started. Raises what makes a start impossible."""
    assert own.listener is not None, "a gateway gets one"
    collect_rarely()
    plan = plan_descriptors(raise_descriptor_limit(), connections_max=settings.connections_max, others=PEERS)
    settings = replace(settings, connections_max=plan.connections)
    in_force = in_force.of_another(settings)
    set_log_level(settings.log_level)
    clock, entropy = SteadyClock(), SystemEntropy()
    tracing = start_tracing(
        process.loaded.make(TraceOptions), entropy, service="acklog-gateway", instance=instance_of(settings, entropy)
    )
    figures = ProcessFigures(clock)
    in_thread = ThreadExecutor(threads=1, name="acklog-load").run
    tls = ProcessTls.load(completed(process.loaded.make(TlsOptions), "server"), clock=clock, in_thread=in_thread)
    jwt = jwt_of(settings, process.loaded.make(JwtOptions), clock=clock, in_thread=in_thread)
    sockets = SocketDirectory.open(f"{settings.data_dir}/{SOCKETS_DIRECTORY}")
    cluster_gateway = await start_cluster_gateway(
        store=_store(sockets, clock, entropy),
        transport=UnixTransport(sockets),
        clock=clock,
        entropy=entropy,
        settings=settings,
        rpc_client=local_client(settings),
        tokens=in_force.tokens,
        signed=jwt.tokens,
        collectors=(*figures.of_gateway(), *tracing.collectors, *tls.collectors, *jwt.collectors),
        tracer=tracing.tracer,
        in_thread=in_thread,
    )
    fellows = _fellows(sockets, own.name, process.loaded.make(WorkerOptions))
    gateway = _among_workers(cluster_gateway.gateway, fellows, own)

    async def close() -> None:
        await fellows.close()
        figures.close()
        tls.watch.close()
        await jwt.close()
        await cluster_gateway.close()
        await tracing.close()
        sockets.close()

    server = WorkerServer(
        gateway_config(gateway, backlog=plan.backlog),
        on_listening=partial(_tell_served, own.channel),
        before_stop=partial(_begin_shutdown, cluster_gateway),
        after_stop=close,
        tls=tls.listening(opening_max=plan.backlog),
    )
    reloads = _reloads(in_force, gateway, server, in_thread=in_thread, look=tls.watch.look)
    await fellows.open()
    report(plan)
    pass_over_what_is_there()
    figures.start()
    tls.watch.start()
    await jwt.start()
    with own.channel.heeding(stop=server.stop, reload=reloads.ask):
        await server.serve(sockets=[own.listener])


def _store(sockets: SocketDirectory, clock: Clock, entropy: Entropy) -> RemoteStore:
    """On a connection of its own: it is not behind messages in a queue."""
    transport, settings = UnixTransport(sockets), RpcClientSettings()
    return RemoteStore(RpcChannel(transport, STORAGE_SOCKET, clock=clock, entropy=entropy, settings=settings))


def _fellows(sockets: SocketDirectory, own: str, options: WorkerOptions) -> FellowWorkers:
    others = [name for name in (STORAGE, *gateway_names(options.workers)) if name != own]
    return FellowWorkers(sockets, own, others)


def _among_workers(gateway: Gateway, fellows: FellowWorkers, own: OwnWorker) -> Gateway:
    return replace(gateway, is_embedded=True, colleagues=fellows, why_not_ready=lambda: own.storage_failure)


def _reloads(
    in_force: InForce,
    gateway: Gateway,
    server: WorkerServer,
    *,
    in_thread: InThread,
    look: Callable[[], Awaitable[None]],
) -> Reloads:
    """The supervisor could use what it read, and the others have it. Whoever comes too late to read it, as the files
    have changed once more, must not stay behind, with tokens that were taken away: it stops, and the next process in
    its place begins with what is in force."""
    on_changed = gateway.settings_listeners.tell
    return Reloads(in_force, in_thread=in_thread, look=look, on_changed=on_changed, on_refused=server.stop)


def _tell_served(channel: SupervisorChannel, port: int) -> None:
    channel.tell_served(Served(port=port))


async def _begin_shutdown(cluster_gateway: ClusterGateway) -> None:
    cluster_gateway.begin_shutdown()
