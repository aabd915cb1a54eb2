"""The TLS of one process: what it is called with, what it speaks with the others of its cluster, and the files behind
both, which are looked at as long as it runs."""

import ssl
from functools import partial
from pathlib import Path

from prometheus_client.registry import Collector

from app.configuration.etcd_options import EtcdOptions
from app.configuration.tls_options import PeerOptions, TlsOptions
from app.http.protocol.server import HttpTls
from app.processes.certificate_time import check_time
from app.processes.certificate_watch import CertificateWatch, Held
from app.processes.refused_connections import RefusedConnections
from app.processes.reloads import InThread
from cluster.etcd.etcd_certificates import EtcdCertificates
from cluster.etcd.etcd_settings import EtcdTls
from cluster.ports.clock import Clock
from cluster.tls.contexts import http_server_context
from cluster.tls.current_context import CurrentContext
from cluster.tls.peer_identity import NOBODY, PeerIdentity
from cluster.tls.peer_tls import PeerTls, TlsUse
from cluster.tls.tls_files import TlsFiles
from cluster.tls.tls_listener import TlsListenerSettings
from storage.rpc.tcp_transport import TcpTransport
from storage.rpc.tls_transport import TlsTransport
from storage.rpc.transport import NodeTransport

HTTP, PEERS, ETCD = "http", "peers", "etcd"
"""What certificates are for, as the metrics call it."""


class ProcessTls:
    """`load` it before the process serves, `start` its `watch` on the event loop, and close that there."""

    def __init__(
        self,
        options: TlsOptions,
        http: CurrentContext | None,
        peers: PeerTls | None,
        etcd: EtcdCertificates | None,
        watch: CertificateWatch,
        clock: Clock,
    ) -> None:
        """For `load` only."""
        self.etcd = etcd
        self._options = options
        self._http = http
        self._peers = peers
        self._refused = RefusedConnections()
        self.watch = watch
        self._clock = clock

    @classmethod
    def load(
        cls,
        options: TlsOptions,
        peers: PeerOptions | None = None,
        etcd: EtcdOptions | None = None,
        *,
        own: PeerIdentity = NOBODY,
        clock: Clock,
        in_thread: InThread,
    ) -> "ProcessTls":
        """Of options that are complete; `own` is who the process is among `peers`. Blocks. Raises TlsFilesError for
        certificates that cannot be used, now; SettingsError for what etcd is reached with."""
        http = _http_context(options, clock)
        peer_tls = _peer_tls(peers, own)
        certificates = _etcd_certificates(etcd)
        held: list[Held] = []
        if http is not None:
            held.append(Held(HTTP, options.tls_certificate_file, (http,)))
        if peers is not None and peer_tls is not None:
            held.append(Held(PEERS, peers.peer_certificate_file, (peer_tls.accepting, peer_tls.dialling)))
        if etcd is not None and certificates is not None:
            held.append(Held(ETCD, etcd.etcd_certificate_file, (certificates,)))
        watch = CertificateWatch(held, clock=clock, in_thread=in_thread, interval_ms=options.tls_check_interval_ms)
        return cls(options, http, peer_tls, certificates, watch, clock)

    @property
    def scheme(self) -> str:
        return "http" if self._http is None else "https"

    @property
    def collectors(self) -> tuple[Collector, ...]:
        return self.watch, self._refused

    def listening(self, *, opening_max: int) -> HttpTls | None:
        """How connections are opened that speak HTTP; None: in clear. `opening_max` descriptors are there for those
        that are not open yet."""
        if self._http is None:
            return None
        settings = TlsListenerSettings(
            takes_clear=self._options.tls_accept_clear,
            opening_max=min(opening_max, self._options.tls_handshakes_max),
            handshake_timeout_ms=self._options.tls_handshake_timeout_ms,
        )
        return HttpTls(self._http, self._clock.now_ms, settings, partial(self._refused.note, HTTP))

    def transport(self, *, opening_max: int) -> NodeTransport:
        """Between the processes of the cluster."""
        if self._peers is None:
            return TcpTransport()
        return TlsTransport(
            self._peers,
            now_ms=self._clock.now_ms,
            opening_max=opening_max,
            on_refused=partial(self._refused.note, PEERS),
        )


def _http_context(options: TlsOptions, clock: Clock) -> CurrentContext | None:
    """Raises TlsFilesError."""
    if not options.is_on:
        return None

    def make(files: TlsFiles) -> ssl.SSLContext:
        context = http_server_context(files, options.client_certificates)
        check_time(files.certificate, now_ms=clock.now_ms())
        return context

    return CurrentContext(options.files, make)


def _peer_tls(options: PeerOptions | None, own: PeerIdentity) -> PeerTls | None:
    """Raises TlsFilesError."""
    if options is None or options.use is TlsUse.OFF:
        return None
    return PeerTls.load(options.use, options.files, own)


def _etcd_certificates(options: EtcdOptions | None) -> EtcdCertificates | None:
    """None where etcd is reached in clear. Raises SettingsError."""
    if options is None or not options.uses_tls():
        return None

    def read() -> EtcdTls:
        tls = options.settings(lambda path: Path(path).read_bytes()).tls
        assert tls is not None, "its endpoints are https"
        return tls

    return EtcdCertificates(read(), read)
