"""A server of several processes: the supervisor, and what each process that it starts does."""

import sys
from functools import partial

from app.configuration.configured_process import ConfiguredProcess
from app.configuration.server_settings import Settings
from app.configuration.tls_options import TlsOptions, completed
from app.configuration.worker_options import WorkerOptions
from app.http.protocol.server import BACKLOG, bind
from app.processes.exposure import check_exposure
from app.processes.garbage import collect_rarely, pass_over_what_is_there
from app.processes.gateway_server import OTHER_ADDRESS
from app.processes.in_force import InForce
from app.processes.logging import configure_logging
from app.processes.required_tokens import tokens_of
from app.processes.service_manager import ServiceManager
from app.processes.welcome import ServerWelcome
from app.workers.gateway_worker import serve_gateway
from app.workers.shared_port import SharedPort
from app.workers.storage_worker import serve_storage
from app.workers.supervision import End
from app.workers.supervisor import Supervisor
from app.workers.worker_names import STORAGE, SUPERVISOR
from app.workers.worker_process import OwnWorker
from app.workers.workers_failed import WorkersFailedError
from cluster.ports.runtime import SteadyClock
from storage.node.partition.node_settings import NodeSettings


def run(settings: Settings, node_settings: NodeSettings, process: ConfiguredProcess) -> None:
    """In the supervisor, and in every process that it starts. Raises what makes a start impossible,
    WorkersFailedError in the supervisor, and StorageFailedError in the storage process."""
    in_force = InForce(process, settings=settings, tokens=tokens_of(settings))
    outcome = _supervise(settings, process, in_force)
    if isinstance(outcome, End):
        if outcome.exit_code:
            raise WorkersFailedError(outcome.reason, exit_code=outcome.exit_code)
        return
    configure_logging(settings.log_level, worker=outcome.name)
    if outcome.name == STORAGE:
        outcome.channel.run(serve_storage(settings, node_settings, process, outcome.channel))
    else:
        outcome.channel.run(serve_gateway(settings, process, outcome, in_force))


def _supervise(settings: Settings, process: ConfiguredProcess, in_force: InForce) -> OwnWorker | End:
    configure_logging(settings.log_level, worker=SUPERVISOR)
    collect_rarely()
    check_exposure(settings)
    listener = bind(settings.host, settings.port, what_to_do=OTHER_ADDRESS)
    welcome = ServerWelcome.of(settings, completed(process.loaded.make(TlsOptions), "server"))
    supervisor = Supervisor(
        SharedPort(listener),
        gateways=process.loaded.make(WorkerOptions).workers,
        backlog=BACKLOG,
        clock=SteadyClock(),
        manager=ServiceManager(process.environment),
        reload=in_force.reload,
        on_served=partial(_welcome, welcome),
    )
    pass_over_what_is_there()  # the processes share what none of them writes to
    return supervisor.run()


def _welcome(welcome: ServerWelcome, port: int) -> None:
    sys.stdout.write(welcome.text(port))
    sys.stdout.flush()
