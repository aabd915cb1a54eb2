"""The certificate that a server shows, for those who look after it: who signed it, for which names, and until when."""

import ipaddress
import socket
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from acklog.client.tls_context import context_of
from acklog.client.tls_files import ClientTlsFiles
from acklog.command.server_files import ServerFiles

HTTPS_PORT = 443
TIMEOUT_S = 10.0
_ADDRESS = "IP Address"
_HOSTS = frozenset({"DNS", _ADDRESS})


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """`not_after_ms` in milliseconds since 1970."""

    issuer: str
    names: tuple[str, ...]
    not_after_ms: int


def shown_by(url: str, files: ServerFiles) -> ServerCertificate:
    """By a connection of its own, which trusts whom the command's others do. Raises OSError, ssl.SSLError being one of
    those, and InvalidArgument."""
    address = urlsplit(url)
    host = address.hostname or ""
    context = context_of(ClientTlsFiles(files.ca_file or None, files.certificate_file or None, files.key_file or None))
    with (
        socket.create_connection((host, address.port or HTTPS_PORT), TIMEOUT_S) as connection,
        context.wrap_socket(connection, server_hostname=host) as encrypted,
    ):
        found: dict[str, Any] = dict(encrypted.getpeercert() or {})
    return ServerCertificate(
        issuer=_common_name(found.get("issuer", ())),
        names=tuple(_host(kind, value) for kind, value in found.get("subjectAltName", ()) if kind in _HOSTS),
        not_after_ms=ssl.cert_time_to_seconds(found["notAfter"]) * 1000,
    )


def _host(kind: str, value: str) -> str:
    """Addresses in their short form, which ssl does not give."""
    return str(ipaddress.ip_address(value.strip())) if kind == _ADDRESS else str(value)


def _common_name(parts: Any) -> str:
    """Of a name as ssl gives it; of one without it, its last part."""
    values = {name: value for part in parts for name, value in part}
    return str(values.get("commonName") or next(reversed(values.values()), "somebody"))
