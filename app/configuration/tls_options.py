"""What TLS a process speaks: to whoever calls it over HTTP, and with the other processes of its cluster."""

from dataclasses import dataclass, fields, replace

from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import check_fields, number, switch, text, where_to_set
from cluster.tls.contexts import ClientCertificates
from cluster.tls.peer_tls import TlsUse
from cluster.tls.tls_files import TlsFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsOptions:
    """Of whatever answers HTTP. The files are read at the start, and again when they have changed."""

    pki: str = text(
        "",
        "directory that `acklog pki` made: this process's certificate there (node-ID, gateway, server) is used where "
        "no file is named, for https and among the processes of a cluster",
    )
    tls_certificate_file: str = text("", "PEM file of the certificate, with its chain, for https; empty: http")
    tls_key_file: str = text("", "PEM file of the certificate's private key")
    tls_client_ca_file: str = text("", "PEM file of the authorities that make clients' certificates")
    tls_client_certificates: str = text(
        "none", "none: clients are not asked for one; optional: it is checked where there is one; required"
    )
    tls_accept_clear: bool = switch(False, "take http beside https on the same port, while clients change over")
    tls_handshakes_max: int = number(1_000, 1, 100_000, "connections that are being opened at a time")
    tls_handshake_timeout_ms: int = number(10_000, 100, 600_000, "how long that may take")
    tls_check_interval_ms: int = number(
        10_000, 100, 86_400_000, "how often the files of certificates are looked at for new ones"
    )

    def __post_init__(self) -> None:
        check_fields(self)
        _together(self, "tls_certificate_file", "tls_key_file")
        _one_of(self, "tls_client_certificates", [each.value for each in ClientCertificates])
        if not self.is_on and not self.pki:
            _without_certificate(self, "tls_client_ca_file", "tls_accept_clear")
        if self.client_certificates is not ClientCertificates.NONE and not (self.tls_client_ca_file or self.pki):
            raise SettingsError(
                f"tls_client_certificates is {self.tls_client_certificates}, so tls_client_ca_file is needed "
                f"({where_to_set('tls_client_ca_file')})"
            )
        if self.client_certificates is ClientCertificates.REQUIRED and self.tls_accept_clear:
            raise SettingsError(
                "tls_client_certificates is required, and tls_accept_clear lets everybody in by http, without one: "
                f"take optional while clients change over ({where_to_set('tls_client_certificates')})"
            )

    @property
    def is_on(self) -> bool:
        return bool(self.tls_certificate_file)

    @property
    def client_certificates(self) -> ClientCertificates:
        return ClientCertificates(self.tls_client_certificates)

    @property
    def files(self) -> TlsFiles:
        return TlsFiles(self.tls_certificate_file, self.tls_key_file, self.tls_client_ca_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerOptions:
    """Between nodes, and between gateways and nodes."""

    peer_certificate_file: str = text(
        "", "PEM file of the certificate that names this process (acklog://node/ID, acklog://gateway) to the others"
    )
    peer_key_file: str = text("", "PEM file of its private key")
    peer_ca_file: str = text("", "PEM file of the authorities that make the certificates of a cluster's processes")
    peer_tls: str = text(
        "",
        "off, accept (dial in clear, take both), prefer (dial with TLS, take both), require; empty: require where "
        "there is a certificate, else off",
    )

    def __post_init__(self) -> None:
        check_fields(self)
        _together(self, "peer_certificate_file", "peer_key_file", "peer_ca_file")
        _one_of(self, "peer_tls", ["", *(each.value for each in TlsUse)])

    @property
    def use(self) -> TlsUse:
        if self.peer_tls:
            return TlsUse(self.peer_tls)
        return TlsUse.REQUIRE if self.peer_certificate_file else TlsUse.OFF

    @property
    def files(self) -> TlsFiles:
        return TlsFiles(self.peer_certificate_file, self.peer_key_file, self.peer_ca_file)


def completed(tls: TlsOptions, name: str) -> TlsOptions:
    """With what the directory of `acklog pki` has for the process that is called `name` there."""
    if not tls.pki or tls.is_on:
        return tls
    authorities = tls.tls_client_ca_file
    if tls.client_certificates is not ClientCertificates.NONE:
        authorities = authorities or _authorities(tls.pki)
    certificate, key = _own(tls.pki, name)
    return replace(tls, tls_certificate_file=certificate, tls_key_file=key, tls_client_ca_file=authorities)


def completed_peers(peers: PeerOptions, tls: TlsOptions, name: str) -> PeerOptions:
    """Likewise. Raises SettingsError where a certificate is needed and there is none."""
    if tls.pki and not peers.peer_certificate_file:
        certificate, key = _own(tls.pki, name)
        peers = replace(peers, peer_certificate_file=certificate, peer_key_file=key, peer_ca_file=_authorities(tls.pki))
    if peers.use is not TlsUse.OFF and not peers.peer_certificate_file:
        raise SettingsError(
            f"peer_tls is {peers.peer_tls}, so a certificate is needed ({where_to_set('peer_certificate_file')})"
        )
    return peers


def _own(directory: str, name: str) -> tuple[str, str]:
    return f"{directory}/{name}.pem", f"{directory}/{name}-key.pem"


def _authorities(directory: str) -> str:
    return f"{directory}/ca.pem"


def _together(options: TlsOptions | PeerOptions, *names: str) -> None:
    given = [name for name in names if getattr(options, name)]
    if given and len(given) < len(names):
        missing = next(name for name in names if name not in given)
        raise SettingsError(f"{given[0]} needs {missing} beside it ({where_to_set(missing)})")


def _one_of(options: TlsOptions | PeerOptions, name: str, values: list[str]) -> None:
    given = getattr(options, name)
    if given not in values:
        known = [each for each in values if each]
        raise SettingsError(f"{name} is {given!r}, it may be {', '.join(known[:-1])} or {known[-1]}")


def _without_certificate(options: TlsOptions, *names: str) -> None:
    for name in names:
        if getattr(options, name):
            raise SettingsError(f"{name} means nothing without tls_certificate_file ({where_to_set(name)})")


TLS_GROUPS = {"How it is called by https": tuple(each.name for each in fields(TlsOptions))}
PEER_GROUPS = {"How the processes of a cluster know each other": tuple(each.name for each in fields(PeerOptions))}
