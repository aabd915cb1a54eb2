"""What a start would refuse of its settings, and of the files that they name, found without one.

All of it is asked of what the start itself asks, so that the two say the same. Nothing is written, nobody is called,
and no address is taken: a process with these settings may run at this moment.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from app.auth.tokens import TokensFileError
from app.configuration.configured_process import ConfiguredProcess
from app.configuration.etcd_options import EtcdOptions, ReadFile
from app.configuration.jwt_options import JwtOptions
from app.configuration.master_key_options import MasterKeyOptions
from app.configuration.node_options import NODE, NodeOptions
from app.configuration.server_settings import SERVE, Settings
from app.configuration.setting_error import SettingsError
from app.configuration.tls_options import PeerOptions, TlsOptions, completed, completed_peers
from app.configuration.trace_options import TraceOptions
from app.processes.exposure import check_exposure, check_node_exposure
from app.processes.jwt import check_jwt
from app.processes.master_keys import master_keys_of
from app.processes.process_tls import ProcessTls
from app.processes.required_tokens import tokens_of
from app.processes.tracing import check_tracing
from cluster.ports.runtime import SteadyClock, SystemEntropy
from cluster.tls.peer_identity import GATEWAY, node_identity
from cluster.tls.tls_files import TlsFilesError

_Result = TypeVar("_Result")


def problems_of(process: ConfiguredProcess, read_file: ReadFile) -> list[str]:
    """Everything that a start would end with before it touches its data, as far as its settings are the reason."""
    problems: list[str] = []
    for check in _checks(process, read_file):
        try:
            check()
        except (SettingsError, TokensFileError, TlsFilesError) as error:
            problems.append(str(error))
    return problems


def _checks(process: ConfiguredProcess, read_file: ReadFile) -> list[Callable[[], object]]:
    loaded = process.loaded
    checks: list[Callable[[], object]] = []
    if Settings in process.sources.kinds:
        settings = loaded.make(Settings)
        checks.append(lambda: check_exposure(settings))
        checks.append(lambda: tokens_of(settings))
        checks.append(lambda: check_jwt(settings, loaded.make(JwtOptions)))
    checks.append(lambda: _check_tls(process))
    if MasterKeyOptions in process.sources.kinds:
        checks.append(lambda: master_keys_of(process, SystemEntropy()))
    checks.append(lambda: check_tracing(loaded.make(TraceOptions)))
    if EtcdOptions in process.sources.kinds:
        checks.append(lambda: loaded.make(EtcdOptions).settings(read_file))
    return checks


def _check_tls(process: ConfiguredProcess) -> None:
    """Raises SettingsError and TlsFilesError."""
    loaded, peers, own = process.loaded, None, GATEWAY
    name = _name_in_pki(process)
    tls = completed(loaded.make(TlsOptions), name)
    if PeerOptions in process.sources.kinds:
        peers = completed_peers(loaded.make(PeerOptions), tls, name)
    if peers is not None and process.sources is NODE:
        check_node_exposure(loaded.make(NodeOptions), peers)
        own = node_identity(loaded.make(NodeOptions).id)
    ProcessTls.load(tls, peers, own=own, clock=SteadyClock(), in_thread=_never)


def _name_in_pki(process: ConfiguredProcess) -> str:
    """What `acklog pki` calls the process's certificate."""
    if process.sources is NODE:
        return f"node-{process.loaded.make(NodeOptions).id}"
    return "server" if process.sources is SERVE else "gateway"


def _never(_function: Callable[[], _Result], /) -> Awaitable[_Result]:
    raise AssertionError("the watch of certificates is not started here")
